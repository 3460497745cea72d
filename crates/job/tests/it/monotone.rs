//! Less work never makes a step longer, and what is taken away saves at most its own time: by any factor, on jobs of the
//! simulated machine and on real traces.

use gpuscope_analysis::WhatIf;
use gpuscope_analysis::whatif::{Changes, NamePattern, Scale, WhatIfAnswer};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::machine::Job;

use crate::corpus::traces;

const JOBS: u64 = 24;
/// Besides 0, a half and 1.
const FACTORS: usize = 5;

/// Factors in rising order, not the same for any two seeds.
fn factors(seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 1_000) as f64 / 1_000.0
    };
    let mut factors: Vec<f64> = (0..FACTORS).map(|_| draw()).chain([0.0, 0.5, 1.0]).collect();
    factors.sort_by(f64::total_cmp);
    factors
}

fn asked(run: &Run, names: &NamePattern, factor: f64) -> WhatIfAnswer {
    let changes = Changes { scales: vec![Scale::new(names.clone(), factor)], ..Changes::default() };
    run.ask(&WhatIf { changes }).expect("an answer").answer
}

fn hold(run: &Run, names: &NamePattern, seed: u64, whose: &str) {
    let mut before: Option<(f64, i64)> = None;
    for factor in factors(seed) {
        let answer = asked(run, names, factor);
        let (saved, matched) = (answer.saved_ns.0, &answer.matched[0]);
        let what = format!("{whose}, {} at {factor}: saves {saved} ns", names.text);
        assert!(saved >= 0, "{what}");
        let own = (matched.gpu_ns + matched.host_ns).0 as f64 * (1.0 - factor);
        // Each event is rounded to a nanosecond.
        assert!(saved as f64 <= own + 1.0 + matched.gpu_events as f64, "{what}, of {own:.0}");
        if let Some((less, more_saved)) = before {
            assert!(saved <= more_saved, "{what}, and only {more_saved} ns at {less}");
        }
        before = Some((factor, saved));
    }
}

fn containing(part: &'static str) -> NamePattern {
    NamePattern::new(part, move |name| name.contains(part))
}

#[test]
fn less_work_saves_no_less_on_the_simulated_machine() {
    for seed in 0..JOBS {
        let job = Job::random(seed);
        let folder = tempfile::tempdir().expect("a folder");
        for (rank, text) in job.traces(&job.run(&[])).into_iter().enumerate() {
            std::fs::write(folder.path().join(format!("rank{rank}.pt.trace.json")), text).expect("written");
        }
        let run = Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).unwrap();
        let names = job.gpu_names();
        let all = NamePattern::new("all GPU work", move |name| names.contains(name));
        for pattern in [all, containing("gemm"), containing("aten::")] {
            hold(&run, &pattern, seed, &format!("seed {seed}"));
        }
    }
}

#[test]
fn less_work_saves_no_less_in_real_traces() {
    let Some(traces) = traces() else { return };
    for (seed, name) in
        (100..).zip(["amd_mi250", "mi300_normalization", "mi300_resnet_act_checkpoint", "synth_rules"])
    {
        let found = [".json.gz", ".json"].map(|ending| traces.join(format!("{name}{ending}")));
        let path = found.iter().find(|path| path.exists()).expect("a trace of the corpus");
        let run = Run::open(&[path.to_string_lossy().into_owned()], JobOptions::default()).unwrap();
        for part in ["elementwise", "aten::", ""] {
            hold(&run, &containing(part), seed, name);
        }
    }
}
