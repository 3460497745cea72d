use gpuscope_trace::metadata::{Distributed, ProcessGroup};
use gpuscope_trace::{Arg, Code, Phase, Quality, Severity};

use crate::testing::{RANK, Sample, trace};

/// The entry with this code, if there is one; and that there is no second.
fn entry(sample: Sample, code: Code) -> Option<Quality> {
    let mut found: Vec<_> = sample.build().quality().into_iter().filter(|entry| entry.code == code).collect();
    assert!(found.len() < 2, "{found:?}");
    found.pop()
}

fn count(sample: Sample, code: Code) -> Option<u64> {
    entry(sample, code).map(|entry| entry.count)
}

/// A trace that nothing is wrong with.
fn sound() -> Sample {
    (1..=3).fold(trace(), |sample, i| {
        let at = i * 100;
        sample
            .step(i, at..at + 100)
            .op_with(&[(Arg::InputDims, "[[2, 3], [3, 4]]")], at..at + 50)
            .call(i, at + 1..at + 2)
            .kernel("gemm", 7, at + 10..at + 90, i)
            .host("cuda_sync", "Context Sync", at + 90..at + 91)
    })
}

#[test]
fn a_sound_trace_has_no_entries() {
    assert_eq!(sound().build().quality(), []);
}

#[test]
fn entries_carry_their_rank_and_say_what_to_do() {
    let entry = entry(trace().call(1, 0..1), Code::NoGpuEvents).unwrap();
    assert_eq!((entry.rank, entry.severity), (Some(RANK), Severity::Warning));
    assert!(entry.message.contains("activities=["), "{}", entry.message);
}

#[test]
fn an_empty_trace_only_lacks_gpu_events() {
    let codes: Vec<_> = trace().build().quality().iter().map(|entry| entry.code).collect();
    assert_eq!(codes, [Code::NoGpuEvents]);
}

#[test]
fn gpu_events_without_a_known_launch_are_counted() {
    let sample = sound().kernel("lost", 7, 390..395, 99).kernel("none", 8, 390..395, None);
    assert_eq!(count(sample, Code::UnlinkedKernels), Some(2));
}

#[test]
fn overlap_is_per_device_and_stream_and_reaches_past_the_next_event() {
    let sample = || trace().kernel("long", 7, 0..100, None).kernel("inside", 7, 10..20, None);
    assert_eq!(count(sample().kernel("inside too", 7, 30..40, None), Code::SameStreamOverlap), Some(2));
    assert_eq!(count(sample().kernel("touching", 7, 100..110, None), Code::SameStreamOverlap), Some(1));
    assert_eq!(count(sample().kernel("empty", 7, 50..50, None), Code::SameStreamOverlap), Some(1));
    let apart = trace().kernel("a", 7, 0..100, None).kernel("b", 8, 0..100, None).on(1);
    assert_eq!(count(apart.kernel("c", 7, 0..100, None), Code::SameStreamOverlap), None);
}

#[test]
fn odd_durations_are_told_apart() {
    let sample = || {
        trace()
            .event(Phase::Complete, "kernel", "negative", Some(10), Some(-5), |_| ())
            .kernel("zero", 7, 20..20, None)
            .event(Phase::Complete, "cpu_op", "negative", Some(9), Some(-6), |_| ())
            .event(Phase::Complete, "cpu_op", "no duration", Some(5), None, |_| ())
            .event(Phase::Complete, "cpu_op", "no start", None, Some(5), |_| ())
            .event(Phase::Complete, "cpu_op", "out of range", Some(i64::MAX - 1), Some(5), |_| ())
            .event(Phase::Instant, "cpu_instant_event", "[memory]", Some(5), None, |_| ())
    };
    assert_eq!(count(sample(), Code::NegativeDuration), Some(2));
    assert_eq!(count(sample(), Code::ZeroDuration), Some(1));
    assert_eq!(count(sample(), Code::MissingDuration), Some(2));
}

#[test]
fn a_kernel_cannot_start_before_its_launch() {
    let sample = trace().call(1, 50..60).kernel("early", 7, 49..55, 1).call(2, 70..80);
    assert_eq!(count(sample.kernel("at once", 7, 70..75, 2), Code::KernelBeforeLaunch), Some(1));
}

