//! The GPU events of a trace, by start, with their kinds.

use rustc_hash::FxHashMap;

use crate::class::Class;
use crate::intervals::Interval;
use crate::kinds::{Kind, KindRules};
use crate::strings::StrId;
use crate::time::Ns;
use crate::trace::{Row, Trace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuEvent {
    pub row: Row,
    pub start: Ns,
    pub end: Ns,
    pub kind: Kind,
}

impl GpuEvent {
    pub fn interval(&self) -> Interval {
        Interval::new(self.start, self.end)
    }

    pub fn dur(&self) -> Ns {
        self.end - self.start
    }
}

#[derive(Clone, Debug, Default)]
pub struct GpuEvents(Vec<GpuEvent>);

impl GpuEvents {
    pub(super) fn new(trace: &Trace, rules: &KindRules) -> GpuEvents {
        // A trace has few distinct names; each is classified once.
        let mut kinds: FxHashMap<(StrId, Class), Option<Kind>> = FxHashMap::default();
        let expected: u64 = trace.tags.iter().filter(|tag| tag.class.is_gpu()).map(|tag| tag.elements).sum();
        let mut events: Vec<GpuEvent> = Vec::with_capacity(trace.len().min(expected as usize));
        for row in trace.rows() {
            let class = trace.class(row);
            if !class.is_gpu() {
                continue;
            }
            let Some((start, end)) = trace.span(row) else { continue };
            let name = trace.name_id(row);
            let kind =
                *kinds.entry((name, class)).or_insert_with(|| rules.kind(class, trace.strings.get(name)));
            events.extend(kind.map(|kind| GpuEvent { row, start, end, kind }));
        }
        // Stable, so events that start together stay in file order; nearly sorted input is nearly free.
        events.sort_by_key(|event| event.start);
        GpuEvents(events)
    }
}

impl std::ops::Deref for GpuEvents {
    type Target = [GpuEvent];
    fn deref(&self) -> &[GpuEvent] {
        &self.0
    }
}
