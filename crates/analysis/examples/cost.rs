//! What the questions cost on a large trace: one device, three streams, a thousand GPU events a step.
//!
//! `cargo run --release -p gpuscope-analysis --example cost -- [GPU events]`

use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

use gpuscope_analysis::{Breakdown, Kernels, Overlap, Question, Temporal, quality};
use gpuscope_trace::{Arg, Builder, Id, Index, KindRules, Ns, Phase, Record, Selection, Trace, View};

const EVENTS_PER_STEP: i64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let events = std::env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse())?;
    let trace = sample(events);
    say(&format!("{} rows, {:.0} bytes each", trace.len(), trace.heap_bytes() as f64 / trace.len() as f64))?;
    let index = Index::new(KindRules::default());
    let everything = Selection::everything();
    let view = View { trace: &trace, index: &index, selection: &everything };
    timed("GPU events", || index.gpu(&trace).len())?;
    timed("launches", || index.launches(&trace).call(0))?;
    timed("steps", || index.steps(&trace).len())?;
    timed("quality", || quality(0, view).len())?;
    timed("breakdown", || ask(&Breakdown::default(), view))?;
    timed("kernels", || ask(&Kernels::default(), view))?;
    timed("temporal", || ask(&Temporal, view))?;
    timed("overlap", || ask(&Overlap, view))?;
    timed("launched by", || index.launches(&trace).launched(1).len())?;
    Ok(())
}

fn ask<Q: Question>(question: &Q, view: View<'_>) -> Q::Answer {
    question.merge(vec![question.local(0, view)])
}

fn timed<T>(what: &str, work: impl Fn() -> T) -> io::Result<()> {
    let begun = Instant::now();
    std::hint::black_box(work());
    say(&format!("{what:12} {:7.1} ms", begun.elapsed().as_secs_f64() * 1e3))
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

fn sample(events: i64) -> Trace {
    let mut builder = Builder::default();
    let mut strings = |text: &str| builder.strings().intern(text.as_bytes());
    let categories = ["kernel", "gpu_memcpy", "cuda_runtime", "user_annotation"].map(&mut strings);
    let names = ["gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD", "cudaLaunchKernel"].map(&mut strings);
    let steps: Vec<_> =
        (0..=events / EVENTS_PER_STEP).map(|i| strings(&format!("ProfilerStep#{i}"))).collect();
    let tags = categories.map(|category| builder.tag(Phase::Complete, category));
    let mut record = Record::default();
    for i in 0..events {
        let at = 1_428_625_731_896_179 + i * 2000;
        if i % EVENTS_PER_STEP == 0 {
            host(&mut record, at, EVENTS_PER_STEP * 2000);
            (record.tag, record.name) = (tags[3], steps[(i / EVENTS_PER_STEP) as usize]);
            builder.push(&record);
        }
        host(&mut record, at, 1500);
        (record.tag, record.name) = (tags[2], names[3]);
        record.set_int(Arg::Correlation, i + 1);
        builder.push(&record);

        let (kind, stream, dur) = match i % 100 {
            0 => (2, 21, 5000),
            25 | 75 => (1, 20, 40_000),
            _ => (0, 7, 1800),
        };
        record.clear();
        (record.tag, record.name) = (tags[usize::from(kind == 2)], names[kind]);
        (record.pid, record.tid) = (Id::Int(0), Id::Int(stream));
        (record.device, record.stream) = (Id::Int(0), Id::Int(stream));
        (record.start, record.dur) = (Some(Ns(at + 300_000)), Some(Ns(dur)));
        record.set_int(Arg::Correlation, i + 1);
        if kind < 2 {
            record.set_float(Arg::BlocksPerSm, (i % 7) as f64 / 4.0);
            record.set_float(Arg::Occupancy, (i % 90) as f64);
        }
        builder.push(&record);
    }
    builder.finish()
}

fn host(record: &mut Record, at: i64, dur: i64) {
    record.clear();
    (record.pid, record.tid) = (Id::Int(1000), Id::Int(1));
    (record.start, record.dur) = (Some(Ns(at)), Some(Ns(dur)));
}
