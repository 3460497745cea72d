//! Every chart of a job says what the answer it is drawn from says.
#![allow(clippy::float_cmp, reason = "charts hold the very numbers of the answers")]

use std::path::Path;

use gpuscope_analysis::breakdown::StepTimes;
use gpuscope_analysis::charts::{CHARTS, Chart, Source, named};
use gpuscope_analysis::layers::Pass;
use gpuscope_analysis::ops::By;
use gpuscope_analysis::{
    Bandwidth, Breakdown, Collectives, Kernels, Layers, Memory, Ops, Question, Queue, Throughput,
};
use gpuscope_figure::{Data, Figure, FiveNumbers, Series};
use gpuscope_job::{ChartOptions, JobOptions, Run};
use gpuscope_testkit::{Compression, Plan, write_job};
use gpuscope_trace::Ns;

/// A job of four ranks, one of them slow, with all that can be recorded.
fn job() -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = Plan::small().ranks(4).layers(3).with_straggler(1, 130);
    write_job(&plan, folder.path(), Compression::None).expect("written");
    let run = open(folder.path());
    (folder, run)
}

fn open(folder: &Path) -> Run {
    Run::open(&[folder.to_string_lossy().into_owned()], JobOptions::default()).expect("traces")
}

fn drawn(run: &Run, name: &str) -> Vec<Figure> {
    let chart: &Chart = named(name).expect("a chart");
    run.chart(chart, &ChartOptions::default()).expect("figures").answer
}

fn answer<Q: Question>(run: &Run, question: &Q) -> Q::Answer {
    run.ask(question).expect("an answer").answer
}

fn cells(series: &Series) -> &[Option<f64>] {
    match &series.data {
        Data::Cells { values, .. } => values,
        other => panic!("cells, found {other:?}"),
    }
}

fn line(series: &Series) -> (&[f64], &[f64]) {
    match &series.data {
        Data::Line { x, y, .. } => (x, y),
        other => panic!("a line, found {other:?}"),
    }
}

fn boxes(series: &Series) -> &[Option<FiveNumbers>] {
    match &series.data {
        Data::Boxes(boxes) => boxes,
        other => panic!("boxes, found {other:?}"),
    }
}

fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn every_chart_of_a_job_is_drawn() {
    let (_folder, run) = job();
    // No experts and no second run in this job.
    let absent = |chart: &&Chart| chart.name != "all_to_all_v" && chart.source != Source::Diff;
    for chart in CHARTS.iter().filter(absent) {
        let figures = drawn(&run, chart.name);
        assert!(!figures.is_empty(), "{}", chart.name);
        for figure in figures {
            assert!(figure.name == chart.name && !figure.title.is_empty(), "{figure:?}");
        }
    }
    assert!(drawn(&run, "all_to_all_v").is_empty());
    assert!(drawn(&run, "diff_kernels").is_empty(), "a run does not differ from itself");
}

#[test]
fn the_heat_map_of_steps_has_every_period() {
    let (_folder, run) = job();
    let (figures, answer) = (drawn(&run, "steps"), answer(&run, &Breakdown::default()));
    let periods = |of: fn(&StepTimes) -> Option<Ns>| -> Vec<Option<f64>> {
        let steps = answer.ranks.iter().flat_map(|rank| &rank.steps);
        steps.map(|step| of(step).map(Ns::as_f64)).collect()
    };
    assert_eq!(cells(&figures[0].panels[0].series[0]), periods(|step| step.period_ns));
    let exposed = periods(|step| Some(step.times.exposed_comm_ns).filter(|time| *time > Ns::ZERO));
    assert_eq!(cells(&figures[0].panels[1].series[0]), exposed);
}

