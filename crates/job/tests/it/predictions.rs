//! Predictions held to the truth: random jobs of a simulated machine that knows nothing of the model, asked about
//! changes from what its profiler recorded, and run once more with the change.
//!
//! * `GPUSCOPE_WRITE_PREDICTIONS=1` writes the table of `docs/predictions.md` anew.
//! * `GPUSCOPE_PREDICTION_SEED=17` asks only about that job, and says what each prediction came to.
//! * `GPUSCOPE_PREDICTION_FOLDER=DIR` writes the traces of the job with that seed there, and those of its changed runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gpuscope_analysis::WhatIf;
use gpuscope_analysis::whatif::{Changes, NamePattern, Scale};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::machine::{Change, JOB_KINDS, Job, JobKind, Outcome};

const JOBS: u64 = 300;
const CHANGES_PER_JOB: usize = 3;
const NEAR_POINTS: f64 = 3.0;
const NEAR_SHARE: f64 = 0.9;
const SIGN_POINTS: f64 = 1.0;
const WRITE: &str = "GPUSCOPE_WRITE_PREDICTIONS";
const SEED: &str = "GPUSCOPE_PREDICTION_SEED";
const FOLDER: &str = "GPUSCOPE_PREDICTION_FOLDER";

/// A prediction and the truth, as savings in percent of the recorded step.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    job: JobKind,
    change: Change,
    predicted: f64,
    truth: f64,
    step_ns: i64,
}

impl Case {
    fn error(&self) -> f64 {
        (self.predicted - self.truth).abs()
    }

    fn has_wrong_sign(&self) -> bool {
        self.predicted * self.truth < 0.0
            && self.predicted.abs() > SIGN_POINTS
            && self.truth.abs() > SIGN_POINTS
    }

    fn line(&self) -> String {
        let Case { seed, job, change, predicted, truth, step_ns } = self;
        let (job, change, step) = (job.label(), change.label(), *step_ns as f64 / 1e6);
        format!(
            "seed {seed:3}  {job:22} {change:30} predicted {predicted:+7.2}  true {truth:+7.2}  step {step:.3} ms"
        )
    }
}

/// A change in the words of the question; a name is looked for only where the change is.
fn asked(change: Change, gpu_names: &BTreeSet<&'static str>) -> Changes {
    let names = gpu_names.clone();
    let scale = |pattern: NamePattern, percent: u32| {
        let scales = vec![Scale::new(pattern, f64::from(percent) / 100.0)];
        Changes { scales, ..Changes::default() }
    };
    match change {
        Change::Gpu { part, percent } => {
            let part = part.unwrap_or("");
            let is_match = move |name: &str| name.contains(part) && names.contains(name);
            scale(NamePattern::new(part, is_match), percent)
        }
        Change::Host { part, percent } => {
            let is_match = move |name: &str| name.contains(part) && !names.contains(name);
            scale(NamePattern::new(part, is_match), percent)
        }
        Change::NoSynchronisation => Changes { no_sync: true, ..Changes::default() },
        Change::NoLaunchOverhead => Changes { no_launch_overhead: true, ..Changes::default() },
    }
}

fn write_traces(job: &Job, outcome: &Outcome, folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    for (rank, text) in job.traces(outcome).into_iter().enumerate() {
        std::fs::write(folder.join(format!("rank{rank}.pt.trace.json")), text).expect("written");
    }
}

fn cases_of(seed: u64) -> Vec<Case> {
    let job = Job::random(seed);
    let recorded = job.run(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    write_traces(&job, &recorded, folder.path());
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    let names = job.gpu_names();
    let in_percent = |ns: i64| 100.0 * (recorded.step_ns - ns) as f64 / recorded.step_ns as f64;
    let case = |change: Change| {
        let answer = run.ask(&WhatIf { changes: asked(change, &names) }).expect("an answer").answer;
        assert_eq!(answer.step_time_ns.0, recorded.step_ns, "the recorded step of seed {seed}");
        let truth = job.run(&[change]).step_ns;
        // What the ranks that were not recorded do is not known: then the prediction is a range.
        let predicted = truth.max(answer.predicted_ns.0).min(answer.predicted_high_ns.0);
        Case {
            seed,
            job: job.kind(),
            change,
            predicted: in_percent(predicted),
            truth: in_percent(truth),
            step_ns: recorded.step_ns,
        }
    };
    job.changes(CHANGES_PER_JOB).into_iter().map(case).collect()
}

/// All cases in the order of seeds, by as many threads as there are processors.
fn all_cases() -> Vec<Case> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut cases: Vec<Case> = std::thread::scope(|scope| {
        let share =
            |thread: u64| move || (thread..JOBS).step_by(threads as usize).flat_map(cases_of).collect();
        let running: Vec<std::thread::ScopedJoinHandle<'_, Vec<Case>>> =
            (0..threads).map(|thread| scope.spawn(share(thread))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    cases.sort_by_key(|case| case.seed);
    cases
}

fn share_near(cases: &[&Case]) -> f64 {
    cases.iter().filter(|case| case.error() <= NEAR_POINTS).count() as f64 / cases.len().max(1) as f64
}

fn quantile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len().saturating_sub(1) * percent).div_ceil(100)).copied().unwrap_or(0.0)
}

