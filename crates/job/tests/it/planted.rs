//! Every answer is the truth, to the nanosecond.

use std::path::Path;

use gpuscope_job::{JobOptions, Outcome, Run};
use gpuscope_testkit::{Compression, Plan, RankTruth, Truth, write_job};
use gpuscope_trace::Ns;

use crate::everything::{Answers, Everything, Ranks};
use crate::figures;
use crate::plans::{compression, mixtures, plans};
use crate::warnings;

/// Writes a job and asks for everything about it.
pub(crate) fn ask(plan: &Plan, compression: Compression, options: JobOptions) -> (Truth, Outcome<Ranks>) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), compression).expect("written");
    let outcome = ask_folder(folder.path(), options);
    (truth, outcome)
}

fn ask_folder(folder: &Path, options: JobOptions) -> Outcome<Ranks> {
    let arguments = [folder.to_string_lossy().into_owned()];
    let run = Run::open(&arguments, options).expect("traces");
    run.ask(&Everything).expect("an answer")
}

#[test]
fn every_answer_is_the_planted_truth() {
    for (i, (label, plan)) in plans().into_iter().enumerate() {
        check(label, &plan, compression(i));
    }
}

#[test]
fn so_it_is_for_mixtures_of_everything() {
    for (i, plan) in mixtures().enumerate() {
        check(&format!("{plan:?}"), &plan, compression(i));
    }
}

fn check(label: &str, plan: &Plan, compression: Compression) {
    let (truth, outcome) = ask(plan, compression, JobOptions::default());
    let written: Vec<&RankTruth> = truth.ranks.iter().filter(|rank| rank.written).collect();
    let Ranks(ranks) = &outcome.answer;
    assert_eq!(ranks.len(), written.len(), "{label}");
    for ((answers, truth), input) in ranks.iter().zip(written).zip(&outcome.inputs) {
        let label = format!("{label}, rank {}", truth.rank);
        assert_eq!(
            (input.rank, input.events, input.format),
            (truth.rank, truth.elements, "kineto"),
            "{label}"
        );
        if compression == Compression::None {
            assert_eq!(input.bytes, truth.bytes, "{label}");
        }
        about(&label, answers, truth);
        times(&label, answers, truth);
        kernels(&label, answers, truth);
    }
    warnings::check(label, plan, &truth, &outcome.quality);
}

fn about(label: &str, answers: &Answers, truth: &RankTruth) {
    let info = &answers.info;
    assert_eq!((answers.rank, info.rank), (truth.rank, truth.rank), "{label}");
    assert_eq!(info.world_size, Some(i64::from(truth.world_size)), "{label}");
    assert_eq!((info.events, info.gpu_events), (truth.elements, truth.gpu_events), "{label}");
    assert_eq!(info.events_by_category, truth.events_by_category, "{label}");
    assert_eq!((info.start_ns, info.end_ns), (Some(Ns(truth.start_ns)), Some(Ns(truth.end_ns))), "{label}");
    assert_eq!(info.base_time_ns, Some(gpuscope_testkit::BASE_TIME_NS), "{label}");
    let steps: Vec<i64> = truth.steps.iter().map(|step| i64::from(step.step)).collect();
    assert_eq!(info.steps, steps, "{label}");
}

fn times(label: &str, answers: &Answers, truth: &RankTruth) {
    let breakdown = &answers.breakdown;
    assert_eq!(figures::breakdown(&breakdown.total), truth.total, "{label}");
    let [device] = &breakdown.devices[..] else { panic!("{label}: one device") };
    assert_eq!((device.device, &device.times), (i64::from(truth.device), &breakdown.total), "{label}");
    let steps: Vec<_> = breakdown.steps.iter().map(figures::answered).collect();
    let true_steps: Vec<_> = truth.steps.iter().map(figures::true_step).collect();
    assert_eq!(steps, true_steps, "{label}");
    assert!(breakdown.inferred_steps.is_empty(), "{label}");

    let (temporal, total) = (&answers.temporal, &truth.total);
    assert_eq!((temporal.kernel_ns, temporal.idle_ns), (Ns(total.total_ns), Ns(total.idle_ns)), "{label}");
    assert_eq!(temporal.compute_ns + temporal.non_compute_ns, Ns(total.busy_ns), "{label}");
    assert_eq!(answers.overlap.comm_ns, Ns(total.comm_ns), "{label}");
    // The truth takes memory sets as computation, these two do not: exact but for what memory sets may hide.
    let memset = figures::memset_ns(&truth.kernels);
    let hidden = total.comm_ns - total.exposed_comm_ns;
    assert!(
        (total.computation_ns - memset..=total.computation_ns).contains(&temporal.compute_ns.0),
        "{label}"
    );
    assert!((hidden - memset..=hidden).contains(&answers.overlap.overlap_ns.0), "{label}");
}

fn kernels(label: &str, answers: &Answers, truth: &RankTruth) {
    assert_eq!(figures::kernels(answers), figures::true_kernels(&truth.kernels), "{label}");
    let types: Ns = answers.kernels.types.iter().map(|row| row.sum_ns).sum();
    assert_eq!(types, Ns(truth.total.busy_ns), "{label}");
}
