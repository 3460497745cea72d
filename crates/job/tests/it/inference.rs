//! Servers whose steps, batches and GPU work are planned: what each step did, prefill and decode apart, and the steady
//! state come out as planned.

use gpuscope_analysis::Inference;
use gpuscope_analysis::inference::{InferenceAnswer, InferenceStep};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::rng::SplitMix64;
use gpuscope_testkit::text::{TraceText, trace};
use gpuscope_trace::ServingPhase;

/// One planned step: its batch, and when its GPU work runs.
struct Step {
    start: i64,
    prefill: (i64, i64),
    decode: i64,
    /// Own kernels first, then those of one graph.
    spans: Vec<(i64, i64)>,
    own: usize,
}

struct Server {
    steps: Vec<Step>,
    full_batch: i64,
    /// First and last step of the steady state.
    steady: (usize, usize),
}

/// Requests of each step: the batch fills, is full for long but for short holes, drains, and is full again for less.
fn requests(chance: &mut SplitMix64, full: i64) -> (Vec<i64>, (usize, usize)) {
    let mut requests: Vec<i64> = (0..=chance.below(4)).map(|_| 1 + chance.below(4) as i64).collect();
    let first = requests.len();
    for _ in 0..12 {
        requests.extend(vec![full; 1 + chance.below(3)]);
        requests.extend(vec![full / 2; chance.below(3)]);
    }
    requests.extend([full; 2]);
    let steady = (first, requests.len() - 1);
    requests.extend(vec![2; 3 + chance.below(3)]);
    requests.extend(vec![full; 1 + chance.below(4)]);
    requests.push(1);
    (requests, steady)
}

fn server(seed: u64) -> Server {
    let mut chance = SplitMix64::new(seed);
    let full_batch = 16 + chance.below(48) as i64;
    let (requests, steady) = requests(&mut chance, full_batch);
    let (mut now, mut gpu) = (100, 200);
    let mut steps = Vec::new();
    for requests in requests {
        let prefilled = [0, 0, 1, requests][chance.below(4)].min(requests);
        let prefill = (prefilled, prefilled * (10 + chance.below(500) as i64));
        // Two streams: work may overlap, and leave gaps.
        let mut spans = Vec::new();
        for _ in 0..2 + chance.below(5) {
            let start = gpu + chance.below(20) as i64;
            spans.push((start, start + 1 + chance.below(60) as i64));
            gpu = start + chance.below(50) as i64;
        }
        let own = 1 + chance.below(spans.len() - 1);
        gpu = spans.iter().map(|span| span.1).max().expect("spans") + chance.below(30) as i64;
        steps.push(Step { start: now, prefill, decode: requests - prefilled, spans, own });
        now += 20 + chance.below(40) as i64;
    }
    Server { steps, full_batch, steady }
}

impl Step {
    fn name(&self) -> String {
        let (requests, tokens) = self.prefill;
        format!("execute_context_{requests}({tokens})_generation_{0}({0})", self.decode)
    }

    fn phase(&self) -> ServingPhase {
        match (self.prefill.0, self.decode) {
            (0, _) => ServingPhase::Decode,
            (_, 0) => ServingPhase::Prefill,
            _ => ServingPhase::Mixed,
        }
    }

    fn write(&self, number: usize, mut trace: TraceText) -> TraceText {
        trace = trace.annotation(&self.name(), self.start..self.start + 15);
        for (i, &(start, end)) in self.spans.iter().enumerate() {
            let graph = i >= self.own;
            let correlation = (number * 100 + i.min(self.own)) as i64 + 1;
            let at = self.start + 1 + i.min(self.own) as i64;
            if !graph {
                trace = trace.runtime("cudaLaunchKernel", at..at + 1, correlation);
            } else if i == self.own {
                trace = trace.runtime("cudaGraphLaunch", at..at + 1, correlation);
            }
            trace = trace.kernel("k", start..end).on(0, 7 + (i % 2) as i64).correlation(correlation);
        }
        trace
    }

    fn gpu(&self) -> (i64, i64) {
        let ends = self.spans.iter().map(|span| span.1);
        (self.spans[0].0, ends.max().expect("spans"))
    }

