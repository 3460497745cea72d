//! The GPU waits for the host: by what the host does meanwhile.

use gpuscope_trace::{Kind, Ns};

use super::{Confidence, Evidence, Facts, Finding, Program, marks, rank_flag};
use crate::idle::{Cause, HostCause as HostCauseRow, HostGap, IdleAnswer};
use crate::model::graph::{Graph, Scenario, What};

pub(super) const OPERATORS: &str = "host_operators";
pub(super) const PYTHON: &str = "host_python";

struct HostCause {
    id: &'static str,
    cause: Cause,
    mark: u32,
    what: &'static str,
    advice: &'static str,
}

pub(crate) const BLOCKING_COPY: &str = "host_blocking_copy";

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
        what: "the host reads single values back from the GPU (.item())",
        advice: "keep losses and counters on the GPU and read them only every few steps; avoid .item(), .cpu() and branching on tensors",
    },
    HostCause {
        id: BLOCKING_COPY,
        cause: Cause::BlockingCopy,
        mark: marks::BLOCKING_COPY,
        what: "the host waits for copies to finish",
        advice: "copy from pinned memory with non_blocking=True",
    },
    HostCause {
        id: "host_allocator",
        cause: Cause::Allocator,
        mark: marks::ALLOCATOR,
        what: "the allocator keeps asking the driver for memory",
        advice: "lower the memory peak, avoid empty_cache() in the loop, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    },
    HostCause {
        id: "host_garbage_collection",
        cause: Cause::GarbageCollection,
        mark: marks::GARBAGE,
        what: "Python's garbage collector runs while the GPU waits",
        advice: "gc.freeze() after setup, gc.disable() in the loop and gc.collect() on all ranks at the same steps",
    },
    HostCause {
        id: "host_recompilation",
        cause: Cause::Compilation,
        mark: marks::COMPILATION,
        what: "torch.compile compiles while the GPU waits",
        advice: "find the guard that fails with TORCH_LOGS=recompiles; mark sizes that change as dynamic, or pad them",
    },
    HostCause {
        id: "data_loading",
        cause: Cause::DataLoading,
        mark: marks::DATA_LOADING,
        what: "the step waits for its input data",
        advice: "use more DataLoader workers, a larger prefetch_factor and pin_memory=True, or preprocess offline",
    },
    HostCause {
        id: PYTHON,
        cause: Cause::Python,
        mark: marks::PYTHON,
        what: "Python code between launches keeps the GPU waiting",
        advice: "move the work out of the loop, or capture the region with CUDA graphs or torch.compile",
    },
    HostCause {
        id: OPERATORS,
        cause: Cause::Operator,
        mark: marks::OPERATOR,
        what: "operators take longer on the host than their kernels do on the GPU",
        advice: "compile the model or capture it in CUDA graphs; larger batches and fused or foreach optimizers help too",
    },
];

/// In the words of the program.
fn advice(cause: &HostCause, program: Program) -> &'static str {
    let in_cuda = match cause.cause {
        Cause::Synchronisation => {
            "drop cudaDeviceSynchronize and cudaStreamSynchronize from the loop; time with CUDA events instead"
        }
        Cause::BlockingCopy => "copy with cudaMemcpyAsync from and to pinned memory (cudaMallocHost)",
        Cause::Allocator => "allocate before the loop, or from a memory pool with cudaMallocAsync",
        _ => cause.advice,
    };
    program.either(cause.advice, in_cuda)
}

pub(super) const IDS: [&str; CAUSES.len()] = {
    let mut ids = [""; CAUSES.len()];
    let mut cause = 0;
    while cause < CAUSES.len() {
        ids[cause] = CAUSES[cause].id;
        cause += 1;
    }
    ids
};

/// No operator is free: compiled code and captured graphs leave about so much of what they take the host.
const OPERATORS_LEFT: f64 = 0.25;
const CHEAPER_OPERATORS: &str = "assumes that operators would cost the host a quarter of what they do now, which captured graphs come close to";

pub(super) fn host_bound(facts: &Facts<'_>) -> Vec<Finding> {
    CAUSES.iter().filter_map(|cause| finding(facts, cause)).collect()
}

/// Waiting for the GPU, whatever the call.
const WAITS: u32 = marks::SYNCHRONISATION | marks::ITEM | marks::BLOCKING_COPY;
pub(super) const ALL_WAITS: &str = "host_waits";

