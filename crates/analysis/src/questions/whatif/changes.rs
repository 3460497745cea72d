//! What a user wants to be different, as marks on a graph and a scenario.

use gpuscope_trace::{Arg, Kind, Row, StrId, View};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

use super::{Matched, NamePattern};
use crate::model::graph::{Marks, Scenario, What};
use crate::model::job::{JobModel, RankModel};

#[derive(Clone, Debug)]
pub struct Scale {
    /// GPU events, or host events with all inside them.
    pub names: NamePattern,
    pub factor: f64,
    pub of: ScaleOf,
}

impl Scale {
    pub fn new(names: NamePattern, factor: f64) -> Scale {
        Scale { names, factor, of: ScaleOf::Everything }
    }
}

/// What a pattern may match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleOf {
    #[default]
    Everything,
    Gpu,
    Host,
}

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub scales: Vec<Scale>,
    pub no_launch_overhead: bool,
    pub no_sync: bool,
    /// This rank takes what the median rank takes, kernel by kernel and on the host.
    pub rank_as_median: Option<u32>,
    /// Nothing waits for communication of groups with such a name or description.
    pub perfect_overlap: Option<NamePattern>,
}

/// As many patterns as a node has bits for, one of them kept for the hidden group.
const MOST_SCALES: usize = 31;
const HIDDEN: u32 = 1 << MOST_SCALES;

impl Changes {
    pub(super) fn model(&self, rank: u32, view: View<'_>) -> Option<RankModel> {
        let by_name = ByName { changes: self, known: RefCell::default() };
        let gpu = |view: View<'_>, row: Row, kind: Kind| {
            by_name.of(view, view.trace.name_id(row)) & self.bits_of(ScaleOf::Gpu)
                | self.hidden(view, row, kind)
        };
        let host = |view: View<'_>, row: Row| by_name.around(view, row) & self.bits_of(ScaleOf::Host);
        let marks =
            Marks { gpu: &gpu, group: &|_, _, _| 0, host: (!self.scales.is_empty()).then_some(&host) };
        RankModel::new(rank, view, &marks)
    }

    /// The patterns that may match the GPU's work, or the host's.
    fn bits_of(&self, of: ScaleOf) -> u32 {
        let may = |scale: &Scale| scale.of == ScaleOf::Everything || scale.of == of;
        let scales = self.scales.iter().take(MOST_SCALES).enumerate();
        scales.filter(|(_, scale)| may(scale)).fold(0, |bits, (i, _)| bits | 1 << i)
    }

    fn hidden(&self, view: View<'_>, row: Row, kind: Kind) -> u32 {
        let Some(group) = &self.perfect_overlap else { return 0 };
        let named = |arg| view.trace.args.text(row, arg).map(|text| view.trace.strings.get(text));
        let said = [Arg::GroupName, Arg::GroupDescription].into_iter().filter_map(named);
        let is_hidden = kind == Kind::Communication
            && said.chain([view.trace.name(row)]).any(|text| group.is_match(text));
        if is_hidden { HIDDEN } else { 0 }
    }

    pub(super) fn matched(&self, model: &RankModel) -> Vec<Matched> {
        let mut matched: Vec<Matched> = self
            .scales
            .iter()
            .map(|scale| Matched { pattern: scale.names.text.clone(), ..Matched::default() })
            .collect();
        matched.extend(
            self.perfect_overlap
                .as_ref()
                .map(|group| Matched { pattern: group.text.clone(), ..Matched::default() }),
        );
        let Some(graph) = model.graph() else { return matched };
        for node in graph.nodes.iter().filter(|node| matches!(node.what, What::Gpu(_))) {
            for (mark, matched) in matched.iter_mut().enumerate() {
                let bit = if mark < self.scales.len() { 1 << mark } else { HIDDEN };
                if node.marks & bit != 0 {
                    matched.gpu_events += 1;
                    matched.gpu_ns += node.end - node.start;
                }
            }
        }
        let calls = graph.nodes.iter().filter(|node| node.what == What::Call && node.host_marks != 0);
        for node in calls {
            for (mark, matched) in matched.iter_mut().enumerate().take(self.scales.len()) {
                if node.host_marks >> mark & 1 == 1 {
                    matched.host_ns += node.end - node.start;
                }
            }
        }
        for part in &graph.host_parts {
            matched[part.mark as usize].host_ns += part.time;
        }
        matched
    }

    pub(super) fn scenario(&self, model: &JobModel) -> Scenario {
        let mut scenario = Scenario {
            factors: self.scales.iter().map(|scale| scale.factor).collect(),
            no_launch_overhead: self.no_launch_overhead,
            no_sync: self.no_sync,
            hidden: if self.perfect_overlap.is_some() { HIDDEN } else { 0 },
            ..Scenario::default()
        };
        if let Some(rank) = self.rank_as_median
            && let Some(place) = model.ranks.iter().position(|model| model.rank == rank)
        {
            model.as_the_median_rank(place, &mut scenario);
        }
        scenario
    }
}

/// Marks by name; every name is matched once.
struct ByName<'a> {
    changes: &'a Changes,
    known: RefCell<FxHashMap<StrId, u32>>,
}

impl ByName<'_> {
    fn of(&self, view: View<'_>, name: StrId) -> u32 {
        *self.known.borrow_mut().entry(name).or_insert_with(|| {
            let text = view.trace.strings.get(name);
            let bit = |(i, scale): (usize, &super::Scale)| u32::from(scale.names.is_match(text)) << i;
            self.changes.scales.iter().take(MOST_SCALES).enumerate().map(bit).fold(0, |all, bit| all | bit)
        })
    }

    /// Of a host event and all around it.
    fn around(&self, view: View<'_>, row: Row) -> u32 {
        let ancestors = view.index.nesting(view.trace).ancestors(row);
        std::iter::once(row)
            .chain(ancestors)
            .fold(0, |marks, row| marks | self.of(view, view.trace.name_id(row)))
    }
}