#[test]
fn boxes_of_layers_are_their_spreads() {
    let (_folder, run) = job();
    let (figures, answer) = (drawn(&run, "layers"), answer(&run, &Layers::default()));
    let panel = &figures[0].panels[0];
    let names = panel.y.names().expect("modules");
    let mut compared = 0;
    for (pass, series) in [Pass::Forward, Pass::Backward].into_iter().zip(&panel.series) {
        assert_eq!(series.name, pass.label());
        for (name, numbers) in names.iter().zip(boxes(series)) {
            let row = answer.ranks[0].layers.iter().find(|row| row.module == *name && row.pass == pass);
            let expected =
                row.map(|row| (row.spread.min_ns.as_f64(), row.spread.median_ns, row.spread.max_ns.as_f64()));
            assert_eq!(numbers.map(|n| (n.least, n.median, n.most)), expected, "{name}");
            compared += usize::from(expected.is_some());
        }
    }
    assert!(compared > 4);
}

#[test]
fn boxes_of_throughput_are_its_quartiles() {
    let (_folder, run) = job();
    let (figures, answer) = (drawn(&run, "throughput"), answer(&run, &Throughput::default()));
    let panel = &figures[0].panels[0];
    for (i, name) in panel.y.names().expect("modules").iter().enumerate() {
        let row = answer.layers.iter().find(|row| row.module == *name && row.pass == Pass::Forward);
        let rate = row.and_then(|row| row.call_tflops_per_s);
        assert_eq!(
            boxes(&panel.series[0])[i].map(|n| (n.first_quartile, n.median)),
            rate.map(|r| (r.q1, r.median))
        );
    }
}

#[test]
fn courses_reach_what_the_answers_say() {
    let (_folder, run) = job();
    let queue = answer(&run, &Queue { series: true, ..Queue::default() });
    let figures = drawn(&run, "queue");
    let highest = most(figures[0].panels[0].series.iter().flat_map(|series| line(series).1.to_vec()));
    assert_eq!(Some(highest as i64), queue.streams.iter().map(|stream| stream.max).max());

    let memory = answer(&run, &Memory::default());
    let figures = drawn(&run, "memory");
    let highest = most(line(&figures[0].panels[0].series[0]).1.to_vec());
    let peak =
        memory.devices.iter().filter(|device| device.device != "cpu").map(|d| d.peak.allocated_bytes).max();
    assert_eq!(Some(highest as i64), peak);

    let copies = answer(&run, &Bandwidth::default());
    let figures = drawn(&run, "copies");
    let total = figures[0].panels[0].series.last().expect("a total");
    let bytes: i64 = copies.copies.iter().filter(|kind| kind.rank == 0).map(|kind| kind.total_bytes).sum();
    assert!(total.hidden && line(total).1.last().copied() == Some(bytes as f64));
    for series in &figures[0].panels[0].series[..copies.copies.iter().filter(|kind| kind.rank == 0).count()] {
        assert_eq!(line(series).1.last(), Some(&0.0), "all that begins ends");
    }
}

#[test]
fn operators_are_where_their_rates_put_them() {
    let (_folder, run) = job();
    let answer = answer(&run, &Ops { by: By::Arguments, ..Ops::default() });
    let figures = drawn(&run, "roofline");
    let mut found = 0;
    for series in &figures[0].panels[0].series {
        let Data::Points { x, y, .. } = &series.data else { continue };
        for (intensity, tflops) in x.iter().zip(y) {
            let is_it = |work: &gpuscope_analysis::ops::WorkOfOp| {
                work.flops_per_byte == Some(*intensity) && work.tflops_per_s == Some(*tflops)
            };
            assert!(answer.ops.iter().any(|row| row.rank == 0 && row.work.as_ref().is_some_and(is_it)));
            found += 1;
        }
    }
    assert!(found > 2);
    let roof = &answer.roofs[0];
    let (x, y) = line(&figures[0].panels[0].series[0]);
    assert_eq!(y[1], roof.peaks[0].1);
    let bandwidth = roof.memory_gb_per_s.expect("a known GPU");
    assert!((y[0] / x[0] * 1e3 - bandwidth).abs() < 1e-6 && (y[1] / x[1] * 1e3 - bandwidth).abs() < 1e-6);
}

