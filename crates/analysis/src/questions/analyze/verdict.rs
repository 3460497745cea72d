//! The whole answer in one sentence.

use gpuscope_trace::Ns;
use gpuscope_trace::metadata::Recorder;

use super::AnalyzeAnswer;
use crate::findings;
use crate::idle::{Cause, DeviceIdle, HostCause, IdleAnswer};
use crate::inference::GraphCapture;
use crate::shared::recording::{Lacking, way_to_record};

/// Above this share of computation the GPUs are as busy as can be.
const BUSY_PCT: f64 = 90.0;
/// Above this share of GPU time the rest does not matter.
const MOSTLY_PCT: f64 = 50.0;
/// Communication that nothing hides, above this share of the time, is not passed over.
const MUCH_PCT: f64 = 25.0;

pub(super) fn of(answer: &AnalyzeAnswer, recorder: Recorder) -> String {
    if let Some(capture) = &answer.graph_capture {
        return only_captures(*capture);
    }
    if !answer.has_gpu_work() {
        return "There is no GPU work in these traces.".to_owned();
    }
    if let Some(start_up) = mostly_start_up(answer) {
        return start_up;
    }
    match set_apart(answer) {
        Some(set_apart) => format!("{} {set_apart}", explained(answer, recorder)),
        None => explained(answer, recorder),
    }
}

fn explained(answer: &AnalyzeAnswer, recorder: Recorder) -> String {
    let sentences: Vec<String> =
        [largest_loss(answer, recorder), could_be_saved(answer), slow_tokens(answer)]
            .into_iter()
            .flatten()
            .collect();
    if !sentences.is_empty() {
        return sentences.join(" ");
    }
    let step = &answer.step;
    match answer.findings.first() {
        Some(finding) if step.computation_pct >= BUSY_PCT => {
            format!("Time is well spent, but {}.", finding.title)
        }
        Some(finding) => {
            format!("The GPUs compute {:.0} % of the time; {}.", step.computation_pct, finding.title)
        }
        None => without_findings(answer, step.whole()),
    }
}

fn only_captures(capture: GraphCapture) -> String {
    let graphs = if capture.graphs == 1 { "a CUDA graph" } else { "CUDA graphs" };
    format!(
        "This is the capture of {graphs}, not a run: {} launches were written into {}, and hardly anything ran. Analyse a \
         trace of the server at work; with this one beside it, replayed kernels get their operators.",
        capture.launches,
        if capture.graphs == 1 { "it".to_owned() } else { format!("{} of them", capture.graphs) },
    )
}

/// What a token takes, where decode steps wait for the host.
fn slow_tokens(answer: &AnalyzeAnswer) -> Option<String> {
    answer.findings.iter().find(|finding| finding.id == "decode_host_bound")?;
    let serving = answer.inference.as_ref()?;
    let (time, decode) = (serving.time_per_output_token_ns?, serving.decode()?);
    Some(format!(
        "An output token takes {}, of which the GPU works {:.0} %.",
        crate::shared::text::time(time),
        decode.gpu_busy_pct
    ))
}

/// First steps that are not meant by any of it.
fn set_apart(answer: &AnalyzeAnswer) -> Option<String> {
    let found = answer.findings.iter().find(|finding| finding.id == findings::FIRST_STEP)?;
    let number = |name| found.claim.0.get(name).copied().unwrap_or(0);
    let long = crate::shared::text::time(Ns(number("longest_ns")));
    Some(match number("steps") {
        1 => format!("That is without the first step, which takes {long}."),
        steps => format!("That is without the first {steps} steps, which take up to {long}."),
    })
}

/// A recording of which start-up is the most says little about the program.
fn mostly_start_up(answer: &AnalyzeAnswer) -> Option<String> {
    let found = answer.findings.iter().find(|finding| finding.id == findings::START_UP)?;
    let number = |name| found.claim.0.get(name).copied().unwrap_or(0);
    let names = found.evidence.names.iter().take(2).cloned().collect::<Vec<_>>().join(" and ");
    (number("time_ns") * 2 > number("recorded_ns")).then(|| {
        format!(
            "Most of this recording is start-up: {} of {}, above all the first calls of {names}. Record after a few warm-up \
             steps to see the program itself.",
            crate::shared::text::time(Ns(number("time_ns"))),
            crate::shared::text::time(Ns(number("recorded_ns")))
        )
    })
}

/// What all that is listed would bring together, and what it is.
fn could_be_saved(answer: &AnalyzeAnswer) -> Option<String> {
    let worth: Vec<_> = answer.findings.iter().filter(|finding| finding.gain_ns.is_some()).collect();
    let joint = answer.joint_gain_pct?;
    let whole = answer.step.whole();
    let of = answer
        .step
        .median_ns
        .map(|step| format!(" of {}", crate::shared::text::time(step)))
        .unwrap_or_default();
    let first = &worth.first()?.title;
    let more = match worth.len() {
        1 => String::new(),
        _ => format!(" ({:.0} %)", worth[0].gain_pct.unwrap_or_default()),
    };
    let rest = match worth[1..] {
        [] => String::new(),
        [second] => format!("; {} ({:.0} %)", second.title, second.gain_pct.unwrap_or_default()),
        [second, .., _] => {
            let percent = second.gain_pct.unwrap_or_default();
            format!("; {} ({percent:.0} %); and {} more", second.title, worth.len() - 2)
        }
    };
    Some(format!("{joint:.0} % {whole}{of} could be saved: {first}{more}{rest}."))
}

