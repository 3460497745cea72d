//! Why was it slow, and what would help? All questions at once, and the answer in a few lines.

mod differs;
mod exposed;
mod serving;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod top;
mod verdict;

use gpuscope_trace::{Ns, Quality, View};
use serde::Serialize;

use crate::breakdown::{BreakdownAnswer, RankBreakdown};
use crate::collectives::{CollectivesAnswer, RankCollectives};
use crate::counters::JoinedRow;
use crate::critical_path::{CriticalPathAnswer, LocalPath};
use crate::findings::{self, Facts, Finding, Program, marks};
use crate::idle::IdleAnswer;
use crate::inference::{GraphCapture, InferenceAnswer};
use crate::kernels::{KernelsAnswer, RankKernels};
use crate::memory::MemoryAnswer;
use crate::model::job::{JobModel, RankModel};
use crate::stragglers::{self, StragglersAnswer};
use crate::{Breakdown, Collectives, CriticalPath, Idle, Kernels, Memory, Question, Stragglers};

pub use differs::Differs;
pub use exposed::TopCollective;
pub use serving::{PhaseTimes, Serving};
use step::Shares;
pub use step::StepSummary;
pub use top::TopKernel;

/// Kernels of each rank and kind that the report lists by name.
const LISTED_KERNELS: usize = 20;

#[derive(Clone, Copy, Debug, Default)]
pub struct Analyze;

#[derive(Clone, Debug, Default, Serialize)]
pub struct AnalyzeAnswer {
    pub verdict: String,
    pub step: StepSummary,
    /// The steps of an inference server, if there are any.
    pub inference: Option<Serving>,
    /// Traces that record how graphs were made; where there are no others, nothing is explained.
    pub graph_capture: Option<GraphCapture>,
    /// The most worthwhile first.
    pub findings: Vec<Finding>,
    /// What a step would take less without all of them together.
    pub joint_gain_ns: Option<Ns>,
    pub joint_gain_pct: Option<f64>,
    /// Of a step's time, what the model of it cannot explain.
    pub residual_pct: f64,
    pub top_kernels: Vec<TopKernel>,
    /// The least hidden first.
    pub top_collectives: Vec<TopCollective>,
    pub breakdown: BreakdownAnswer,
    pub idle: IdleAnswer,
    pub kernels: KernelsAnswer,
    pub collectives: CollectivesAnswer,
    pub stragglers: StragglersAnswer,
    /// Its stretches are what `critical-path` tells.
    #[serde(serialize_with = "CriticalPathAnswer::in_brief")]
    pub critical_path: CriticalPathAnswer,
    pub memory: MemoryAnswer,
    /// Kernels that Nsight Compute measured, with what its rules estimate, if its pages were given beside the traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<JoinedRow>,
}

/// What one rank contributes to each.
#[derive(Debug)]
pub struct Local {
    breakdown: RankBreakdown,
    shares: Shares,
    idle: IdleAnswer,
    kernels: RankKernels,
    top: top::RankTop,
    collectives: RankCollectives,
    exposed: exposed::RankExposed,
    stragglers: stragglers::Local,
    critical_path: Option<LocalPath>,
    memory: MemoryAnswer,
    model: Option<(RankModel, marks::RankMarks)>,
    serving: serving::RankServing,
    graph_capture: Option<GraphCapture>,
    program: Program,
}

impl Local {
    pub(crate) fn breakdown(&self) -> &RankBreakdown {
        &self.breakdown
    }
}

fn kernels() -> Kernels {
    Kernels { num_kernels: Some(LISTED_KERNELS), ..Kernels::default() }
}

impl Question for Analyze {
    type Local = Local;
    type Answer = AnalyzeAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Local {
        let collectives = Collectives::default().local(rank, view);
        let breakdown = Breakdown::default().local(rank, view);
        // Where first steps are set apart, what the GPUs did is told of the others.
        let explained = breakdown
            .first_steps()
            .map(|first| view.selection.within_steps(view.trace, view.index, first.explained()));
        let steady = explained.as_ref().map_or(view, |selection| View { selection, ..view });
        Local {
            exposed: exposed::RankExposed::of(&collectives),
            shares: match explained {
                Some(_) => Shares::of(&Breakdown::default().local(rank, steady)),
                None => Shares::of(&breakdown),
            },
            breakdown,
            idle: Idle::default().local(rank, steady),
            kernels: kernels().local(rank, view),
            top: top::RankTop::of(view),
            collectives,
            stragglers: Stragglers.local(rank, view),
            critical_path: CriticalPath::default().local(rank, view),
            memory: Memory::default().local(rank, view),
            model: marks::model(rank, view),
            serving: serving::RankServing::of(rank, view),
            graph_capture: GraphCapture::of(view),
            program: Program::of(view),
        }
    }