#[test]
fn waiting_is_that_of_the_collectives() {
    let (_folder, run) = job();
    let answer = answer(&run, &Collectives::default());
    let waits =
        || answer.collectives.iter().flat_map(|row| &row.ranks).map(|rank| rank.aligned_wait_ns.as_f64());
    let longest =
        |name: &str| most(cells(&drawn(&run, name)[0].panels[0].series[0]).iter().flatten().copied());
    assert_eq!(longest("collectives"), most(waits()));
    let of_step = |rank: u32, step: i64| -> f64 {
        let rows = answer.collectives.iter().filter(|row| row.step == Some(step) && row.ranks.len() > 1);
        let parts = rows.flat_map(|row| &row.ranks).filter(|part| part.rank == rank);
        parts.map(|part| part.aligned_wait_ns.as_f64()).sum()
    };
    let mut steps: Vec<i64> = answer.collectives.iter().filter_map(|row| row.step).collect();
    steps.sort_unstable();
    steps.dedup();
    let expected: Vec<f64> = (0..4)
        .flat_map(|rank| steps.iter().map(move |step| (rank, *step)))
        .map(|(r, s)| of_step(r, s))
        .collect();
    let figures = drawn(&run, "step_waits");
    let drawn: Vec<f64> =
        cells(&figures[0].panels[0].series[0]).iter().map(|cell| cell.unwrap_or(-1.0)).collect();
    assert_eq!(drawn, expected);
}

#[test]
fn a_waterfall_leads_from_one_run_to_the_other() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_job(&Plan::small().ranks(2), before.path(), Compression::None).expect("written");
    write_job(&Plan::small().ranks(2).layers(5), after.path(), Compression::None).expect("written");
    let (a, b) = (open(before.path()), open(after.path()));
    let chart = named("diff").expect("a chart");
    let figures = b.chart_against(&a, chart, &ChartOptions::default()).expect("figures").answer;
    let series = &figures[0].panels[0].series;
    let bars = |series: &Series| match &series.data {
        Data::Bars { values, bases, .. } => (values.clone(), bases.clone()),
        other => panic!("bars, found {other:?}"),
    };
    let (ends, bases) = bars(&series[0]);
    let (first, last) = (ends[0].expect("A"), ends.last().copied().flatten().expect("B"));
    let mut at = first;
    for place in 1..ends.len() - 1 {
        assert_eq!(bases[place], at, "each begins where the one before it ends");
        let change = series[1..].iter().find_map(|series| bars(series).0[place]).unwrap_or(0.0);
        at += change;
    }
    assert_eq!(at, last);
    assert!(last > first, "more layers take longer");
}

#[test]
fn so_many_bars_and_slices_as_are_asked_for() {
    let (_folder, run) = job();
    let chart = named("bottlenecks").expect("a chart");
    let options = ChartOptions { top: Some(3), ..ChartOptions::default() };
    let figures = run.chart(chart, &options).expect("figures").answer;
    assert_eq!(figures[0].panels[0].y.names().map(<[String]>::len), Some(3));
    let pies = run.chart(named("top_kernels").expect("a chart"), &options).expect("figures").answer;
    let kernels = answer(&run, &Kernels::default());
    let Data::Slices { slices, .. } = &pies[0].panels[0].series[0].data else { panic!("slices") };
    assert_eq!(slices.len(), 4, "three, and the others");
    let whole: f64 = slices.iter().map(|slice| slice.value).sum();
    let sum: f64 = kernels
        .kernels
        .iter()
        .filter(|row| row.rank == 0 && row.kernel_type == gpuscope_analysis::kernels::KernelType::Computation)
        .map(|row| row.sum_ns.as_f64())
        .sum();
    assert_eq!(whole, sum);
}