#[test]
fn kernels_of_one_graph_launch_share_their_call() {
    let sample =
        trace().named_call("cudaGraphLaunch", 1, 0..5).kernel("a", 7, 5..6, 1).kernel("b", 7, 6..7, 1);
    let entry = entry(sample.call(2, 8..9).kernel("c", 7, 9..10, 2), Code::GraphLaunchShare).unwrap();
    assert_eq!(entry.count, 2);
    assert!(entry.message.contains("66.7 %"), "{}", entry.message);
}

#[test]
fn steps_without_gpu_work_are_named() {
    let found = entry(sound().step(4, 400..500), Code::StepWithoutGpuWork).unwrap();
    assert_eq!(found.count, 1);
    assert!(found.message.contains("1 of 4 steps") && found.message.contains("(4)"), "{}", found.message);
    // Without any GPU events that goes without saying.
    assert_eq!(entry(trace().step(1, 0..10), Code::StepWithoutGpuWork), None);
}

#[test]
fn the_first_step_is_partial_if_earlier_work_runs_into_it_or_its_own_is_missing() {
    let early = sound().kernel("from before", 8, 95..105, None);
    assert_eq!(count(early, Code::PartialFirstStep), Some(1));
    let throughout = sound().kernel("a", 8, 95..105, None).kernel("b", 8, 250..260, None);
    assert_eq!(count(throughout, Code::PartialFirstStep), None);
    assert_eq!(count(sound().call(50, 110..111).call(51, 120..121), Code::PartialFirstStep), Some(2));
    assert_eq!(count(sound().call(50, 110..111).call(51, 210..211), Code::PartialFirstStep), None);
}

#[test]
fn guessed_steps_say_what_they_are_guessed_from() {
    let sample =
        (0..3).fold(trace(), |sample, i| sample.host("user_annotation", "train", i * 10..i * 10 + 5));
    let entry = entry(sample, Code::InferredSteps).unwrap();
    assert_eq!((entry.count, entry.severity), (3, Severity::Info));
    assert!(entry.message.contains("\"train\"") && entry.message.contains("--step-marker"));
}

#[test]
fn missing_recordings_are_named_with_the_way_out() {
    let bare = || trace().kernel("gemm", 7, 0..5, None).host("cpu_op", "aten::mm", 0..3);
    assert!(entry(bare(), Code::NoSyncEvents).unwrap().message.contains("enable_cuda_sync_events=True"));
    assert!(entry(bare(), Code::MissingShapes).unwrap().message.contains("record_shapes=True"));
    let told = bare().about(|about| about.recording.shapes = Some(true));
    assert_eq!(entry(told, Code::MissingShapes), None);
}

#[test]
fn an_event_with_several_cut_lists_counts_once() {
    let group = ProcessGroup { ranks_cut: true, ..ProcessGroup::default() };
    let sample = sound()
        .op_with(&[(Arg::GroupRanks, "[0, 1, 2, ...]")], 0..1)
        .op_with(&[(Arg::InputDims, "[[1], ...]"), (Arg::InputTypes, "[\"float\", ...]")], 1..2)
        .about(|about| {
            about.distributed = Some(Distributed { groups: vec![group], ..Distributed::default() });
        });
    assert_eq!(count(sample, Code::TruncatedLists), Some(3));
}

#[test]
fn overhead_is_a_share_of_all_recorded_time() {
    let sample = trace()
        .host("cpu_op", "aten::mm", 0..1000)
        .host("overhead", "Activity Buffer Request", 0..100)
        .host("overhead", "Activity Buffer Request", 50..150)
        .about(|about| (about.recording.stacks, about.recording.memory) = (Some(true), Some(false)));
    let entry = entry(sample, Code::ProfilerOverhead).unwrap();
    assert_eq!(entry.count, 2);
    assert!(entry.message.contains("15.00 %") && entry.message.contains("recording stacks slows"));
    let unmeasured =
        trace().host("cpu_op", "aten::mm", 0..1).about(|about| about.recording.memory = Some(true));
    assert!(self::entry(unmeasured, Code::ProfilerOverhead).unwrap().message.starts_with("recording memory"));
}

#[test]
fn unknown_categories_are_listed() {
    let sample = sound().host("mystery", "x", 0..1).host("mystery", "y", 0..1).host("another", "z", 0..1);
    let entry = entry(sample, Code::UnknownEvents).unwrap();
    assert_eq!(entry.count, 3);
    assert!(entry.message.contains("(another, mystery)"), "{}", entry.message);
}
