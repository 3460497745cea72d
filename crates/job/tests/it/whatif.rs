//! What a change would do to a step, predicted from the files of the unchanged job: as in the job that is simulated
//! with that change.

use std::path::Path;

use gpuscope_analysis::WhatIf;
use gpuscope_analysis::whatif::{Changes, NamePattern, Scale, WhatIfAnswer};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{
    Compression, Extent, Fault, Plan, RankTruth, StallCause, Truth, file_name, truth, write_job,
};
use gpuscope_trace::{Code, Quality};

/// A change, in the words of the question and in those of the simulation.
struct Changed {
    label: String,
    asked: Changes,
    simulated: Box<dyn Fn(Plan) -> Plan>,
}

fn containing(part: &'static str) -> NamePattern {
    NamePattern::new(part, move |name| name.contains(part))
}

fn scaled(part: &'static str, percent: u32) -> Changed {
    let scales = vec![Scale::new(containing(part), f64::from(percent) / 100.0)];
    Changed {
        label: format!("{part} to {percent} %"),
        asked: Changes { scales, ..Changes::default() },
        simulated: Box::new(move |plan| plan.scale_kernels(part, percent)),
    }
}

fn no_launch_overhead() -> Changed {
    Changed {
        label: "no launch overhead".to_owned(),
        asked: Changes { no_launch_overhead: true, ..Changes::default() },
        simulated: Box::new(Plan::without_launch_overhead),
    }
}

fn no_sync() -> Changed {
    Changed {
        label: "no synchronisation".to_owned(),
        asked: Changes { no_sync: true, ..Changes::default() },
        simulated: Box::new(Plan::without_synchronisation),
    }
}

fn overlap(group: &'static str) -> Changed {
    let names = NamePattern::new(group, move |name| name == group);
    Changed {
        label: format!("{group} overlapped"),
        asked: Changes { perfect_overlap: Some(names), ..Changes::default() },
        simulated: Box::new(move |plan| plan.with_perfect_overlap(group)),
    }
}

fn rank_as_median(rank: u32) -> Changed {
    Changed {
        label: format!("rank {rank} as the median"),
        asked: Changes { rank_as_median: Some(rank), ..Changes::default() },
        simulated: Box::new(move |plan| plan.with_rank_as_median(rank)),
    }
}

/// A job as written, all its ranks or one alone.
struct Written {
    folder: tempfile::TempDir,
    truth: Truth,
}

impl Written {
    fn new(plan: &Plan) -> Written {
        let folder = tempfile::tempdir().expect("a folder");
        let truth = write_job(plan, folder.path(), Compression::None).expect("written");
        Written { folder, truth }
    }

    fn ask_for_quality(&self, changes: &Changes) -> (WhatIfAnswer, Vec<Quality>) {
        predict(self.folder.path(), changes)
    }

    fn ask(&self, changes: &Changes) -> WhatIfAnswer {
        self.ask_for_quality(changes).0
    }

    fn ask_alone(&self, rank: u32, changes: &Changes) -> WhatIfAnswer {
        predict(&self.folder.path().join(file_name(rank, Compression::None)), changes).0
    }
}

