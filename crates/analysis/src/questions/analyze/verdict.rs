//! The whole answer in at most 25 words: where the GPUs' time goes, what could be saved, and by what above all.

use gpuscope_trace::Ns;
use gpuscope_trace::metadata::Recorder;

use super::AnalyzeAnswer;
use crate::findings::{self, Finding};
use crate::idle::{Cause, DeviceIdle, IdleAnswer};
use crate::inference::GraphCapture;
use crate::shared::recording::{Lacking, way_to_record};
use crate::shared::text;

/// More is no headline.
pub(super) const MOST_WORDS: usize = 25;
/// A loss of less is not what a run is about.
const MUCH_PCT: f64 = 15.0;
/// Of a function that a headline names.
const LONGEST_NAME: usize = 24;
/// Above this share of GPU time the rest does not matter.
const MOSTLY_PCT: f64 = 50.0;

pub(super) fn of(answer: &AnalyzeAnswer, recorder: Recorder) -> String {
    if let Some(capture) = &answer.graph_capture {
        return only_captures(*capture);
    }
    if !answer.has_gpu_work() {
        return "There is no GPU work in these traces.".to_owned();
    }
    let whole = || {
        mostly_start_up(answer).or_else(|| mostly_whole_graphs(answer)).or_else(|| mostly_elsewhere(answer))
    };
    whole().unwrap_or_else(|| explained(answer, recorder))
}

/// How many words a person reads; a sign stands for none.
pub(super) fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Where time goes and what could be saved, in the most telling way that is short enough.
fn explained(answer: &AnalyzeAnswer, recorder: Recorder) -> String {
    let (brief, long) = (where_time_goes(answer, false), where_time_goes(answer, true));
    let ends = ends(answer, recorder);
    let sentences = ends.iter().flat_map(|end| [format!("{long}{end}"), format!("{brief}{end}")]);
    let shortest = || format!("{brief}{}", ends.last().map_or("", String::as_str));
    sentences.into_iter().find(|sentence| words(sentence) <= MOST_WORDS).unwrap_or_else(shortest)
}

/// What could be saved and by what, from the most telling to the shortest.
fn ends(answer: &AnalyzeAnswer, recorder: Recorder) -> Vec<String> {
    let step = if answer.step.steps == 0 { "the recording" } else { "the step" };
    let worth: Vec<&Finding> = answer.findings.iter().filter(|finding| finding.gain_ns.is_some()).collect();
    let (Some(pct), Some(ns)) = (answer.joint_gain_pct, answer.joint_gain_ns) else {
        let Some(finding) = answer.findings.first() else {
            let step = &answer.step;
            let lost = step.exposed_comm_pct.max(step.exposed_memcpy_pct).max(step.idle_pct);
            return vec![match lost {
                _ if lost >= MUCH_PCT && step.idle_pct >= lost && is_unrecorded(answer) => {
                    format!("; {}.", way_to_record(recorder, Lacking::Stacks))
                }
                _ if lost >= MUCH_PCT => "; no single cause of that was found.".to_owned(),
                _ => format!("; no issue exceeds 2 % {}.", step.whole()),
            }];
        };
        return vec![format!("; {}.", finding.title), format!("; {}.", in_brief(finding))];
    };
    let saved = format!("; up to {pct:.0} % ({}) of {step} can be saved", text::time(ns));
    let [first, rest @ ..] = worth.as_slice() else { return vec![format!("{saved}.")] };
    let by = match rest {
        [] => format!(" in {}", in_brief(first)),
        [second] => format!(" in {} and {}", in_brief(first), in_brief(second)),
        [second, ..] => format!(", above all in {} and {}", in_brief(first), in_brief(second)),
    };
    let above_all = if rest.is_empty() { " in" } else { ", above all in" };
    let mut ends = vec![
        format!("{saved}{by}."),
        format!("{saved}{above_all} {}.", in_brief(first)),
        format!("{saved}."),
    ];
    if answer.findings.iter().any(|finding| finding.id == findings::FIRST_STEP) {
        ends.insert(0, format!("{saved}{by} (after warm-up)."));
    }
    ends
}