    fn merge(&self, locals: Vec<Local>) -> AnalyzeAnswer {
        let mut all = Apart::default();
        for local in without_captures(locals) {
            all.take(local);
        }
        let graph_capture = all.graph_capture;
        let mut answer = AnalyzeAnswer {
            breakdown: Breakdown::default().merge(all.breakdown),
            idle: Idle::default().merge(all.idle),
            kernels: kernels().merge(all.kernels),
            top_kernels: top::merge(all.top),
            collectives: Collectives::default().merge(all.collectives),
            stragglers: Stragglers.merge(all.stragglers),
            critical_path: CriticalPath::default().merge(all.critical_path),
            memory: Memory::default().merge(all.memory),
            inference: serving::merge(all.serving),
            graph_capture,
            ..AnalyzeAnswer::default()
        };
        answer.top_collectives = exposed::merge(all.exposed, &answer.collectives.summary);
        answer.step = StepSummary::of(&answer.breakdown, &all.shares);
        if graph_capture.is_none() {
            answer.judge(&JobModel::new(all.models), &all.marked, all.program);
        }
        answer.verdict = verdict::of(&answer, all.program.recorder);
        answer
    }

    fn quality(&self, answer: &AnalyzeAnswer) -> Vec<Quality> {
        let ranks = answer.breakdown.ranks.iter();
        let longest = ranks.filter_map(RankBreakdown::first_steps).max_by_key(|first| first.longest);
        let set_apart = longest.map(|first| first.quality());
        Stragglers.quality(&answer.stragglers).into_iter().chain(set_apart).collect()
    }
}

impl AnalyzeAnswer {
    /// Whether graphs replay work whose operators only a trace of their capture tells.
    pub fn lacks_capture(&self) -> bool {
        self.inference.as_ref().is_some_and(|serving| serving.replayed_pct > 0.0)
    }

    /// Gives replayed kernels the operators that traces of the capture tell, which were read from these files.
    pub fn name_replayed(&mut self, told: &InferenceAnswer, files: Vec<String>) {
        serving::name_kernels(&mut self.top_kernels, told);
        if let Some(serving) = &mut self.inference {
            serving.name_replayed(told, files);
        }
    }

    fn has_gpu_work(&self) -> bool {
        self.breakdown.ranks.iter().any(|rank| rank.total.total_ns > Ns::ZERO)
    }

    fn judge(&mut self, model: &JobModel, marked: &[marks::RankMarks], program: Program) {
        if model.ranks.is_empty() || !self.has_gpu_work() {
            return;
        }
        let step = model.recorded_step();
        let facts = Facts {
            model,
            step,
            idle: &self.idle,
            memory: &self.memory,
            collectives: &self.collectives,
            stragglers: &self.stragglers,
            marked,
            marks_seen: marks::seen(model),
            program,
            alone: model.has_lone_communication(),
            infers_waits: model.coupled.infers_waits(),
        };
        let (findings, joint) = findings::find(&facts);
        self.residual_pct = (step - model.explained_step()).max(Ns::ZERO).pct_of(step);
        self.findings = findings;
        self.joint_gain_ns = joint;
        self.joint_gain_pct = joint.map(|gain| gain.pct_of(step));
    }
}

/// The parts of all ranks, question by question.
#[derive(Default)]
struct Apart {
    breakdown: Vec<RankBreakdown>,
    shares: Shares,
    idle: Vec<IdleAnswer>,
    kernels: Vec<RankKernels>,
    top: Vec<top::RankTop>,
    collectives: Vec<RankCollectives>,
    exposed: Vec<exposed::RankExposed>,
    stragglers: Vec<stragglers::Local>,
    critical_path: Vec<Option<LocalPath>>,
    memory: Vec<MemoryAnswer>,
    models: Vec<Option<RankModel>>,
    marked: Vec<marks::RankMarks>,
    serving: Vec<serving::RankServing>,
    graph_capture: Option<GraphCapture>,
    program: Program,
}

/// Beside runs, what records how their graphs were made is no rank of its own.
fn without_captures(mut locals: Vec<Local>) -> Vec<Local> {
    if locals.iter().any(|local| local.graph_capture.is_none()) {
        locals.retain(|local| local.graph_capture.is_none());
    }
    locals
}

impl Apart {
    fn take(&mut self, local: Local) {
        self.breakdown.push(local.breakdown);
        self.shares.add(&local.shares);
        self.idle.push(local.idle);
        self.kernels.push(local.kernels);
        self.top.push(local.top);
        self.collectives.push(local.collectives);
        self.exposed.push(local.exposed);
        self.stragglers.push(local.stragglers);
        self.critical_path.push(local.critical_path);
        self.memory.push(local.memory);
        if let Some((model, marked)) = local.model {
            self.models.push(Some(model));
            self.marked.push(marked);
        }
        self.serving.push(local.serving);
        if let Some(capture) = local.graph_capture {
            let all = self.graph_capture.get_or_insert_default();
            all.graphs += capture.graphs;
            all.launches += capture.launches;
        }
        self.program = self.program.with(local.program);
    }
}
