//! What all detectors look at: the GPU's events by stream with what each does, and, of those that one asks about, the
//! operators that launched them and the work of these.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use gpuscope_trace::{Bitmap, Class, Group, Kind, Ns, Row, StrId, TrackId, View};
use gpuscope_work::{Models, Products, Work};
use rustc_hash::FxHashMap;

use super::sorts::Sort;
use crate::ops::{KindOfCall, Limits};

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub row: Row,
    pub dur: Ns,
    pub kind: Kind,
    /// Of kernels that compute, and copies; anything else is [`Sort::Other`].
    pub sort: Sort,
}

pub(super) struct Scene<'v> {
    pub view: View<'v>,
    /// Each in order of start.
    pub streams: Vec<Vec<Event>>,
    pub events: usize,
    /// The summed time of all events.
    pub busy: Ns,
    works: RefCell<Works>,
    limits: OnceCell<Limits>,
}

/// The work of calls by operator and arguments, as far as it was asked for.
#[derive(Default)]
struct Works {
    /// By GPU event: several detectors ask for the same.
    of_event: FxHashMap<Row, u32>,
    numbers: FxHashMap<KindOfCall, u32>,
    of: Vec<Option<Rc<Work>>>,
}

impl<'v> Scene<'v> {
    pub(super) fn of(view: View<'v>) -> Scene<'v> {
        let mut sorts = PerName::new(view, Sort::of);
        let mut copies = PerName::new(view, Sort::of_copy);
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
                Kind::Memcpy => copies.of(view.trace.name_id(event.row)),
                Kind::Communication | Kind::Memset => Sort::Other,
            };
            streams[place].push(Event { row: event.row, dur: event.dur(), kind: event.kind, sort });
            scene = (scene.0 + 1, scene.1 + event.dur());
        }
        let (events, busy) = scene;
        Scene { view, streams, events, busy, works: RefCell::default(), limits: OnceCell::new() }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.streams.iter().flatten()
    }

    /// The innermost operator around the launch of a GPU event.
    pub(super) fn operator_row(&self, row: Row) -> Option<Row> {
        let trace = self.view.trace;
        let around = self.view.index.nesting(trace).ancestors(self.view.launch(row)?);
        around.into_iter().find(|row| trace.class(*row) == Class::Operator)
    }

    /// Its name.
    pub(super) fn operator(&self, row: Row) -> Option<StrId> {
        Some(self.view.trace.name_id(self.operator_row(row)?))
    }

    /// The work of that operator's call, where its arguments tell.
    pub(super) fn work(&self, event: Event) -> Option<Rc<Work>> {
        let number = self.kind(event)?;
        self.works.borrow().of[number as usize].clone()
    }

    /// A number that calls of one operator with the same arguments share.
    pub(super) fn kind(&self, event: Event) -> Option<u32> {
        let mut works = self.works.borrow_mut();
        let Works { of_event, numbers, of } = &mut *works;
        if let Some(number) = of_event.get(&event.row) {
            return Some(*number);
        }
        let kind = KindOfCall::of(self.view, self.operator_row(event.row)?);
        let number = *numbers.entry(kind).or_insert_with(|| {
            let mut work = kind.work(self.view, Models::built_in());
            if let (Some(work), Sort::Products(Products::Tf32)) = (&mut work, event.sort) {
                work.rounded_to_tf32();
            }
            of.push(work.map(Rc::new));
            of.len() as u32 - 1
        });
        of_event.insert(event.row, number);
        Some(number)
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