/// The largest loss, or how much the GPUs compute; with the cause of idleness if there is room for it.
fn where_time_goes(answer: &AnalyzeAnswer, with_cause: bool) -> String {
    if let Some(token) = slow_tokens(answer) {
        return token;
    }
    let step = &answer.step;
    let losses = [step.exposed_comm_pct, step.exposed_memcpy_pct, step.idle_pct];
    let largest = losses.into_iter().fold(0.0, f64::max);
    match losses {
        _ if largest < MUCH_PCT => {
            format!("Once started, GPUs compute {:.0} %", step.computation_pct)
        }
        [comm, ..] if comm >= largest => format!("Exposed communication takes {comm:.0} % of GPU time"),
        [_, copies, _] if copies >= largest => format!("Exposed copies take {copies:.0} % of GPU time"),
        [.., idle] => {
            let why = if with_cause { why_idle(&answer.idle, is_unrecorded(answer)) } else { String::new() };
            format!("GPUs idle {idle:.0} % of the time{why}")
        }
    }
}

/// What a token takes, where decode steps wait for the host.
fn slow_tokens(answer: &AnalyzeAnswer) -> Option<String> {
    answer.findings.iter().find(|finding| finding.id == findings::DECODE_HOST_BOUND)?;
    let serving = answer.inference.as_ref()?;
    let (time, decode) = (serving.time_per_output_token_ns?, serving.decode()?);
    Some(format!("A token takes {}, the GPU busy {:.0} % of it", text::time(time), decode.gpu_busy_pct))
}

fn why_idle(idle: &IdleAnswer, is_unrecorded: bool) -> String {
    let sum = |part: fn(&DeviceIdle) -> Ns| idle.devices.iter().map(part).sum::<Ns>();
    let reasons = [
        (sum(|device| device.unlinked_ns), ", waiting for launches that were not recorded"),
        (sum(|device| device.queued_ns), ", with work queued behind events"),
        (sum(|device| device.launch_ns), ", while launches are on their way"),
        (sum(|device| device.in_call_ns), ", waiting for slow launch calls"),
    ];
    let host = sum(|device| device.host_ns);
    if let Some((_, why)) = reasons.into_iter().max_by_key(|(time, _)| *time).filter(|(time, _)| *time > host)
    {
        return why.to_owned();
    }
    let what = if is_unrecorded { "unrecorded host work" } else { "the host" };
    format!(", waiting for {what}")
}

/// Whether nothing tells what the host does while the GPUs wait for it.
fn is_unrecorded(answer: &AnalyzeAnswer) -> bool {
    let most = answer.idle.host_causes.iter().max_by_key(|cause| cause.idle_ns);
    most.is_some_and(|most| most.cause == Cause::NothingRecorded)
}

fn only_captures(capture: GraphCapture) -> String {
    let graphs = match capture.graphs {
        1 => "a CUDA graph".to_owned(),
        graphs => format!("{graphs} CUDA graphs"),
    };
    format!("This is the capture of {graphs}, not a run; analyse a trace of the server at work.")
}

/// A recording of which start-up is the most says little about the program.
fn mostly_start_up(answer: &AnalyzeAnswer) -> Option<String> {
    let found = answer.findings.iter().find(|finding| finding.id == findings::START_UP)?;
    let number = |name| found.claim.0.get(name).copied().unwrap_or(0);
    let (time, recorded) = (number("time_ns"), number("recorded_ns"));
    (time * 2 > recorded).then(|| {
        format!(
            "Start-up takes {} of the {} recorded; record after a few warm-up steps to see the program itself.",
            text::time(Ns(time)),
            text::time(Ns(recorded))
        )
    })
}

/// What is inside of replays that were recorded as a whole is not known.
fn mostly_whole_graphs(answer: &AnalyzeAnswer) -> Option<String> {
    let graphs = answer.top_kernels.iter().filter(|kernel| is_whole_graph(&kernel.name));
    let pct: f64 = graphs.map(|kernel| kernel.pct).sum();
    (pct >= MOSTLY_PCT).then(|| {
        format!(
            "{pct:.0} % of GPU time is in CUDA graphs recorded as a whole; nsys profile --cuda-graph-trace=node shows what \
             they run."
        )
    })
}