/// Waits of several sorts, of which none alone explains what they cost together.
pub(super) fn all_waits(facts: &Facts<'_>) -> Vec<Finding> {
    several_waits(facts).into_iter().collect()
}

fn several_waits(facts: &Facts<'_>) -> Option<Finding> {
    if facts.marks_seen & WAITS == 0 {
        return None;
    }
    let without = Scenario { not_awaited: WAITS, ..Scenario::default() };
    let gain = facts.gain(&without)?;
    let each = [marks::SYNCHRONISATION, marks::ITEM, marks::BLOCKING_COPY];
    let alone = |mark| facts.gain(&Scenario { not_awaited: mark, ..Scenario::default() });
    if each.into_iter().filter_map(alone).any(|alone| alone.ns.0 * 2 >= gain.ns.0) {
        return None;
    }
    let sorts = [
        (marks::ITEM, "fetch single values (item)"),
        (marks::BLOCKING_COPY, "copy"),
        (marks::SYNCHRONISATION, "synchronise"),
    ];
    let waits: Vec<(marks::Marked, &str)> = sorts.map(|(mark, what)| (waits(facts, mark), what)).into();
    let waits: Vec<_> = waits.into_iter().filter(|(waited, _)| waited.count > 0).collect();
    let count: u64 = waits.iter().map(|(waited, _)| waited.count).sum();
    let time: Ns = waits.iter().map(|(waited, _)| waited.time).sum();
    let parts: Vec<String> = waits.iter().map(|(waited, what)| format!("{} {what}", waited.count)).collect();
    let longest = waits.iter().max_by_key(|(waited, _)| waited.time)?;
    let finding = Finding::new(
        ALL_WAITS,
        format!("the host waits for the GPU in {count} calls: {}", parts.join(", ")),
        facts.program.either(
            "keep values on the GPU and read them every so many steps; avoid .item(), .cpu(), nonzero and if tensor: in the loop",
            "keep results on the GPU and read them rarely; copy with cudaMemcpyAsync from pinned memory, and wait for events \
             rather than for the whole device",
        ),
        "gpuscope idle".to_owned(),
    );
    let evidence = Evidence {
        start_ns: longest.0.longest.map(|(start, _)| start),
        end_ns: longest.0.longest.map(|(_, end)| end),
        names: waits.iter().map(|(waited, _)| waited.name.clone()).collect(),
        text: format!(
            "{} in all, mostly in {}",
            crate::shared::text::time(time),
            crate::shared::text::name(&longest.0.name)
        ),
        ..Evidence::default()
    };
    let caveat = "as if nothing that the host does depended on what it waits for".to_owned();
    let finding = finding.claiming([("waits", count as i64), ("waited_ns", time.0)]).shown_by(evidence);
    Some(finding.trusted(Confidence::Medium, Some(caveat)).worth(gain, without))
}

/// Where the GPU of a rank waits for the host: before its first work, between its work, or after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    First,
    Between,
    Last,
}

/// A time in which the GPU of a rank has nothing to do.
#[derive(Clone, Copy, Debug)]
struct Stall {
    at: Where,
    rank: u32,
    step: Option<i64>,
    start: Ns,
    end: Ns,
}

impl Stall {
    fn len(&self) -> Ns {
        self.end - self.start
    }
}

/// When the GPU has nothing to do at first and at last, each on the rank where that is longest.
fn at_the_ends(facts: &Facts<'_>) -> [Option<Stall>; 2] {
    let each = || facts.model.ranks.iter().zip(&facts.model.coupled.graphs);
    let on_gpu = |graph: &Graph| -> Option<(Ns, Ns)> {
        let nodes = || graph.nodes.iter().filter(|node| matches!(node.what, What::Gpu(_)));
        Some((nodes().map(|node| node.start).min()?, nodes().map(|node| node.end).max()?))
    };
    let lead = each().filter_map(|(rank, graph)| {
        let (start, end) = (graph.span.start, on_gpu(graph)?.0);
        Some(Stall { at: Where::First, rank: rank.rank, step: None, start, end })
    });
    let tail = each().filter_map(|(rank, graph)| {
        let (start, end) = (on_gpu(graph)?.1, graph.nodes[graph.host_end? as usize].end);
        Some(Stall { at: Where::Last, rank: rank.rank, step: None, start, end })
    });
    [lead.max_by_key(Stall::len), tail.max_by_key(Stall::len)]
}

