//! The calls of modules, which call is inside which, and what GPU work each has in each pass.

use gpuscope_trace::{Arg, Class, GpuEvent, Kind, Ns, Row, StrId, View};

use super::Pass;
use crate::phases::{self, Phase};
use crate::shared::owner::{Among, Owners};

/// Stands for "no call".
pub(crate) const NONE: u32 = u32::MAX;
/// How far up a recomputed call looks for the call that it repeats.
const MOST_DEPTH: usize = 64;

/// GPU work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) count: u64,
    /// All but communication.
    pub(crate) compute: Ns,
    pub(crate) comm: Ns,
    /// Of the compute, that of operators with known work.
    pub(crate) known: Ns,
    /// Operations, where they are asked for.
    pub(crate) flops: u128,
}

impl Load {
    pub(crate) fn add(&mut self, other: Load) {
        self.count += other.count;
        self.compute += other.compute;
        self.comm += other.comm;
        self.known += other.known;
        self.flops = self.flops.saturating_add(other.flops);
    }

    pub(crate) fn of(event: &GpuEvent) -> Load {
        match event.kind {
            Kind::Communication => Load { count: 1, comm: event.dur(), ..Load::default() },
            _ => Load { count: 1, compute: event.dur(), ..Load::default() },
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ModuleCall {
    pub(crate) name: StrId,
    /// Its place among the calls, which is before this one's.
    pub(crate) parent: u32,
    pub(crate) own: [Load; Pass::ALL.len()],
    pub(crate) subtree: [Load; Pass::ALL.len()],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// Outer ones first.
    pub(crate) by_start: Vec<ModuleCall>,
    /// GPU work of no module.
    pub(crate) outside: Load,
    /// GPU work of replayed graphs, which belongs to whatever replays them.
    pub(crate) replayed: Ns,
    pub(crate) all: Load,
    /// The call and the pass of every selected GPU event, where it has one; only if asked for.
    pub(crate) owners: Vec<Option<(u32, Pass)>>,
    keeps_owners: bool,
}

impl Calls {
    /// As [`Calls::of`], and whose each GPU event is.
    pub(crate) fn with_owners(view: View<'_>, load: impl Fn(&GpuEvent) -> Load) -> Calls {
        Calls { keeps_owners: true, ..Calls::default() }.taken(view, load)
    }

    pub(crate) fn label(&self, view: View<'_>, call: u32) -> String {
        label(view, self.by_start[call as usize].name)
    }

    /// `load` says what a GPU event counts for.
    pub(crate) fn of(view: View<'_>, load: impl Fn(&GpuEvent) -> Load) -> Calls {
        Calls::default().taken(view, load)
    }

    fn taken(mut self, view: View<'_>, load: impl Fn(&GpuEvent) -> Load) -> Calls {
        let trace = view.trace;
        let named = Modules::new(view);
        let mut rows: Vec<Row> = trace.rows().filter(|row| named.module(*row).is_some()).collect();
        rows.sort_by_key(|row| (trace.start(*row), std::cmp::Reverse(trace.dur(*row)), *row));
        let mut place = vec![NONE; if rows.is_empty() { 0 } else { trace.len() }];
        for (i, row) in rows.iter().enumerate() {
            place[*row as usize] = i as u32;
        }
        let mut around = Around::new(view, &named);
        for (i, row) in rows.iter().enumerate() {
            let parent = around.parent(*row).map_or(NONE, |parent| place[parent as usize]);
            let name = named.module(*row).unwrap_or_default();
            let parent = self.adopt(view, &mut around, &place, *row, name, parent);
            let parent = if (parent as usize) < i { parent } else { NONE };
            self.by_start.push(ModuleCall {
                name,
                parent,
                own: Default::default(),
                subtree: Default::default(),
            });
        }
        self.take_work(view, &mut around, &place, load);
        self.sum_up();
        self
    }

    /// A call inside the backward pass repeats one of the forward pass and belongs where that belongs.
    fn adopt(
        &self,
        view: View<'_>,
        around: &mut Around<'_>,
        place: &[u32],
        row: Row,
        name: StrId,
        parent: u32,
    ) -> u32 {
        if parent != NONE {
            return parent;
        }
        let forward = around.undone(view, row).and_then(|forward| around.module(forward));
        let Some(forward) = forward else { return NONE };
        let innermost = place[forward as usize];
        let mut here = innermost;
        for _ in 0..MOST_DEPTH {
            let Some(call) = self.by_start.get(here as usize) else { break };
            if call.name == name {
                return call.parent;
            }
            here = call.parent;
        }
        innermost
    }

    fn take_work(
        &mut self,
        view: View<'_>,
        around: &mut Around<'_>,
        place: &[u32],
        load: impl Fn(&GpuEvent) -> Load,
    ) {
        let events = view.index.gpu(view.trace).iter().zip(phases::of(view));
        let launches = view.index.launches(view.trace);
        for (event, phase) in events.filter(|(event, _)| view.selection.has(event.row)) {
            let load = load(event);
            self.all.add(load);
            let call = view.launch(event.row);
            if call.is_some_and(|call| launches.is_shared(call)) {
                self.replayed += event.dur();
            }
            let (pass, module) = match (phase, call) {
                (Phase::Forward, Some(call)) => (Pass::Forward, around.module(call)),
                (Phase::Recompute, Some(call)) => (Pass::Recompute, around.module(call)),
                (Phase::Backward, Some(call)) => {
                    let undone = around.undone(view, call);
                    (Pass::Backward, undone.and_then(|forward| around.module(forward)))
                }
                _ => (Pass::Forward, None),
            };
            let owner = module.map(|row| place[row as usize]).filter(|call| *call != NONE);
            match owner {
                Some(call) => self.by_start[call as usize].own[pass as usize].add(load),
                None => self.outside.add(load),
            }
            if self.keeps_owners {
                self.owners.push(owner.map(|call| (call, pass)));
            }
        }
    }

    fn sum_up(&mut self) {
        for i in (0..self.by_start.len()).rev() {
            let call = &mut self.by_start[i];
            add_all(&mut call.subtree, &call.own);
            let (parent, subtree) = (call.parent, call.subtree);
            if let Some(parent) = self.by_start.get_mut(parent as usize) {
                add_all(&mut parent.subtree, &subtree);
            }
        }
    }
}

pub(crate) fn add_all(sums: &mut [Load], loads: &[Load]) {
    for (sum, load) in sums.iter_mut().zip(loads) {
        sum.add(*load);
    }
}

/// Which rows are calls of modules: Python's frames, else operators that tell their module.
struct Modules<'v> {
    view: View<'v>,
    by_frames: bool,
}

const FRAME: &str = "nn.Module: ";

/// A module as people call it.
pub(super) fn label(view: View<'_>, name: StrId) -> String {
    let text = view.trace.strings.get(name);
    text.strip_prefix(FRAME).unwrap_or(text).to_owned()
}

impl<'v> Modules<'v> {
    fn new(view: View<'v>) -> Modules<'v> {
        let trace = view.trace;
        // Names are few, frames are many.
        let by_frames = trace.strings.iter().any(|(_, name)| name.starts_with(FRAME));
        Modules { view, by_frames }
    }

    fn module(&self, row: Row) -> Option<StrId> {
        let trace = self.view.trace;
        trace.dur(row)?;
        match trace.class(row) {
            Class::PythonFrame if self.by_frames => {
                Some(trace.name_id(row)).filter(|_| trace.name(row).starts_with(FRAME))
            }
            Class::Operator if !self.by_frames => {
                trace.args.text(row, Arg::ModuleHierarchy).filter(|text| *text != StrId::EMPTY)
            }
            _ => None,
        }
    }
}

type Test<'v> = Box<dyn FnMut(Row) -> bool + 'v>;

/// Looks outwards from a row.
struct Around<'v> {
    view: View<'v>,
    modules: Owners<'v, Test<'v>>,
    linked: Owners<'v, Test<'v>>,
}

impl<'v> Around<'v> {
    fn new(view: View<'v>, named: &Modules<'v>) -> Around<'v> {
        let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
        let autograd = view.index.autograd(trace);
        let named = Modules { view, by_frames: named.by_frames };
        let is_module: Test<'v> = Box::new(move |row| named.module(row).is_some());
        let is_linked: Test<'v> = Box::new(move |row| autograd.forward(row).is_some());
        let owners = |test| Owners::new(nesting, trace.len(), Among::Innermost, test);
        Around { view, modules: owners(is_module), linked: owners(is_linked) }
    }

    fn module(&mut self, row: Row) -> Option<Row> {
        self.modules.of(row)
    }

    fn parent(&mut self, row: Row) -> Option<Row> {
        self.modules.of(self.view.index.nesting(self.view.trace).parent(row)?)
    }

    /// The forward operator that what runs here undoes.
    fn undone(&mut self, view: View<'_>, row: Row) -> Option<Row> {
        view.index.autograd(view.trace).forward(self.linked.of(row)?)
    }
}