/// As exports of Nsight Systems have replays whose kernels were not recorded.
fn is_whole_graph(kernel: &str) -> bool {
    kernel.strip_prefix("CUDA graph ").is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// From the first to the last work of a GPU, where a single step was recorded and is mostly something else that no finding
/// explains.
fn mostly_elsewhere(answer: &AnalyzeAnswer) -> Option<String> {
    let step = answer.step.median_ns.filter(|_| answer.step.steps == 1 && answer.findings.is_empty())?;
    let busy = answer.breakdown.ranks.iter().map(|rank| rank.total.total_ns).max()?;
    (busy.0 < step.0 / 2).then(|| {
        format!(
            "GPU work spans only {} of a {} step; the host spends the rest before and after it.",
            text::time(busy),
            text::time(step)
        )
    })
}

/// What a finding is called in a list, by the field's own words.
fn in_brief(finding: &Finding) -> String {
    if finding.id == findings::STRAGGLER
        && let [rank] = finding.evidence.ranks.as_slice()
    {
        return format!("straggling rank {rank}");
    }
    // Where it is known what the host does, that says more.
    let function =
        finding.evidence.names.first().and_then(|name| name.rsplit_once(": ")).map(|(_, function)| function);
    if finding.id == findings::LEAD
        && let Some(function) =
            function.filter(|function| words(function) == 1 && function.len() <= LONGEST_NAME)
    {
        return format!("{function} before the first launch");
    }
    let brief = BRIEF.iter().find(|(id, _)| *id == finding.id).map(|(_, brief)| *brief);
    brief.map_or_else(|| finding.id.replace('_', " "), str::to_owned)
}

const BRIEF: &[(&str, &str)] = &[
    ("clocks_throttled", "throttled clocks"),
    ("data_loading", "data loading"),
    ("ddp_buffer_broadcasts", "DDP buffer broadcasts"),
    ("ddp_gradient_copies", "DDP gradient copies"),
    ("decode_host_bound", "launch-bound decoding"),
    ("eager_attention", "unfused attention"),
    ("elementwise_chains", "unfused elementwise kernels"),
    ("expert_imbalance", "expert imbalance"),
    ("exposed_communication", "exposed communication"),
    ("first_step", "a slow first step"),
    ("foreach_optimizer", "optimizer passes by operator"),
    ("fp32_convolutions", "fp32 convolutions"),
    ("fp32_products", "fp32 matrix products"),
    ("host_allocator", "allocator calls"),
    ("host_before_first_launch", "work before the first launch"),
    ("host_blocking_copy", "blocking copies"),
    ("host_garbage_collection", "garbage collection"),
    ("host_item", "single values read back"),
    ("host_operators", "operator overhead on the host"),
    ("host_python", "Python between launches"),
    ("host_recompilation", "recompilation"),
    ("host_synchronisation", "synchronising calls"),
    ("host_waits", "host waits for the GPU"),
    ("layout_conversions", "layout conversions"),
    ("low_bus_bandwidth", "slow links"),
    ("low_occupancy", "kernels that leave multiprocessors empty"),
    ("memory_fragmented", "fragmented memory"),
    ("memory_near_limit", "memory near its limit"),
    ("odd_sizes", "unaligned matrix products"),
    ("recomputation", "activation recomputation"),
    ("skinny_products", "skinny matrix products"),
    ("slow_products", "slow matrix products"),
    ("small_kernels", "kernels shorter than their launch"),
    ("start_up", "start-up"),
    ("step_time_drift", "drifting step times"),
    ("straggler", "straggling ranks"),
    ("tiny_collectives", "tiny collectives"),
    ("tiny_copies", "tiny copies"),
    ("transposing_copies", "transposing copies"),
    ("unfused_optimizer", "an unfused optimizer"),
    ("unpinned_copies", "pageable copies"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_no_words() {
        assert_eq!(words("GPUs compute 93 % of the time; no issue."), 8);
    }

    #[test]
    fn every_finding_has_a_brief_name() {
        let mut unnamed = findings::ids().filter(|id| !BRIEF.iter().any(|(known, _)| known == id));
        assert_eq!(unnamed.next(), None);
        assert!(BRIEF.iter().all(|(known, _)| findings::ids().any(|id| id == *known)));
    }

    #[test]
    fn one_finding_fits_a_headline_whatever_it_is() {
        let longest = BRIEF.iter().map(|(_, brief)| words(brief)).max().unwrap();
        let brief = words(
            "GPUs idle 66 % of the time; up to 31 % (49.6 ms) of the recording can be saved, above all in",
        );
        assert!(brief + longest <= MOST_WORDS, "{brief} + {longest}");
    }
}
