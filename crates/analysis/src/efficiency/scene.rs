//! What all detectors look at: the GPU's events by stream with what each does, and, once one asks, the operators that
//! launched them and the work of these.

use std::cell::OnceCell;

use gpuscope_trace::{Bitmap, Group, Kind, Ns, Row, StrId, TrackId, View};
use gpuscope_work::{Models, Work};
use rustc_hash::FxHashMap;

use super::sorts::Sort;
use crate::ops::{Calls, Kinds, Limits, Works};

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub row: Row,
    pub dur: Ns,
    pub kind: Kind,
    /// Of kernels that compute; others are [`Sort::Other`].
    pub sort: Sort,
}

pub(super) struct Scene<'v> {
    pub view: View<'v>,
    /// Each in order of start.
    pub streams: Vec<Vec<Event>>,
    pub events: usize,
    /// The summed time of all events.
    pub busy: Ns,
    operators: OnceCell<Operators>,
    limits: OnceCell<Limits>,
}

/// Stands for "no call".
const NONE: u32 = u32::MAX;

struct Operators {
    calls: Calls,
    kinds: Kinds,
    works: Works,
    /// Per row of a GPU event the call that it is straight under.
    of: Vec<u32>,
}

impl<'v> Scene<'v> {
    pub(super) fn of(view: View<'v>) -> Scene<'v> {
        let mut sorts: PerName<'_, Sort> = PerName::new(view, Sort::of);
        let mut streams: Vec<Vec<Event>> = Vec::new();
        let mut places: FxHashMap<TrackId, usize> = FxHashMap::default();
        let mut scene = (0, Ns::ZERO);
        for event in view.gpu() {
            let place = *places.entry(view.trace.track_id(event.row)).or_insert_with(|| {
                streams.push(Vec::new());
                streams.len() - 1
            });
            let sort = match event.kind {
                Kind::Computation => sorts.of(view.trace.name_id(event.row)),
                Kind::Communication | Kind::Memcpy | Kind::Memset => Sort::Other,
            };
            streams[place].push(Event { row: event.row, dur: event.dur(), kind: event.kind, sort });
            scene = (scene.0 + 1, scene.1 + event.dur());
        }
        let (events, busy) = scene;
        Scene { view, streams, events, busy, operators: OnceCell::new(), limits: OnceCell::new() }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.streams.iter().flatten()
    }

    fn operators(&self) -> &Operators {
        self.operators.get_or_init(|| {
            let view = self.view;
            let calls = Calls::of(view);
            let kinds = Kinds::of(view, &calls);
            let works = Works::of(view, &calls, &kinds, Models::built_in());
            let mut of = vec![NONE; view.trace.len()];
            for call in 0..calls.len() {
                for event in calls.direct(call) {
                    of[event.row as usize] = call as u32;
                }
            }
            Operators { calls, kinds, works, of }
        })
    }

    fn call(&self, row: Row) -> Option<usize> {
        Some(self.operators().of[row as usize]).filter(|call| *call != NONE).map(|call| call as usize)
    }

    /// The name of the innermost operator around the launch of a GPU event.
    pub(super) fn operator(&self, row: Row) -> Option<StrId> {
        Some(self.view.trace.name_id(self.operators().calls.row(self.call(row)?)))
    }

    /// The work of that operator's call, where its arguments tell.
    pub(super) fn work(&self, row: Row) -> Option<&Work> {
        let operators = self.operators();
        operators.works.of[operators.kinds.of[self.call(row)?] as usize].as_ref()
    }

    /// Alike for calls of one operator with the same arguments.
    pub(super) fn kind(&self, row: Row) -> Option<u32> {
        Some(self.operators().kinds.of[self.call(row)?])
    }

    /// Which call of an operator launched it, to tell calls apart.
    pub(super) fn call_number(&self, row: Row) -> Option<usize> {
        self.call(row)
    }

    /// Whether the trace tells the sizes of arguments and the GPU is one whose peaks are known: without looking at any
    /// operator.
    pub(super) fn has_sizes(&self) -> bool {
        !self.view.trace.args.table(Group::Inputs).is_empty() && self.limits().memory_gb_per_s().is_some()
    }

    pub(super) fn limits(&self) -> &Limits {
        self.limits.get_or_init(|| Limits::default().or_of(self.view))
    }

    /// The call of the host that launched this alone: what goes away with it.
    pub(super) fn own_launch(&self, row: Row) -> Option<Row> {
        let launches = self.view.index.launches(self.view.trace);
        launches.call(row).filter(|call| !launches.is_shared(*call))
    }

    /// The kernels that take most of the time, largest first.
    pub(super) fn largest(&self, rows: impl Iterator<Item = Row>) -> Vec<String> {
        let trace = self.view.trace;
        let mut sums: FxHashMap<StrId, Ns> = FxHashMap::default();
        for row in rows {
            *sums.entry(trace.name_id(row)).or_default() += trace.dur(row).unwrap_or(Ns::ZERO);
        }
        let mut sums: Vec<(Ns, &str)> =
            sums.into_iter().map(|(name, sum)| (sum, trace.strings.get(name))).collect();
        sums.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        sums.into_iter().take(NAMED).map(|(_, name)| name.to_owned()).collect()
    }
}

/// How many kernels are named.
const NAMED: usize = 4;

/// Something that depends on a name alone, found out once for each.
pub(super) struct PerName<'v, T> {
    view: View<'v>,
    find: fn(&str) -> T,
    known: FxHashMap<StrId, T>,
}

impl<'v, T: Copy> PerName<'v, T> {
    pub(super) fn new(view: View<'v>, find: fn(&str) -> T) -> Self {
        PerName { view, find, known: FxHashMap::default() }
    }

    pub(super) fn of(&mut self, name: StrId) -> T {
        *self.known.entry(name).or_insert_with(|| (self.find)(self.view.trace.strings.get(name)))
    }
}

/// Takes events that no detector before has.
pub(super) fn take(taken: &mut Bitmap, rows: impl Iterator<Item = Row>) {
    for row in rows {
        taken.insert(row);
    }
}
