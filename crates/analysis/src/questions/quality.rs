//! What is wrong with this trace, what does it mean for the numbers, and what can be done about it?
//!
//! About the whole trace of a rank, whatever is selected: one pass over its rows, one over its GPU events.
//! What the reader met on its way (a file cut short, texts that are not UTF-8 …) is in `Trace::quality`; what
//! only shows between ranks (missing or duplicate ones, clocks that disagree) is found where ranks meet.

mod gpu;
mod log;

use gpuscope_trace::lists::is_cut;
use gpuscope_trace::{
    Arg, Class, Code, Interval, Ns, Phase, Quality, Row, Selection, ServingStep, Step, StepOrigin, StrId,
    TimeSet, View,
};

use crate::idle::Unrecorded;
use crate::model::lost::launches_without_gpu_work;
use crate::shared::recording::{Lacking, way_to_record};
use gpu::Gpu;

/// Everything that a trace by itself shows to be wrong.
pub fn quality(rank: u32, view: View<'_>) -> Vec<Quality> {
    let rows = Rows::of(view);
    let gpu = Gpu::of(view);
    let entries = [
        no_gpu_events(view, &gpu),
        unlinked_kernels(view, &gpu),
        kernel_before_launch(&gpu),
        same_stream_overlap(&gpu),
        zero_duration(&gpu),
        negative_duration(&rows),
        missing_duration(view, &rows),
        partial_first_step(view, &gpu),
        step_without_gpu_work(view, &gpu),
        inferred_steps(view),
        graph_launch_share(&gpu),
        unrecorded_work(view),
        no_sync_events(view, &rows, &gpu),
        missing_shapes(view, &rows),
        truncated_lists(view),
        profiler_overhead(view, rows),
        log::dropped_events(&view.trace.metadata.log),
        unknown_events(view),
    ];
    entries.into_iter().flatten().map(|entry| entry.of_rank(rank)).collect()
}

/// What one pass over all rows shows.
#[derive(Default)]
struct Rows {
    extent: Option<(Ns, Ns)>,
    negative: u64,
    without_duration: u64,
    operators: u64,
    syncs: u64,
    overhead: Vec<Interval>,
}

