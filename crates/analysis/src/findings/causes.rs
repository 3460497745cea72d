//! The GPU waits for the host: by what the host does meanwhile.

use gpuscope_trace::Ns;

use super::{Confidence, Evidence, Facts, Finding, marks, rank_flag};
use crate::graph::{Scenario, What};
use crate::idle::Cause;

pub(super) const OPERATORS: &str = "host_operators";

struct HostCause {
    id: &'static str,
    cause: Cause,
    mark: u32,
    what: &'static str,
    advice: &'static str,
}

const CAUSES: &[HostCause] = &[
    HostCause {
        id: "host_synchronisation",
        cause: Cause::Synchronisation,
        mark: marks::SYNCHRONISATION,
        what: "the host waits for the GPU in synchronising calls",
        advice: "drop torch.cuda.synchronize() and stream.synchronize() from the loop; time with CUDA events instead",
    },
    HostCause {
        id: "host_item",
        cause: Cause::Item,
        mark: marks::ITEM,
        what: "the host fetches single values from the GPU (item)",
        advice: "keep losses and counters on the GPU and read them every so many steps; avoid .item(), .cpu() and if tensor:",
    },
    HostCause {
        id: "host_blocking_copy",
        cause: Cause::BlockingCopy,
        mark: marks::BLOCKING_COPY,
        what: "the host waits for copies to finish",
        advice: "copy from pinned memory with non_blocking=True",
    },
    HostCause {
        id: "host_allocator",
        cause: Cause::Allocator,
        mark: marks::ALLOCATOR,
        what: "the allocator asks the driver for memory again and again",
        advice: "lower the peak, avoid empty_cache() in the loop, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    },
    HostCause {
        id: "host_garbage_collection",
        cause: Cause::GarbageCollection,
        mark: marks::GARBAGE,
        what: "Python collects garbage while the GPU waits",
        advice: "gc.freeze() after setup, gc.disable() in the loop and gc.collect() on all ranks at the same steps",
    },
    HostCause {
        id: "host_recompilation",
        cause: Cause::Compilation,
        mark: marks::COMPILATION,
        what: "torch.compile compiles during the loop",
        advice: "find the guard that fails with TORCH_LOGS=recompiles; mark changing sizes dynamic or pad them",
    },
    HostCause {
        id: "data_loading",
        cause: Cause::DataLoading,
        mark: marks::DATA_LOADING,
        what: "the step waits for its data",
        advice: "more DataLoader workers, prefetch_factor and pin_memory, or move preprocessing offline",
    },
    HostCause {
        id: "host_python",
        cause: Cause::Python,
        mark: marks::PYTHON,
        what: "Python code between launches keeps the GPU waiting",
        advice: "move the work out of the loop, or capture the region with CUDA graphs or torch.compile",
    },
    HostCause {
        id: OPERATORS,
        cause: Cause::Operator,
        mark: marks::OPERATOR,
        what: "operators take the host longer than their kernels take the GPU",
        advice: "compile the model or capture it in CUDA graphs; larger batches, fused or foreach optimizers",
    },
];

/// No operator is free: the gain is what a graph that is replayed comes near.
const FREE_OPERATORS: &str = "as if operators cost the host nothing: an upper bound";

/// What is said of Python if it is there before anything is launched.
const PYTHON_FIRST: &str = "Python code before the first launch keeps the GPU waiting";

pub(super) fn host_bound(facts: &Facts<'_>) -> Vec<Finding> {
    CAUSES.iter().filter_map(|cause| finding(facts, cause)).collect()
}

/// A time in which the GPU of a rank has nothing to do.
struct Place {
    rank: u32,
    step: Option<i64>,
    start: Ns,
    end: Ns,
}

/// When the GPU has nothing to do at first, on the rank where that is longest.
fn lead(facts: &Facts<'_>) -> Option<Place> {
    let leads = facts.model.ranks.iter().zip(&facts.model.coupled.graphs).filter_map(|(rank, graph)| {
        let gpu = graph.nodes.iter().filter(|node| matches!(node.what, What::Gpu(_)));
        let end = gpu.map(|node| node.start).min()?;
        Some(Place { rank: rank.rank, step: None, start: graph.span.start, end })
    });
    leads.max_by_key(|lead| lead.end - lead.start)
}

fn finding(facts: &Facts<'_>, cause: &HostCause) -> Option<Finding> {
    // Running the job again without what it does not have would change nothing.
    if facts.marks_seen & cause.mark == 0 {
        return None;
    }
    let mut without = Scenario::scaling(cause.mark, 0.0);
    without.not_awaited = cause.mark;
    let gain = facts.gain(&without)?;
    let rows: Vec<_> = facts.idle.host_causes.iter().filter(|row| row.cause == cause.cause).collect();
    let idle = rows.iter().map(|row| row.idle_ns).max();
    let steps = facts.model.ranks.iter().map(|rank| rank.steps.len()).max().unwrap_or(0);
    let waited = |share: i64| idle.unwrap_or_default().0 >= gain.ns.0 / share * steps.max(1) as i64;
    // Without it the host would run ahead and hide other stalls; that alone is no reason to blame it.
    let enough = match cause.cause {
        Cause::Synchronisation => waited(4),
        Cause::Operator => waited(2),
        _ => true,
    };
    if !enough {
        return None;
    }
    // What came before the GPU's first work cost a step something only if one began there.
    let before_first = steps <= 1 && !waited(2);
    if before_first && steps == 0 {
        return None;
    }
    let worst = rows.iter().max_by_key(|row| row.idle_ns);
    let concerned = |most: Ns| {
        let large = rows.iter().filter(|row| row.idle_ns.0 * 2 > most.0);
        large.map(|row| row.rank).collect::<Vec<u32>>()
    };
    let mut ranks = idle.map(concerned).unwrap_or_default();
    if ranks.len() == facts.ranks().count() && ranks.len() > 1 {
        ranks.clear();
    }
    let mut gaps = facts.idle.host_gaps.iter();
    let mut gap = || {
        let gap = gaps.find(|gap| gap.cause == cause.cause)?;
        let end = gap.start_ns + gap.idle_ns;
        Some(Place { rank: gap.rank, step: gap.step, start: gap.start_ns, end })
    };
    let place = if before_first { lead(facts) } else { gap() };
    let (confidence, caveat) = match cause.cause {
        Cause::Operator => (Confidence::Medium, Some(FREE_OPERATORS.to_owned())),
        _ => facts.about_host(),
    };
    let text = match worst {
        _ if before_first => {
            let waits = place.as_ref().map_or(Ns::ZERO, |place| place.end - place.start);
            format!("the GPU's first work comes {} into the step", crate::text::time(waits))
        }
        Some(row) => format!(
            "{} of the GPU on rank {}, {} in all{}",
            if row.count == 1 { "1 gap".to_owned() } else { format!("{} gaps", row.count) },
            row.rank,
            crate::text::time(row.idle_ns),
            row.name.as_deref().map(|name| format!(", mostly in {name}")).unwrap_or_default(),
        ),
        None => "seen on the critical path".to_owned(),
    };
    let finding = Finding {
        id: cause.id,
        title: if before_first && cause.cause == Cause::Python { PYTHON_FIRST } else { cause.what }
            .to_owned(),
        // Idle times begin with the GPU's first work; the path begins with the step.
        command: format!(
            "gpuscope {}{}",
            if before_first { "critical-path" } else { "idle" },
            rank_flag(&ranks)
        ),
        evidence: Evidence {
            step: place.as_ref().and_then(|place| place.step),
            rank: place.as_ref().map(|place| place.rank),
            start_ns: place.as_ref().map(|place| place.start),
            end_ns: place.as_ref().map(|place| place.end),
            names: worst.filter(|_| !before_first).and_then(|row| row.name.clone()).into_iter().collect(),
            ranks,
            text,
        },
        confidence,
        caveat,
        advice: cause.advice,
        gain_ns: None,
        gain_pct: None,
        without: None,
    };
    Some(finding.worth(gain, without))
}
