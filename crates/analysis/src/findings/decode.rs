//! Decode steps in which the GPU waits for the host to launch one kernel after the other.

use gpuscope_trace::{Ns, ServingPhase, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Confidence, Evidence, Facts, Finding, rank_flag};
use crate::inference::{InferenceStep, steps};
use crate::model::graph::{Graph, Hold, NodeId, Scenario, What};
use crate::model::job::RankModel;

pub(crate) const ID: &str = "decode_host_bound";

/// Fewer kernels are not worth a graph.
const FEWEST_KERNELS: u64 = 20;

/// What one rank has of such steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankDecode {
    /// All decode steps.
    steps: u64,
    /// Those in which the GPU waits, and what they have together.
    bound: u64,
    kernels: u64,
    length: Ns,
    idle: Ns,
    /// The one with most idle time: its number, and from its first to its last GPU work.
    worst: Option<(Ns, i64, Ns, Ns)>,
    /// Their launches of kernels, but for the first of each.
    launches: Vec<NodeId>,
}

impl RankDecode {
    pub(super) fn of(rank: u32, view: View<'_>, model: &RankModel) -> RankDecode {
        let mut found = RankDecode::default();
        let mut bound = FxHashSet::default();
        let mut all = steps::of(rank, view);
        all.retain(|step| step.phase == ServingPhase::Decode);
        for step in &all {
            found.steps += 1;
            if let Some(idle) = waits(step) {
                found.add(step, idle);
                bound.insert(step.step);
            }
        }
        if let Some(graph) = model.graph().filter(|_| !bound.is_empty()) {
            found.launches = launches(view, graph, &bound);
        }
        found
    }

    fn add(&mut self, step: &InferenceStep, idle: Ns) {
        self.bound += 1;
        self.kernels += step.gpu_events - step.replayed;
        self.length += step.length();
        self.idle += idle;
        let (start, end) = (step.gpu_start_ns.unwrap_or_default(), step.gpu_end_ns.unwrap_or_default());
        self.worst = self.worst.max(Some((idle, step.step, start, end)));
    }
}

/// How long the GPU waits between the kernels of a step, if that is most of it and no graph replays them.
fn waits(step: &InferenceStep) -> Option<Ns> {
    let one_by_one = step.replayed * 2 < step.gpu_events && step.gpu_events - step.replayed >= FEWEST_KERNELS;
    // Work of the step before may run in between.
    let idle = step.idle_ns.min(step.length() - step.busy_ns);
    (one_by_one && idle.0 > step.length().0 / 2).then_some(idle)
}

fn launches(view: View<'_>, graph: &Graph, bound: &FxHashSet<i64>) -> Vec<NodeId> {
    let (steps, trace) = (steps::steps_of(view), view.trace);
    let mut cursor = steps.cursor();
    let mut launches_kernels = FxHashMap::default();
    let mut calls: Vec<(i64, Ns, NodeId)> = (0..)
        .zip(&graph.nodes)
        .filter(|(_, node)| node.what == What::Call && node.hold != Hold::Whole)
        .filter(|(_, node)| {
            let name = trace.name_id(node.row);
            *launches_kernels.entry(name).or_insert_with(|| trace.strings.get(name).contains("LaunchKernel"))
        })
        .filter_map(|(id, node)| {
            let number = steps[cursor.at(trace.start(node.row)?)?].number;
            bound.contains(&number).then_some((number, node.start, id))
        })
        .collect();
    calls.sort_unstable();
    calls.chunk_by(|a, b| a.0 == b.0).flat_map(|step| &step[1..]).map(|(.., id)| *id).collect()
}

pub(super) fn host_bound(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(worst) = facts.marked.iter().max_by_key(|rank| rank.decode.idle) else { return Vec::new() };
    let found = &worst.decode;
    // A few steps that go astray are no habit of the server.
    if found.bound == 0 || found.bound * 2 < found.steps {
        return Vec::new();
    }
    let of_rank = |(graph, rank): (u32, &super::marks::RankMarks)| {
        rank.decode.launches.iter().map(|node| (graph, *node, 0.0)).collect::<Vec<_>>()
    };
    let few_factors = (0..).zip(facts.marked).flat_map(of_rank).collect();
    let without = Scenario { few_factors, ..Scenario::default() };
    let Some(gain) = facts.gain(&without) else { return Vec::new() };
    let steps = match (found.bound, found.steps) {
        (1, 1) => "in the decode step".to_owned(),
        (bound, all) if bound == all => format!("in all {all} decode steps"),
        (bound, all) => format!("in {bound} of {all} decode steps"),
    };
    let finding = Finding::new(
        ID,
        format!("{steps} the GPU mostly waits between kernels that the host launches one by one"),
        "capture the decode step in CUDA graphs: no enforce_eager in vLLM, no --disable-cuda-graph in SGLang, \
         mode=\"reduce-overhead\" in torch.compile",
        format!("gpuscope inference{}", rank_flag(&[worst.rank])),
    );
    let text = format!(
        "on rank {} {} launched by calls of their own, the GPU idle for {} of {}",
        worst.rank,
        if found.kernels == 1 { "1 kernel".to_owned() } else { format!("{} kernels", found.kernels) },
        crate::shared::text::time(found.idle),
        crate::shared::text::time(found.length)
    );
    let evidence = Evidence {
        step: found.worst.map(|(_, step, ..)| step),
        rank: Some(worst.rank),
        start_ns: found.worst.map(|(_, _, start, _)| start),
        end_ns: found.worst.map(|(.., end)| end),
        text,
        ..Evidence::default()
    };
    let claim = [
        ("steps", found.bound as i64),
        ("decode_steps", found.steps as i64),
        ("kernels", found.kernels as i64),
        ("idle_ns", found.idle.0),
        ("time_ns", found.length.0),
    ];
    let caveat = match facts.about_host() {
        (_, Some(slowed)) => slowed,
        _ => "as if a step's launches but the first cost the host nothing, as when a graph is replayed"
            .to_owned(),
    };
    let finding = finding.claiming(claim).shown_by(evidence);
    vec![finding.trusted(Confidence::Medium, Some(caveat)).worth(gain, without)]
}