impl Rows {
    fn of(view: View<'_>) -> Rows {
        let trace = view.trace;
        let mut rows = Rows::default();
        for row in trace.rows() {
            let class = trace.class(row);
            let Some((start, end)) = trace.span(row) else {
                rows.without_duration += u64::from(trace.phase(row) == Phase::Complete);
                continue;
            };
            rows.extent = Some(rows.extent.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
            rows.negative += u64::from(trace.dur(row).is_some_and(|dur| dur < Ns::ZERO));
            match class {
                Class::Operator => rows.operators += 1,
                Class::Sync => rows.syncs += 1,
                Class::Overhead => rows.overhead.push(Interval::new(start, end)),
                _ => {}
            }
        }
        rows
    }
}

/// The steps that somebody meant to be steps: a guess is not held to anything.
fn known_steps(view: View<'_>) -> &[Step] {
    if view.steps().origin == StepOrigin::Inferred { &[] } else { view.steps() }
}

/// An entry if anything was counted.
fn counted(code: Code, count: u64, message: impl FnOnce() -> String) -> Option<Quality> {
    (count > 0).then(|| Quality::new(code, count, message()))
}

/// What to do about something that was not recorded.
fn record(view: View<'_>, lacking: Lacking) -> &'static str {
    way_to_record(view.trace.metadata.recorder, lacking)
}

fn no_gpu_events(view: View<'_>, gpu: &Gpu) -> Option<Quality> {
    (gpu.events == 0).then(|| {
        let record = record(view, Lacking::GpuWork);
        let message = format!("the trace has no GPU events, so every GPU time is 0; {record}");
        Quality::new(Code::NoGpuEvents, 0, message)
    })
}

fn unlinked_kernels(view: View<'_>, gpu: &Gpu) -> Option<Quality> {
    counted(Code::UnlinkedKernels, gpu.unlinked, || {
        format!(
            "{} have no known launching call: they count for their device but for no step and no operator; {}",
            gpu.share(gpu.unlinked),
            record(view, Lacking::Launches)
        )
    })
}

fn kernel_before_launch(gpu: &Gpu) -> Option<Quality> {
    counted(Code::KernelBeforeLaunch, gpu.before_launch, || {
        format!(
            "{} start before the call that launched them: the clocks of host and device disagree, and launch \
             delays and gaps are off by as much",
            gpu.share(gpu.before_launch)
        )
    })
}

fn same_stream_overlap(gpu: &Gpu) -> Option<Quality> {
    counted(Code::SameStreamOverlap, gpu.overlapping, || {
        format!(
            "{} start before an earlier one on the same stream has ended (programmatic dependent launch, or \
             coarse timestamps): sums of durations exceed the time that passed; busy times do not",
            gpu.share(gpu.overlapping)
        )
    })
}

fn zero_duration(gpu: &Gpu) -> Option<Quality> {
    counted(Code::ZeroDuration, gpu.empty, || {
        format!("{} have a duration of 0: they are counted as launches and add no time", gpu.share(gpu.empty))
    })
}

fn negative_duration(rows: &Rows) -> Option<Quality> {
    counted(Code::NegativeDuration, rows.negative, || {
        format!("{} events have a negative duration, which is taken as 0", rows.negative)
    })
}

fn missing_duration(view: View<'_>, rows: &Rows) -> Option<Quality> {
    // Times that do not fit are missing from the columns too, and already reported.
    let invalid = view.trace.quality.iter().filter(|entry| entry.code == Code::InvalidTime);
    let missing = rows.without_duration.saturating_sub(invalid.map(|entry| entry.count).sum());
    counted(Code::MissingDuration, missing, || {
        format!(
            "{missing} events that should last have no start or no duration and are left out of every time"
        )
    })
}

/// Work launched before the recording began shows as GPU events without a launch that all run before any other;
/// device recording that starts late shows as launches of the first step that have no GPU event.
fn partial_first_step(view: View<'_>, gpu: &Gpu) -> Option<Quality> {
    let [first, later @ ..] = known_steps(view) else { return None };
    let warm_up = record(view, Lacking::WarmUp);
    let way_out = format!("leave the first step out, or record with a warm-up step ({warm_up})");
    if gpu.last_unlinked.zip(gpu.first_linked).is_some_and(|(unlinked, linked)| unlinked < linked) {
        let message = format!(
            "{} run before any that the recorded steps launched: the device was still busy with work from before \
             the recording, which is in the totals but in no step, and step {} waited for it; {way_out}",
            gpu.share(gpu.unlinked),
            first.number
        );
        return Some(Quality::new(Code::PartialFirstStep, gpu.unlinked, message));
    }
    let second = later.first().filter(|_| gpu.events > 0)?;
    let [lost, lost_in_second] = launches_without_gpu_work(view, [first, second]);
    if lost == 0 || lost_in_second > 0 {
        return None;
    }
    let message = format!(
        "{lost} kernels that the first step, {}, launched are not in the trace, while step {} is whole; {way_out}",
        first.number, second.number
    );
    Some(Quality::new(Code::PartialFirstStep, lost, message))
}

fn step_without_gpu_work(view: View<'_>, gpu: &Gpu) -> Option<Quality> {
    if gpu.events == 0 {
        return None;
    }
    let steps = known_steps(view).iter().zip(&gpu.step_has_work).filter(|(_, has_work)| !**has_work);
    let numbers: Vec<i64> = steps.map(|(step, _)| step.number).collect();
    counted(Code::StepWithoutGpuWork, numbers.len() as u64, || {
        format!(
            "{} of {} steps launched no GPU work that is in the trace ({}): their GPU times are 0, and step time \
             leaves them out",
            numbers.len(),
            gpu.step_has_work.len(),
            some_of(numbers.iter().map(i64::to_string))
        )
    })
}

fn inferred_steps(view: View<'_>) -> Option<Quality> {
    let steps = view.steps();
    let first = steps.first().filter(|_| steps.origin == StepOrigin::Inferred)?;
    let name = view.trace.name(first.row);
    if ServingStep::parse(name).is_some() {
        let message =
            format!("no steps are recorded; those of the inference server are taken, such as {name:?}");
        return Some(Quality::new(Code::InferredSteps, steps.len() as u64, message));
    }
    counted(Code::InferredSteps, steps.len() as u64, || {
        format!(
            "no steps are recorded; {} are guessed from annotations such as {:?}; {}, or name the right annotation \
             with --step-marker",
            steps.len(),
            name,
            record(view, Lacking::Steps)
        )
    })
}

fn unrecorded_work(view: View<'_>) -> Option<Quality> {
    let time = Unrecorded::time(View { selection: &Selection::everything(), ..view });
    (time > Ns::ZERO).then(|| {
        let message = format!(
            "for {} nothing runs that was recorded, but work launched before the recording began still holds a stream \
             up: that is no idle time, and is left out of shares and of model FLOPs utilisation",
            crate::shared::text::time(time)
        );
        Quality::new(Code::UnrecordedWork, 1, message)
    })
}

fn graph_launch_share(gpu: &Gpu) -> Option<Quality> {
    counted(Code::GraphLaunchShare, gpu.by_shared_call, || {
        let percent = 100.0 * gpu.by_shared_call as f64 / gpu.events as f64;
        format!(
            "{} ({percent:.1} %) share their launching call with others, as kernels of a graph do: they cannot be \
             told apart by operator, and their launch delay includes the kernels before them",
            gpu.share(gpu.by_shared_call)
        )
    })
}

fn no_sync_events(view: View<'_>, rows: &Rows, gpu: &Gpu) -> Option<Quality> {
    (gpu.events > 0 && rows.syncs == 0).then(|| {
        let record = record(view, Lacking::Synchronisation);
        let message =
            format!("no synchronisation is recorded, so what waited for what is inferred; {record}");
        Quality::new(Code::NoSyncEvents, 0, message)
    })
}

fn missing_shapes(view: View<'_>, rows: &Rows) -> Option<Quality> {
    if view.trace.metadata.recording.shapes == Some(true)
        || view.trace.args.texts(Arg::InputDims).next().is_some()
    {
        return None;
    }
    counted(Code::MissingShapes, rows.operators, || {
        format!(
            "the shapes of {} operators are not recorded, so neither work nor efficiency can be computed; {}",
            rows.operators,
            record(view, Lacking::Shapes)
        )
    })
}

fn truncated_lists(view: View<'_>) -> Option<Quality> {
    const LISTS: [Arg; 7] = [
        Arg::GroupRanks,
        Arg::InSplitSize,
        Arg::OutSplitSize,
        Arg::InputDims,
        Arg::InputTypes,
        Arg::InputStrides,
        Arg::ConcreteInputs,
    ];
    let (args, strings) = (&view.trace.args, &view.trace.strings);
    // Texts are few and used many times: each is looked at once.
    let mut known: Vec<Option<bool>> = vec![None; strings.len()];
    let mut cut: Vec<Row> = Vec::new();
    for arg in LISTS {
        let is_cut =
            |(_, text): &(Row, StrId)| *known[text.index()].get_or_insert_with(|| is_cut(strings.get(*text)));
        cut.extend(args.texts(arg).filter(is_cut).map(|(row, _)| row));
    }
    cut.sort_unstable();
    cut.dedup();
    let distributed = view.trace.metadata.distributed.as_ref();
    let groups = distributed.map_or(0, |about| about.groups.iter().filter(|group| group.ranks_cut).count());
    counted(Code::TruncatedLists, (cut.len() + groups) as u64, || {
        format!(
            "{} events and {groups} process groups have lists that the profiler cut off (\"...\"): members of \
             groups, split sizes and shapes are incomplete there",
            cut.len()
        )
    })
}

fn profiler_overhead(view: View<'_>, rows: Rows) -> Option<Quality> {
    let recording = view.trace.metadata.recording;
    let costly = [(recording.stacks, "stacks"), (recording.memory, "memory")];
    let costly: Vec<&str> =
        costly.iter().filter(|(on, _)| *on == Some(true)).map(|(_, what)| *what).collect();
    let count = rows.overhead.len() as u64;
    if count == 0 && costly.is_empty() {
        return None;
    }
    let (start, end) = rows.extent?;
    let time = TimeSet::from_unsorted(rows.overhead).len();
    let took = format!(
        "the profiler's own work, as far as it is recorded, took {:.2} % of the time ({count} rows)",
        time.pct_of(end - start)
    );
    let slows = format!(
        "recording {} slows the host down, so what is said about the host is an upper bound",
        costly.join(" and ")
    );
    let message = match (count, costly.is_empty()) {
        (_, true) => took,
        (0, false) => slows,
        (_, false) => format!("{took}; {slows}"),
    };
    Some(Quality::new(Code::ProfilerOverhead, count, message))
}

fn unknown_events(view: View<'_>) -> Option<Quality> {
    let mut categories = view.trace.elements_by_category();
    categories.retain(|name, _| Class::of(name) == Class::Unknown);
    let count = categories.values().sum();
    counted(Code::UnknownEvents, count, || {
        format!(
            "{count} events are of categories not known here ({}); they are shown and counted, but are not taken \
             as GPU work",
            some_of(categories.keys().map(|name| (*name).to_owned()))
        )
    })
}

/// The first few, and how many more there are.
fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    const FEW: usize = 5;
    let more = names.len().saturating_sub(FEW);
    let text = names.take(FEW).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

#[cfg(test)]
mod tests;