fn row(job: &str, change: &str, cases: &[&Case]) -> String {
    let mut errors: Vec<f64> = cases.iter().map(|case| case.error()).collect();
    errors.sort_by(f64::total_cmp);
    format!(
        "| {job} | {change} | {} | {:.0} % | {:.1} | {:.1} |\n",
        cases.len(),
        100.0 * share_near(cases),
        quantile(&errors, 50),
        quantile(&errors, 95)
    )
}

fn table(cases: &[Case]) -> String {
    let mut text = String::from(
        "| job | change | cases | within 3 points | median error | 95th percentile |\n|---|---|---:|---:|---:|---:|\n",
    );
    let changes: BTreeSet<&'static str> = cases.iter().map(|case| case.change.kind()).collect();
    for kind in JOB_KINDS {
        for change in &changes {
            let of_both = |case: &&Case| case.job == kind && case.change.kind() == *change;
            let chosen: Vec<&Case> = cases.iter().filter(of_both).collect();
            if !chosen.is_empty() {
                text += &row(kind.label(), change, &chosen);
            }
        }
        let of_kind: Vec<&Case> = cases.iter().filter(|case| case.job == kind).collect();
        text += &row(kind.label(), "all", &of_kind);
    }
    text += &row("all", "all", &cases.iter().collect::<Vec<_>>());
    text
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/predictions.md")
}

/// The page with the table between its marks replaced.
fn with_table(page: &str, table: &str) -> String {
    const BEGIN: &str = "<!-- table: begin -->\n";
    const END: &str = "<!-- table: end -->";
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the table");
    let (_, after) = rest.split_once(END).expect("the mark after the table");
    format!("{before}{BEGIN}{table}{END}{after}")
}

fn worst(cases: &[Case]) -> String {
    let mut by_error: Vec<&Case> = cases.iter().collect();
    by_error.sort_by(|a, b| b.error().total_cmp(&a.error()));
    let mut text = String::new();
    for case in by_error.iter().take(20) {
        let _ = writeln!(text, "{}", case.line());
    }
    text
}

#[test]
#[expect(clippy::print_stderr, reason = "what is wrong is long, and of use even where the test passes")]
fn predictions_are_near_what_the_changed_job_takes() {
    let cases = all_cases();
    let (table, all) = (table(&cases), cases.iter().collect::<Vec<_>>());
    let wrong_signs: Vec<String> =
        cases.iter().filter(|case| case.has_wrong_sign()).map(Case::line).collect();
    eprintln!("{table}\nThe worst:\n{}\nWrong signs:\n{}", worst(&cases), wrong_signs.join("\n"));
    let page = std::fs::read_to_string(document()).expect("docs/predictions.md");
    let with_table = with_table(&page, &table);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(document(), &with_table).expect("written");
    } else {
        assert_eq!(page, with_table, "docs/predictions.md: run the test with {WRITE}=1");
    }
    assert_eq!(wrong_signs, Vec::<String>::new());
    assert!(share_near(&all) >= NEAR_SHARE, "{:.1} % are near", 100.0 * share_near(&all));
    // Nor may one sort of job be paid for by the others.
    for kind in all.iter().map(|case| case.job) {
        let of_kind: Vec<&Case> = cases.iter().filter(|case| case.job == kind).collect();
        let share = share_near(&of_kind);
        assert!(share >= NEAR_SHARE, "{:.1} % of {kind:?} are near", 100.0 * share);
    }
}

/// For looking into one job: says what it is, what was predicted and what is true, and writes its traces.
#[test]
#[ignore = "for looking into one job: GPUSCOPE_PREDICTION_SEED, GPUSCOPE_PREDICTION_FOLDER"]
#[expect(clippy::print_stderr, reason = "it is there to say something")]
fn one_job() {
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let job = Job::random(seed);
    eprintln!("{}", job.describe());
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        write_traces(&job, &job.run(&[]), &folder.join("recorded"));
        for (index, change) in job.changes(CHANGES_PER_JOB).into_iter().enumerate() {
            eprintln!("changed-{index}: {}", change.label());
            write_traces(&job, &job.run(&[change]), &folder.join(format!("changed-{index}")));
        }
    }
    for case in cases_of(seed) {
        eprintln!("{}", case.line());
    }
}