/// What the GPUs lose most of their time to, if that is much and what is listed explains less than half of it.
fn largest_loss(answer: &AnalyzeAnswer, recorder: Recorder) -> Option<String> {
    let step = &answer.step;
    let gains = |explains: fn(&str) -> bool| {
        let of_it = answer.findings.iter().filter(|finding| explains(finding.id));
        of_it.filter_map(|finding| finding.gain_pct).fold(0.0, f64::max)
    };
    if step.exposed_memcpy_pct >= step.exposed_comm_pct.max(step.idle_pct) {
        let explained = gains(is_about_copies);
        return (step.exposed_memcpy_pct >= MUCH_PCT && explained < step.exposed_memcpy_pct / 2.0).then(|| {
            format!(
                "Copies that do not overlap with computation take {:.0} % of the time: copy less, or while the GPU computes.",
                step.exposed_memcpy_pct
            )
        });
    }
    if step.exposed_comm_pct >= step.idle_pct {
        let explained = gains(is_about_ranks);
        return (step.exposed_comm_pct >= MUCH_PCT && explained < step.exposed_comm_pct / 2.0).then(|| {
            format!(
                "The GPUs spend {:.0} % of the time on communication that nothing hides: transferring data, or waiting for \
                 other ranks.",
                step.exposed_comm_pct
            )
        });
    }
    let explained = gains(|id| !is_about_ranks(id));
    (step.idle_pct >= MUCH_PCT && explained < step.idle_pct / 2.0).then(|| {
        format!(
            "The GPUs are idle for {:.0} % of the time; {}.",
            step.idle_pct,
            why_idle(&answer.idle, recorder)
        )
    })
}

fn is_about_copies(id: &str) -> bool {
    matches!(id, findings::UNPINNED_COPIES | findings::BLOCKING_COPY)
}

fn is_about_ranks(id: &str) -> bool {
    matches!(id, findings::EXPOSED_COMMUNICATION | findings::STRAGGLER)
}

fn without_findings(answer: &AnalyzeAnswer, whole: &str) -> String {
    let step = &answer.step;
    let pct = step.computation_pct;
    let replayed: f64 = answer
        .top_kernels
        .iter()
        .filter(|kernel| is_whole_graph(&kernel.name))
        .map(|kernel| kernel.pct)
        .sum();
    if replayed >= MOSTLY_PCT {
        return format!(
            "{replayed:.0} % of GPU time are CUDA graphs that were recorded as a whole: record with \
             nsys profile --cuda-graph-trace=node to see what is in them."
        );
    }
    if let Some((busy, median)) = mostly_elsewhere(answer) {
        return format!(
            "GPU work spans only {} of a step of {}; the host spends the rest before and after it.",
            crate::shared::text::time(busy),
            crate::shared::text::time(median)
        );
    }
    if pct >= BUSY_PCT {
        return format!(
            "Healthy: from their first to their last work the GPUs compute {pct:.0} % of the time, and nothing else is \
             worth 2 % {whole}."
        );
    }
    format!("The GPUs compute {pct:.0} % of the time; no single cause of the rest is worth 2 % {whole}.")
}

/// As exports of Nsight Systems have replays whose kernels were not recorded.
fn is_whole_graph(kernel: &str) -> bool {
    kernel.strip_prefix("CUDA graph ").is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// From the first to the last work of a GPU, and the step, if a single one was recorded and is mostly something else.
fn mostly_elsewhere(answer: &AnalyzeAnswer) -> Option<(Ns, Ns)> {
    let median = answer.step.median_ns.filter(|_| answer.step.steps == 1)?;
    let busy = answer.breakdown.ranks.iter().map(|rank| rank.total.total_ns).max()?;
    (busy.0 < median.0 / 2).then_some((busy, median))
}

fn why_idle(idle: &IdleAnswer, recorder: Recorder) -> String {
    let sum = |part: fn(&DeviceIdle) -> Ns| idle.devices.iter().map(part).sum::<Ns>();
    let reasons = [
        (
            sum(|device| device.unlinked_ns),
            "why is not known, because what launched their work is not recorded: record the host too",
        ),
        (
            sum(|device| device.queued_ns),
            "work had been launched, but waited for events or for work that is not recorded",
        ),
        (sum(|device| device.launch_ns), "work had been launched, but had not reached the GPU yet"),
        (sum(|device| device.in_call_ns), "the launch calls themselves take that long"),
    ];
    let host = sum(|device| device.host_ns);
    match reasons.into_iter().max_by_key(|(time, _)| *time).filter(|(time, _)| *time > host) {
        Some((_, why)) => why.to_owned(),
        None => format!("the host launches too late{}", doing(&idle.host_causes, recorder)),
    }
}

/// What the hosts did meanwhile, most of all.
fn doing(causes: &[HostCause], recorder: Recorder) -> String {
    let Some(most) = causes.iter().max_by_key(|cause| cause.idle_ns) else { return String::new() };
    if most.cause == Cause::NothingRecorded {
        let record = way_to_record(recorder, Lacking::Stacks);
        return format!(", and what it does meanwhile is not recorded: {record}");
    }
    let name = most.name.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    format!(" (above all: {}{name})", most.cause.label())
}