fn predict(path: &Path, changes: &Changes) -> (WhatIfAnswer, Vec<Quality>) {
    let run = Run::open(&[path.to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    let outcome = run.ask(&WhatIf { changes: changes.clone() }).expect("an answer");
    (outcome.answer, outcome.quality)
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    let n = values.len();
    i64::midpoint(values[(n - 1) / 2], values[n / 2])
}

fn step_of(rank: &RankTruth) -> i64 {
    median(rank.steps.iter().filter_map(|step| step.period_ns).collect())
}

fn step_time(truth: &Truth) -> i64 {
    median(truth.ranks.iter().map(step_of).collect())
}

fn error_pct(predicted: i64, truth: i64) -> f64 {
    (predicted - truth) as f64 * 100.0 / truth as f64
}

fn plans() -> Vec<(&'static str, Plan)> {
    let light = || Plan::light().ranks(4).layers(3).steps(4);
    let heavy = || Plan::healthy().ranks(4).layers(3).steps(4);
    let stalls = |cause| light().with_host_stalls(cause, 1_000_000);
    let at_one =
        |cause| light().with_fault(Fault::HostBound { at: Extent::rank(1), cause, ns_per_block: 1_000_000 });
    vec![
        ("healthy", heavy()),
        ("light", light()),
        ("small", Plan::small()),
        ("eight", Plan::light().layers(2).steps(3)),
        ("sharded", light().sharded()),
        ("sharded, heavy", heavy().sharded()),
        ("pipeline", light().layers(4).pipeline(2, 3)),
        ("pipeline of four", Plan::healthy().ranks(8).layers(4).steps(3).pipeline(4, 4)),
        ("tensor parallel", light().tensor_parallel(2)),
        ("graph", light().with_cuda_graph()),
        ("exposed", light().with_exposed_all_reduce()),
        ("exposed, heavy", heavy().with_exposed_all_reduce()),
        ("straggler", heavy().with_straggler(2, 130)),
        ("straggler, light", light().with_straggler(2, 130)),
        ("slow host", light().with_slow_host(1, 600)),
        ("small kernels", light().with_small_kernels(100)),
        ("running ahead", heavy().with_host_running_ahead()),
        ("clocks", light().with_clock(0, -123_457, 41_003).with_clock(1, 5_000_001, -77_777)),
        ("unlinked", light().with_unlinked_kernels(0, 20)),
        ("overhead", light().with_profiler_overhead(500_000)),
        ("item", stalls(StallCause::Item)),
        ("stream synchronize", stalls(StallCause::StreamSynchronize)),
        ("device synchronize", stalls(StallCause::DeviceSynchronize)),
        ("blocking copy", stalls(StallCause::BlockingCopy)),
        ("malloc", stalls(StallCause::Malloc)),
        ("garbage collection", stalls(StallCause::GarbageCollection)),
        ("recompilation", stalls(StallCause::Recompilation)),
        ("python", stalls(StallCause::Python)),
        ("data loader", light().with_slow_data_loader(30_000_000)),
        ("one rank's item", at_one(StallCause::Item)),
        ("one rank's malloc", at_one(StallCause::Malloc)),
        ("one rank's collector", at_one(StallCause::GarbageCollection)),
        (
            "one rank's loader",
            light().with_fault(Fault::DataLoaderStall { at: Extent::rank(1), ns: 20_000_000 }),
        ),
    ]
}

fn changes(plan: &Plan) -> Vec<Changed> {
    let mut changes = vec![
        scaled("nvjet", 50),
        scaled("gemm", 200),
        scaled("ncclDev", 25),
        scaled("ncclDev", 400),
        no_launch_overhead(),
        no_sync(),
    ];
    let groups: &[&str] = match () {
        () if plan.stages > 1 => &["pp", "dp"],
        () if plan.tensor_parallel > 1 => &["tp", "dp"],
        () => &["default_pg"],
    };
    changes.extend(groups.iter().map(|group| overlap(group)));
    changes.extend(plan.faults.iter().find_map(Fault::rank).map(rank_as_median));
    changes
}

fn with_and_without_sync_rows(plan: &Plan) -> [Plan; 2] {
    [plan.clone(), plan.clone().with_sync_rows()]
}

/// Fails with all that is wrong, so that one change to the model shows in one run where it helps and where it hurts.
#[track_caller]
fn none_of(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Calls that wait longer than for the GPU: what else they waited for, nothing in the trace says.
fn waits_for_something_unknown(plan: &Plan) -> bool {
    let held = |fault: &Fault| {
        matches!(
            fault,
            Fault::HostBound {
                cause: StallCause::Item | StallCause::StreamSynchronize | StallCause::DeviceSynchronize,
                ..
            }
        )
    };
    plan.faults.iter().any(held)
}

#[test]
fn without_a_change_a_step_takes_what_it_took() {
    let mut wrong = Vec::new();
    for (label, plan) in plans() {
        for plan in with_and_without_sync_rows(&plan) {
            let job = Written::new(&plan);
            let (answer, quality) = job.ask_for_quality(&Changes::default());
            let (took, predicted) = (answer.step_time_ns.0, answer.predicted_ns.0);
            assert_eq!((took, predicted), (step_time(&job.truth), took), "{label}");
            assert_eq!(predicted, answer.predicted_high_ns.0, "{label}");
            for rank in &answer.ranks {
                let planted = step_of(&job.truth.ranks[rank.rank as usize]);
                assert_eq!((rank.step_time_ns.0, rank.predicted_ns.0), (planted, planted), "{label}");
            }
            let unknown = waits_for_something_unknown(&plan);
            let told = quality.iter().any(|entry| entry.code == Code::UnexplainedDelays);
            if (answer.residual_pct > 2.0, told) != (unknown, unknown)
                || !unknown && answer.residual_pct > 0.1
            {
                wrong.push(format!("{label}: residual {:.2} %, told {told}", answer.residual_pct));
            }
        }
    }
    none_of(&wrong);
}

#[test]
fn every_change_comes_to_what_it_comes_to_when_simulated() {
    let mut wrong = Vec::new();
    for (label, plan) in plans() {
        for plan in with_and_without_sync_rows(&plan) {
            let job = Written::new(&plan);
            for change in changes(&plan) {
                let simulated = step_time(&truth(&(change.simulated)(plan.clone())));
                let predicted = job.ask(&change.asked).predicted_ns.0;
                let error = error_pct(predicted, simulated);
                if error.abs() > 2.0 {
                    let rows = if plan.sync_rows { "" } else { "out" };
                    wrong.push(format!(
                        "{label}, with{rows} synchronisation rows, {}: {predicted}, simulated {simulated}: {error:+.2} %",
                        change.label
                    ));
                }
            }
        }
    }
    none_of(&wrong);
}

/// Whether what one rank recorded tells what a change comes to: not if it waits for others whose work is not its own,
/// or that change more than it does.
fn can_tell_alone(plan: &Plan, change: &Changed) -> bool {
    let others_differ = plan.stages > 1 || plan.faults.iter().any(|fault| fault.rank().is_some());
    let about_communication = ["ncclDev", "default_pg"].iter().any(|part| change.label.starts_with(part));
    !others_differ || about_communication
}

#[test]
fn one_rank_alone_gives_a_range_that_holds_the_truth() {
    let mut wrong = Vec::new();
    for (label, plan) in plans() {
        let job = Written::new(&plan);
        for change in changes(&plan).into_iter().filter(|change| can_tell_alone(&plan, change)) {
            let simulated = step_of(&truth(&(change.simulated)(plan.clone())).ranks[0]);
            let answer = job.ask_alone(0, &change.asked);
            let low = error_pct(answer.predicted_ns.0, simulated);
            let high = error_pct(answer.predicted_high_ns.0, simulated);
            if low > 2.0 || high < -2.0 {
                wrong.push(format!("{label}, {}: {low:+.2} % to {high:+.2} %", change.label));
            }
        }
    }
    none_of(&wrong);
}

/// Host work of a name gone: the job without the fault that it was.
#[test]
fn host_work_can_be_scaled_by_name() {
    let light = Plan::light().ranks(2).layers(3).steps(4);
    let cases = [
        ("DataLoader", light.clone().with_slow_data_loader(30_000_000)),
        ("Python GC", light.clone().with_host_stalls(StallCause::GarbageCollection, 3_000_000)),
        ("dynamo_timed", light.clone().with_host_stalls(StallCause::Recompilation, 3_000_000)),
        ("listcomp", light.clone().with_host_stalls(StallCause::Python, 3_000_000)),
    ];
    let without = step_time(&truth(&light));
    for (part, plan) in cases {
        let job = Written::new(&plan);
        let scales = vec![Scale::new(containing(part), 0.0)];
        let answer = job.ask(&Changes { scales, ..Changes::default() });
        let error = error_pct(answer.predicted_ns.0, without);
        assert!(answer.step_time_ns.0 > without * 11 / 10, "{part}");
        assert!(error.abs() < 2.0, "{part}: {error:+.2} %");
    }
}