/// What the GPUs waited for because of one cause.
struct Seen<'a> {
    /// Of each rank that did.
    rows: Vec<&'a HostCauseRow>,
    worst: Option<&'a HostCauseRow>,
    gap: Option<&'a HostGap>,
}

impl<'a> Seen<'a> {
    fn of(idle: &'a IdleAnswer, cause: Cause) -> Seen<'a> {
        let rows: Vec<_> = idle.host_causes.iter().filter(|row| row.cause == cause).collect();
        let worst = rows.iter().copied().max_by_key(|row| row.idle_ns);
        Seen { worst, gap: idle.host_gaps.iter().find(|gap| gap.cause == cause), rows }
    }

    fn idle(&self) -> Ns {
        self.worst.map_or(Ns::ZERO, |row| row.idle_ns)
    }

    /// The ranks it concerns; none for all.
    fn ranks(&self, all: usize) -> Vec<u32> {
        let most = self.idle();
        let large = self.rows.iter().filter(|row| row.idle_ns.0 * 2 > most.0);
        let ranks: Vec<u32> = large.map(|row| row.rank).collect();
        if ranks.len() == all && all > 1 { Vec::new() } else { ranks }
    }
}

fn finding(facts: &Facts<'_>, cause: &HostCause) -> Option<Finding> {
    // Running the job again without what it does not have would change nothing.
    if facts.marks_seen & cause.mark == 0 || !facts.could_matter(at_stake(facts, cause.mark)) {
        return None;
    }
    let is_operators = cause.cause == Cause::Operator;
    let mut without = Scenario::scaling(cause.mark, if is_operators { OPERATORS_LEFT } else { 0.0 });
    without.not_awaited = cause.mark;
    let mut gain = facts.gain(&without)?;
    let seen = Seen::of(facts.idle, cause.cause);
    let steps = facts.model.ranks.iter().map(|rank| rank.steps.len()).max().unwrap_or(0).max(1) as i64;
    let per_step = Ns(seen.idle().0 / steps);
    // Without it the host would run ahead and hide other stalls; that alone is no reason to blame it.
    let enough = match cause.cause {
        Cause::Synchronisation => per_step.0 >= gain.ns.0 / 4,
        Cause::Operator => per_step.0 >= gain.ns.0 / 2 && operators_are_slower(facts),
        _ => true,
    };
    if !enough {
        return None;
    }
    let stall = stall(facts, &seen, per_step, steps);
    // What comes first is a finding of its own, whatever it consists of.
    let is_general = matches!(cause.cause, Cause::Python | Cause::Operator);
    if is_general && stall.is_some_and(|stall| stall.at == Where::First) {
        return None;
    }
    if let Some(stall) = stall.filter(|stall| stall.at != Where::Between) {
        if facts.model.ranks.iter().all(|rank| rank.steps.len() == 0) {
            // What came before the GPU's first work cost a step something only if one began there.
            return None;
        }
        gain = gain.at_most(stall.len(), facts.step)?;
        // Of what a host does before the first launch, waiting is what it waits.
        let waits_only = matches!(cause.cause, Cause::Synchronisation | Cause::Item | Cause::BlockingCopy);
        if waits_only && stall.at == Where::First {
            gain = gain.at_most(waits(facts, cause.mark).time, facts.step)?;
        }
    }
    let ranks = seen.ranks(facts.ranks().count());
    let (confidence, caveat) = match cause.cause {
        Cause::Operator => (Confidence::Medium, Some(CHEAPER_OPERATORS.to_owned())),
        _ => facts.about_host(),
    };
    let at = stall.map_or(Where::Between, |stall| stall.at);
    // Idle times begin with the GPU's first work; the path begins with the step.
    let command = if at == Where::Between { "idle" } else { "critical-path" };
    let finding = Finding::new(
        cause.id,
        title(cause, at),
        advice(cause, facts.program),
        format!("gpuscope {command}{}", rank_flag(&ranks)),
    );
    let waits = waits(facts, cause.mark);
    let claim = [
        ("gaps", seen.worst.map_or(0, |row| row.count as i64)),
        ("idle_ns", seen.idle().0),
        ("waits", waits.count as i64),
        ("waited_ns", waits.time.0),
    ];
    let evidence = Evidence {
        step: stall.and_then(|stall| stall.step),
        rank: stall.map(|stall| stall.rank),
        start_ns: stall.map(|stall| stall.start),
        end_ns: stall.map(|stall| stall.end),
        names: names(facts, &seen, stall, &waits),
        text: text(&seen, stall, &waits),
        ranks,
    };
    Some(finding.claiming(claim).shown_by(evidence).trusted(confidence, caveat).worth(gain, without))
}

/// All that could go with a cause, over all ranks: what the host does, and what it waits.
fn at_stake(facts: &Facts<'_>, mark: u32) -> Ns {
    facts.marked.iter().map(|rank| rank.at_stake[mark.trailing_zeros() as usize]).sum()
}

/// Where most of what the host costs is seen.
fn stall(facts: &Facts<'_>, seen: &Seen<'_>, per_step: Ns, steps: i64) -> Option<Stall> {
    let between = seen.gap.map(|gap| Stall {
        at: Where::Between,
        rank: gap.rank,
        step: gap.step,
        start: gap.start_ns,
        end: gap.start_ns + gap.idle_ns,
    });
    if steps > 1 {
        return between;
    }
    let ends = at_the_ends(facts).into_iter().flatten().max_by_key(Stall::len);
    ends.filter(|stall| stall.len() > per_step).or(between)
}

fn title(cause: &HostCause, at: Where) -> String {
    match (cause.cause, at) {
        (Cause::Python, Where::Last) => "Python code after the last kernel makes the step longer".to_owned(),
        (_, Where::Last) => format!("{}, after the GPU has finished", cause.what),
        (_, Where::First) => format!("{}, before the GPU gets its first work", cause.what),
        _ => cause.what.to_owned(),
    }
}

/// Whether it is true that operators take the host longer than the GPU.
fn operators_are_slower(facts: &Facts<'_>) -> bool {
    let bit = marks::OPERATOR.trailing_zeros() as u8;
    let of_graph = |graph: &Graph| {
        let parts = graph.host_parts.iter().filter(|part| part.mark == bit);
        let host: Ns = parts.map(|part| part.time).sum();
        let own = |node: &&crate::model::graph::Node| matches!(node.what, What::Gpu(kind) if kind != Kind::Communication);
        let gpu: Ns = graph.nodes.iter().filter(own).map(|node| node.end - node.start).sum();
        host > gpu
    };
    facts.model.coupled.graphs.iter().any(of_graph)
}

/// Calls that waited for this cause, on the rank where they waited longest.
fn waits(facts: &Facts<'_>, mark: u32) -> marks::Marked {
    let all = facts.marked.iter().map(|rank| rank.waited(mark));
    all.max_by_key(|waited| waited.time).unwrap_or_default()
}

fn names(facts: &Facts<'_>, seen: &Seen<'_>, stall: Option<Stall>, waits: &marks::Marked) -> Vec<String> {
    let lead = stall.filter(|stall| stall.at == Where::First);
    let lead = lead.and_then(|stall| facts.marked.iter().find(|rank| rank.rank == stall.rank));
    if let Some(rank) = lead {
        return rank.lead.iter().map(|(name, _)| name.clone()).collect();
    }
    let frame = seen.gap.and_then(|gap| gap.stack.iter().rev().find(|name| name.contains(".py(")).cloned());
    let told = seen.worst.and_then(|row| row.name.clone());
    let waited = Some(waits.name.clone()).filter(|name| !name.is_empty());
    let mut names: Vec<String> = Vec::new();
    for name in [told, waited, frame].into_iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn text(seen: &Seen<'_>, stall: Option<Stall>, waits: &marks::Marked) -> String {
    let time = crate::shared::text::time;
    match (stall.map(|stall| (stall.at, stall.len())), seen.worst) {
        (Some((Where::First, waits)), _) => {
            format!("the GPU's first work starts {} into the step", time(waits))
        }
        (Some((Where::Last, waits)), _) => {
            format!("the step runs on for {} after the GPU's last work", time(waits))
        }
        (_, Some(row)) => format!(
            "{} on the GPU of rank {}, {} in all{}",
            if row.count == 1 { "1 gap".to_owned() } else { format!("{} gaps", row.count) },
            row.rank,
            time(row.idle_ns),
            row.name
                .as_deref()
                .map(|name| format!(", the largest share in {}", crate::shared::text::name(name)))
                .unwrap_or_default(),
        ),
        (_, None) if waits.count > 0 => {
            let name = crate::shared::text::name(&waits.name);
            format!("{} waits, {} in all, the largest share in {name}", waits.count, time(waits.time))
        }
        (_, None) => "seen on the critical path".to_owned(),
    }
}