    /// Nanosecond by nanosecond.
    fn busy(&self) -> i64 {
        let (first, last) = self.gpu();
        let runs = |at: &i64| self.spans.iter().any(|(start, end)| start <= at && at < end);
        (first..last).filter(runs).count() as i64
    }
}

fn ask(server: &Server) -> InferenceAnswer {
    let folder = tempfile::tempdir().expect("a folder");
    let numbered = server.steps.iter().enumerate();
    let text = numbered.fold(trace().rank(0, 1), |trace, (number, step)| step.write(number, trace)).to_json();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, text).expect("written");
    let run = Run::open(&[path.to_string_lossy().into_owned()], JobOptions::default()).expect("a trace");
    run.ask(&Inference::default()).expect("an answer").answer
}

fn check_step(planned: &[Step], place: usize, found: &InferenceStep) {
    let step = &planned[place];
    let (first, last) = step.gpu();
    let before = place.checked_sub(1).map(|before| planned[before].gpu().1);
    assert_eq!((found.phase, found.start_ns.0, found.wall_ns.0), (step.phase(), step.start, 15));
    assert_eq!(
        (found.prefill_requests.zip(found.prefill_tokens), found.decode_requests),
        (Some(step.prefill), Some(step.decode))
    );
    assert_eq!(
        (found.requests, found.tokens),
        (Some(step.prefill.0 + step.decode), Some(step.prefill.1 + step.decode))
    );
    assert_eq!(
        (found.gpu_start_ns.map(|ns| ns.0), found.gpu_end_ns.map(|ns| ns.0)),
        (Some(first), Some(last))
    );
    assert_eq!((found.busy_ns.0, found.idle_ns.0), (step.busy(), last - first - step.busy()));
    assert_eq!(found.gap_ns.map(|ns| ns.0), before.map(|before| (first - before).max(0)));
    assert_eq!(found.period_ns.map(|ns| ns.0), before.map(|before| last - before));
    assert_eq!(
        (found.gpu_events, found.replayed),
        (step.spans.len() as u64, (step.spans.len() - step.own) as u64)
    );
}

#[test]
fn steps_phases_and_steady_state_are_as_planned() {
    for seed in 0..40 {
        let server = server(seed);
        let answer = ask(&server);
        assert_eq!(answer.steps.len(), server.steps.len(), "{seed}");
        for (place, found) in answer.steps.iter().enumerate() {
            check_step(&server.steps, place, found);
        }

        let (first, last) = server.steady;
        let own = &server.steps[first..=last];
        let [steady] = &answer.steady[..] else { panic!("{seed}: a steady state") };
        assert_eq!((steady.full_batch, steady.steps), (Some(server.full_batch), own.len() as u64), "{seed}");
        assert_eq!((steady.first_step, steady.last_step), (first as i64, last as i64), "{seed}");
        let ns = own[own.len() - 1].gpu().1 - server.steps[first - 1].gpu().1;
        assert_eq!((steady.time_ns.0, steady.busy_ns.0), (ns, own.iter().map(Step::busy).sum()), "{seed}");
        let decode: i64 = own.iter().map(|step| step.decode).sum();
        let prefill: i64 = own.iter().map(|step| step.prefill.1).sum();
        assert_eq!((steady.decode_tokens, steady.prefill_tokens), (Some(decode), Some(prefill)), "{seed}");
        assert_eq!(steady.decode_tokens_per_s, Some(decode as f64 * 1e9 / ns as f64), "{seed}");

        for row in &answer.phases {
            let steps = if row.steady { own } else { &server.steps[..] };
            let steps = || steps.iter().filter(|step| step.phase() == row.phase);
            assert_eq!(row.steps, steps().count() as u64, "{seed}: {row:?}");
            assert_eq!(row.busy_ns.0, steps().map(Step::busy).sum::<i64>(), "{seed}: {row:?}");
            let tokens = steps().map(|step| step.prefill.1 + step.decode).sum();
            assert_eq!(row.tokens, Some(tokens), "{seed}: {row:?}");
        }
        let counted: u64 = answer.phases.iter().map(|row| row.steps).sum();
        assert_eq!(counted, (server.steps.len() + own.len()) as u64, "{seed}");
    }
}
