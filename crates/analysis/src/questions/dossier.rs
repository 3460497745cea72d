//! Everything about a run at once: what a report shows, from the verdict down to each event.
//!
//! One walk over the ranks answers all questions, so that a report costs one reading.

mod figures;
mod median_step;
mod numbers;
mod per_step;
#[cfg(test)]
mod tests;

use gpuscope_table::{Table, Tabular};
use gpuscope_trace::{Quality, View};
use serde::Serialize;

use crate::analyze::{self, AnalyzeAnswer};
use crate::bandwidth::BandwidthAnswer;
use crate::flame::{FlameAnswer, RankPaths, SMALL_KERNELS};
use crate::info::{InfoAnswer, RankInfo};
use crate::launches::LaunchesAnswer;
use crate::layers::{LayersAnswer, RankLayers};
use crate::memory::MemoryAnswer;
use crate::ops::OpsAnswer;
use crate::queue::QueueAnswer;
use crate::timeline::{RankPicture, TimelineAnswer};
use crate::{Analyze, Bandwidth, Flame, Info, Launches, Layers, Memory, Ops, Question, Queue, Timeline};

pub use median_step::{MedianStep, StepPart, What};
pub use numbers::{KeyNumber, Worst};

/// Operators of each rank that a report lists.
const LISTED_OPERATORS: usize = 100;

#[derive(Clone, Copy, Debug)]
pub struct Dossier {
    /// Slices of the timeline, of each rank.
    pub most_slices: usize,
    /// Boxes of the flame graph that take less than this share of GPU time become part of those above.
    pub least_share: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct DossierAnswer {
    #[serde(flatten)]
    pub analyze: AnalyzeAnswer,
    pub numbers: Vec<KeyNumber>,
    pub median_step: Option<MedianStep>,
    pub info: InfoAnswer,
    pub ops: OpsAnswer,
    pub layers: LayersAnswer,
    pub launches: LaunchesAnswer,
    pub queue: QueueAnswer,
    pub bandwidth: BandwidthAnswer,
    /// With its course over time, which `analyze` does without.
    pub memory: MemoryAnswer,
    #[serde(skip)]
    pub flame: FlameAnswer,
    #[serde(skip)]
    pub timeline: TimelineAnswer,
}

/// What one rank contributes.
#[derive(Debug)]
pub struct Local {
    analyze: analyze::Local,
    per_step: per_step::RankSteps,
    step: Option<median_step::RankStep>,
    info: RankInfo,
    ops: OpsAnswer,
    layers: RankLayers,
    launches: crate::launches::RankLaunches,
    queue: Vec<crate::queue::StreamQueue>,
    bandwidth: BandwidthAnswer,
    memory: MemoryAnswer,
    flame: RankPaths,
    timeline: RankPicture,
}

// Charts need the course over time.
const BANDWIDTH: Bandwidth = Bandwidth { series: true };
const MEMORY: Memory = Memory { series: true };

impl Dossier {
    fn queue() -> Queue {
        Queue { series: true, ..Queue::default() }
    }

    fn ops() -> Ops {
        Ops { top: Some(LISTED_OPERATORS), ..Ops::default() }
    }

    fn flame(self) -> Flame {
        Flame { small: SMALL_KERNELS, least_share: self.least_share, ..Flame::default() }
    }

    fn timeline(self) -> Timeline {
        Timeline { most_slices: Some(self.most_slices) }
    }
}

impl Question for Dossier {
    type Local = Local;
    type Answer = DossierAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Local {
        let analyze = Analyze.local(rank, view);
        Local {
            per_step: per_step::of(view),
            step: median_step::local(rank, view, analyze.breakdown()),
            analyze,
            info: Info.local(rank, view),
            ops: Dossier::ops().local(rank, view),
            layers: Layers::default().local(rank, view),
            launches: Launches::default().local(rank, view),
            queue: Dossier::queue().local(rank, view),
            bandwidth: BANDWIDTH.local(rank, view),
            memory: MEMORY.local(rank, view),
            flame: self.flame().local(rank, view),
            timeline: self.timeline().local(rank, view),
        }
    }

    fn merge(&self, locals: Vec<Local>) -> DossierAnswer {
        let mut apart = Apart::default();
        for local in locals {
            apart.take(local);
        }
        let mut answer = DossierAnswer {
            analyze: Analyze.merge(apart.analyze),
            info: Info.merge(apart.info),
            ops: Dossier::ops().merge(apart.ops),
            layers: Layers::default().merge(apart.layers),
            launches: Launches::default().merge(apart.launches),
            queue: Dossier::queue().merge(apart.queue),
            bandwidth: BANDWIDTH.merge(apart.bandwidth),
            memory: MEMORY.merge(apart.memory),
            flame: self.flame().merge(apart.flame).answer(),
            timeline: self.timeline().merge(apart.timeline),
            ..DossierAnswer::default()
        };
        answer.median_step = median_step::merge(apart.step, &answer.analyze.collectives);
        answer.numbers = numbers::of(&answer, &apart.per_step);
        answer
    }

    fn quality(&self, answer: &DossierAnswer) -> Vec<Quality> {
        Analyze.quality(&answer.analyze)
    }
}

impl Tabular for DossierAnswer {
    fn tables(&self) -> Vec<Table> {
        self.analyze.tables()
    }
}

/// The parts of all ranks, question by question.
#[derive(Default)]
struct Apart {
    analyze: Vec<analyze::Local>,
    per_step: Vec<per_step::RankSteps>,
    step: Vec<median_step::RankStep>,
    info: Vec<RankInfo>,
    ops: Vec<OpsAnswer>,
    layers: Vec<RankLayers>,
    launches: Vec<crate::launches::RankLaunches>,
    queue: Vec<Vec<crate::queue::StreamQueue>>,
    bandwidth: Vec<BandwidthAnswer>,
    memory: Vec<MemoryAnswer>,
    flame: Vec<RankPaths>,
    timeline: Vec<RankPicture>,
}

impl Apart {
    fn take(&mut self, local: Local) {
        self.analyze.push(local.analyze);
        self.per_step.push(local.per_step);
        self.step.extend(local.step);
        self.info.push(local.info);
        self.ops.push(local.ops);
        self.layers.push(local.layers);
        self.launches.push(local.launches);
        self.queue.push(local.queue);
        self.bandwidth.push(local.bandwidth);
        self.memory.push(local.memory);
        self.flame.push(local.flame);
        self.timeline.push(local.timeline);
    }
}
