//! What findings are about, as marks on the graph: causes of host time, and sorts of GPU work.

use std::cell::RefCell;

use gpuscope_trace::{Arg, Bitmap, Class, Kind, Ns, Row, StepOrigin, StrId, View};
use gpuscope_work::gpus::Link;
use rustc_hash::{FxHashMap, FxHashSet};

use super::decode::RankDecode;
use super::experts::RankExperts;
use super::lead;
use crate::breakdown::FirstSteps;
use crate::idle::{Cause, Causes};
use crate::model::efficiency::{self, Opportunity};
use crate::model::graph::{Hold, Marks, Node, NodeId, What, for_each_bit};
use crate::model::job::{JobModel, RankModel, model_window};
use crate::model::start_up::StartUp;
use crate::ops::Limits;
use crate::phases::recomputed;

pub(super) const SYNCHRONISATION: u32 = 1;
pub(super) const ITEM: u32 = 1 << 1;
pub(super) const BLOCKING_COPY: u32 = 1 << 2;
pub(super) const ALLOCATOR: u32 = 1 << 3;
pub(super) const GARBAGE: u32 = 1 << 4;
pub(super) const COMPILATION: u32 = 1 << 5;
pub(super) const DATA_LOADING: u32 = 1 << 6;
pub(super) const PYTHON: u32 = 1 << 7;
pub(super) const OPERATOR: u32 = 1 << 8;
pub(super) const UNPINNED: u32 = 1 << 9;
pub(super) const LOW_OCCUPANCY: u32 = 1 << 10;
pub(super) const RECOMPUTED: u32 = 1 << 11;
pub(super) const SMALL: u32 = 1 << 12;
/// A longer kernel is worth its launch, whenever it is over.
const SMALL_KERNEL: Ns = Ns(20_000);
/// A host that takes longer from one launch to the next does something else, which fusing kernels does not save.
const NEXT_LAUNCH: Ns = Ns(200_000);
/// Smaller copies take their time for reasons other than where the memory is.
const WORTH_PINNING: i64 = 64 * 1024;
/// Kernels so short matter to nobody however they fill the device.
const WORTH_FILLING: Ns = Ns(20_000);
const FEW_BLOCKS_PER_SM: f32 = 1.0;

/// A kernel that leaves most of the device empty could at best be this much shorter.
const LEAST_FILL: f64 = 0.25;

/// What one rank has of each sort.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankMarks {
    pub rank: u32,
    /// By mark.
    pub gpu: Vec<Marked>,
    /// Calls that waited, by mark.
    pub waits: Vec<Marked>,
    /// By mark: all time of work on the GPU and the host, and of calls that waited.
    pub at_stake: [Ns; 32],
    /// What communicates in each group, by the number that its work has in the rank's graph.
    pub groups: Vec<Marked>,
    /// Weighted by time: how much of the device kernels of low occupancy fill.
    pub fill: f64,
    /// What the launching thread did before the GPU's first work, by name with all inside: the most telling first.
    pub lead: Vec<(String, Ns)>,
    /// What it did for the first time.
    pub start_up: StartUp,
    /// What its GPU work could take less.
    pub opportunities: Vec<RankOpportunity>,
    /// How its GPU is linked to the others of its machine.
    pub link: Option<&'static Link>,
    /// Nobody recorded where its steps begin.
    pub guessed_steps: bool,
    /// Its decode steps that wait for the host.
    pub decode: RankDecode,
    /// What its experts are sent.
    pub experts: RankExperts,
}

/// An opportunity on the rank's graph.
#[derive(Clone, Debug)]
pub(crate) struct RankOpportunity {
    pub found: Opportunity,
    /// Nodes of GPU work, and of launches that would go away, with the share of their time that is left.
    pub left: Vec<(NodeId, f32)>,
    pub time: Ns,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Marked {
    pub count: u64,
    pub time: Ns,
    /// The name that takes most of it, and where its longest event is.
    pub name: String,
    pub longest: Option<(Ns, Ns)>,
}

impl Marked {
    /// How many there are and how long they take, as a finding claims it.
    pub(super) fn claim(&self, what: &'static str) -> [(&'static str, i64); 2] {
        [(what, self.count as i64), ("time_ns", self.time.0)]
    }
}

/// The rank's model with all marks on it.
pub(crate) fn model(rank: u32, view: View<'_>) -> Option<(RankModel, RankMarks)> {
    let marker = Marker::new(view);
    let gpu = |view: View<'_>, row: Row, kind: Kind| marker.gpu(view, row, kind);
    let group = |view: View<'_>, row: Row, kind: Kind| marker.group(view, row, kind);
    let host = |_: View<'_>, row: Row| marker.host(row);
    let mut model = RankModel::new(rank, view, &Marks { gpu: &gpu, group: &group, host: Some(&host) })?;
    let mut marks = RankMarks::of(rank, view, &model);
    let explained = model.first_steps.as_ref().map(FirstSteps::explained);
    let explained = explained.map(|steps| view.selection.within_steps(view.trace, view.index, steps));
    let steady = explained.as_ref().map_or(view, |selection| View { selection, ..view });
    marks.opportunities = opportunities(steady, &model);
    marks.decode = RankDecode::of(rank, steady, &model);
    marks.experts = RankExperts::of(rank, steady, &model);
    marks.start_up = marker.start_up;
    model.groups = marker.groups.take().into_labels();
    Some((model, marks))
}

fn opportunities(view: View<'_>, model: &RankModel) -> Vec<RankOpportunity> {
    let found = efficiency::opportunities(view);
    let Some(graph) = model.graph().filter(|_| !found.is_empty()) else { return Vec::new() };
    let mut node_of = vec![NodeId::MAX; view.trace.len()];
    for (id, node) in (0..).zip(&graph.nodes) {
        if matches!(node.what, What::Gpu(_) | What::Call) && node.hold != Hold::Whole {
            node_of[node.row as usize] = id;
        }
    }
    let node = |row: Row| Some(node_of[row as usize]).filter(|id| *id != NodeId::MAX);
    let on_graph = |mut found: Opportunity| {
        let events = std::mem::take(&mut found.events);
        let launches = std::mem::take(&mut found.removed_launches);
        let work = events.iter().filter_map(|(row, left)| Some((node(*row)?, *left)));
        let mut left: Vec<(NodeId, f32)> = work.collect();
        let time = left.iter().map(|(id, _)| &graph.nodes[*id as usize]).map(|node| node.end - node.start);
        let time = time.sum();
        left.extend(launches.iter().filter_map(|row| Some((node(*row)?, 0.0))));
        RankOpportunity { found, left, time }
    };
    found.into_iter().map(on_graph).collect()
}

struct Marker<'a> {
    causes: RefCell<Causes<'a>>,
    /// Calls that copy and did not return before that was done.
    copying: FxHashSet<Row>,
    start_up: StartUp,
    groups: RefCell<Groups>,
    /// Copies from or to pageable memory.
    pageable: FxHashSet<Row>,
    /// Calls that launch forward work during the backward pass.
    recomputing: Bitmap,
    /// Calls that come soon after another launch of their thread, each with when the thread next launches.
    in_a_row: FxHashMap<Row, Ns>,
}

/// Their names say so (`Memcpy HtoD (Pageable -> Device)`), or what is said of their two ends.
fn pageable(view: View<'_>) -> FxHashSet<Row> {
    let trace = view.trace;
    let says: FxHashSet<StrId> =
        trace.strings.iter().filter(|(_, text)| text.contains("Pageable")).map(|(id, _)| id).collect();
    if says.is_empty() {
        return FxHashSet::default();
    }
    let end = |row, arg| trace.args.text(row, arg).is_some_and(|text| says.contains(&text));
    let is_one = |row: &Row| {
        says.contains(&trace.name_id(*row)) || end(*row, Arg::Source) || end(*row, Arg::Destination)
    };
    view.gpu().filter(|event| event.kind == Kind::Memcpy).map(|event| event.row).filter(is_one).collect()
}

impl<'a> Marker<'a> {
    fn new(view: View<'a>) -> Marker<'a> {
        let trace = view.trace;
        let pageable = pageable(view);
        let copies = view.gpu().filter(|event| event.kind == Kind::Memcpy);
        // Pageable memory is staged: the call waits for that, and may return a little before the copy ends.
        let is_staged = |row: Row| pageable.contains(&row);
        let waits_for = |call: Row, copy: Row, end: Ns| {
            // What launches a kernel or a graph that copies, copies nothing itself.
            !trace.name(call).contains("Launch")
                && (is_staged(copy) || trace.span(call).is_some_and(|(_, returned)| end <= returned))
        };
        let waited = copies
            .filter_map(|event| view.launch(event.row).filter(|call| waits_for(*call, event.row, event.end)));
        let copying = waited.collect();
        let mut calls: Vec<Row> = view.gpu().filter_map(|event| view.launch(event.row)).collect();
        calls.sort_unstable();
        calls.dedup();
        Marker {
            causes: RefCell::new(Causes::new(view)),
            copying,
            start_up: model_window(view).map(|span| StartUp::of(view, span)).unwrap_or_default(),
            groups: RefCell::default(),
            pageable,
            recomputing: recomputed(view, calls.iter().copied()),
            in_a_row: in_a_row(view, calls),
        }
    }

    fn host(&self, row: Row) -> u32 {
        // What happens once is no habit of the program.
        if self.start_up.rows.contains(&row) {
            return 0;
        }
        let (cause, _) = self.causes.borrow_mut().of(row);
        match cause {
            Cause::Synchronisation => SYNCHRONISATION,
            Cause::Item => ITEM,
            Cause::BlockingCopy => BLOCKING_COPY,
            Cause::Allocator => ALLOCATOR,
            Cause::GarbageCollection => GARBAGE,
            Cause::Compilation => COMPILATION,
            Cause::DataLoading => DATA_LOADING,
            Cause::Python => PYTHON,
            Cause::Operator => OPERATOR,
            // Also the asynchronous ones, where they did wait for their copy.
            Cause::RuntimeCall if self.copying.contains(&row) => BLOCKING_COPY,
            Cause::Optimizer | Cause::RuntimeCall | Cause::Annotation | Cause::NothingRecorded => 0,
        }
    }

    fn gpu(&self, view: View<'_>, row: Row, kind: Kind) -> u32 {
        match kind {
            Kind::Communication => 0,
            Kind::Memcpy => self.copy(view, row),
            Kind::Memset | Kind::Computation => self.kernel(view, row),
        }
    }

    fn copy(&self, view: View<'_>, row: Row) -> u32 {
        let blocks = |call: Row| view.trace.name(call).ends_with("Memcpy");
        if view.launch(row).is_some_and(blocks) {
            BLOCKING_COPY
        } else if self.pageable.contains(&row)
            && view.trace.args.int(row, Arg::Bytes).is_some_and(|bytes| bytes >= WORTH_PINNING)
        {
            UNPINNED
        } else {
            0
        }
    }

    fn group(&self, view: View<'_>, row: Row, kind: Kind) -> u16 {
        if kind != Kind::Communication {
            return 0;
        }
        let said = [Arg::GroupDescription, Arg::GroupName].map(|arg| view.trace.args.text(row, arg));
        self.groups.borrow_mut().number(said, || group_label(view, row).to_owned())
    }

    fn kernel(&self, view: View<'_>, row: Row) -> u32 {
        let call = view.launch(row);
        let dur = view.trace.dur(row).unwrap_or_default();
        let mut marks = 0;
        let next = call.and_then(|call| self.in_a_row.get(&call));
        let over = view.trace.span(row).map(|(_, end)| end);
        if dur < SMALL_KERNEL && next.zip(over).is_some_and(|(next, over)| over <= *next) {
            marks |= SMALL;
        }
        if dur >= WORTH_FILLING
            && view.trace.args.float(row, Arg::BlocksPerSm).is_some_and(|blocks| blocks < FEW_BLOCKS_PER_SM)
        {
            marks |= LOW_OCCUPANCY;
        }
        if call.is_some_and(|call| self.recomputing.has(call)) {
            marks |= RECOMPUTED;
        }
        marks
    }
}

/// Groups of ranks by what their work says of them, numbered from 1 on.
#[derive(Default)]
struct Groups {
    known: FxHashMap<[Option<StrId>; 2], u16>,
    labels: Vec<String>,
}

impl Groups {
    fn number(&mut self, said: [Option<StrId>; 2], label: impl FnOnce() -> String) -> u16 {
        let labels = &mut self.labels;
        *self.known.entry(said).or_insert_with(|| {
            let label = label();
            let known = labels.iter().position(|known| *known == label);
            let place = known.unwrap_or_else(|| {
                labels.push(label);
                labels.len() - 1
            });
            u16::try_from(place + 1).unwrap_or(u16::MAX)
        })
    }

    /// What each number stands for; the first for none.
    fn into_labels(self) -> Vec<String> {
        std::iter::once(String::new()).chain(self.labels).collect()
    }
}

/// What a group is for, else what it is called, else nothing.
fn group_label(view: View<'_>, row: Row) -> &str {
    let said = |arg| {
        let text = view.trace.strings.get(view.trace.args.text(row, arg)?);
        Some(text).filter(|text| !text.is_empty() && *text != "undefined")
    };
    said(Arg::GroupDescription).or_else(|| said(Arg::GroupName)).unwrap_or("")
}

fn in_a_row(view: View<'_>, mut calls: Vec<Row>) -> FxHashMap<Row, Ns> {
    let thread = |row: Row| view.trace.track(row).thread;
    calls.sort_by_key(|row| (thread(*row), view.trace.start(*row)));
    let soon_after = |before: Row, call: Row| {
        let end = view.trace.span(before).map(|(_, end)| end);
        let apart = view.trace.start(call).zip(end).map(|(start, end)| start - end);
        thread(before) == thread(call) && apart.is_some_and(|apart| apart <= NEXT_LAUNCH)
    };
    let triples = calls
        .array_windows()
        .filter(|[before, call, next]| soon_after(*before, *call) && thread(*call) == thread(*next));
    triples.filter_map(|[_, call, next]| Some((*call, view.trace.start(*next)?))).collect()
}

/// A call that took less may just as well not have waited.
const WAITED: Ns = Ns(10_000);

/// What a call is there for: the user's own code if stacks were recorded, else the outermost operator, else itself.
fn asked_for_by(view: View<'_>, call: Row) -> StrId {
    let trace = view.trace;
    let is_own = |row: &Row| {
        let name = trace.name(*row);
        trace.class(*row) == Class::PythonFrame && name.contains(".py(") && !name.starts_with("torch/")
    };
    let around = || view.index.nesting(trace).ancestors(call);
    let own = around().find(is_own);
    let operator = || around().filter(|row| trace.class(*row) == Class::Operator).last();
    trace.name_id(own.or_else(operator).unwrap_or(call))
}

/// All marks that some work or wait of the job has.
pub(crate) fn seen(model: &JobModel) -> u32 {
    let of_nodes = model.coupled.graphs.iter().flat_map(|graph| &graph.nodes).map(|node| node.marks);
    let of_work = model.coupled.graphs.iter().flat_map(|graph| &graph.host_parts).map(|part| 1 << part.mark);
    of_nodes.chain(of_work).fold(0, |all, marks| all | marks)
}

/// Sums on the way through a rank's nodes.
#[derive(Default)]
struct Tally {
    marked: Vec<Marked>,
    names: FxHashMap<(usize, StrId), Ns>,
}

impl Tally {
    fn add(&mut self, place: usize, name: StrId, time: (Ns, Ns)) {
        if self.marked.len() <= place {
            self.marked.resize(place + 1, Marked::default());
        }
        let (marked, dur) = (&mut self.marked[place], time.1 - time.0);
        (marked.count, marked.time) = (marked.count + 1, marked.time + dur);
        if marked.longest.is_none_or(|(start, end)| dur > end - start) {
            marked.longest = Some(time);
        }
        *self.names.entry((place, name)).or_default() += dur;
    }

    fn named(mut self, view: View<'_>) -> Vec<Marked> {
        let mut most: FxHashMap<usize, (Ns, StrId)> = FxHashMap::default();
        for ((place, name), time) in self.names {
            let largest = most.entry(place).or_insert((time, name));
            *largest = (*largest).max((time, name));
        }
        for (place, (_, name)) in most {
            view.trace.strings.get(name).clone_into(&mut self.marked[place].name);
        }
        self.marked
    }
}

impl RankMarks {
    fn of(rank: u32, view: View<'_>, model: &RankModel) -> RankMarks {
        let (mut gpu, mut waits, mut groups) = (Tally::default(), Tally::default(), Tally::default());
        let (mut filled, mut weight) = (0.0, 0.0);
        let nodes = model.graph().map_or(&[][..], |graph| &graph.nodes);
        let mut at_stake = [Ns::ZERO; 32];
        for part in model.graph().iter().flat_map(|graph| &graph.host_parts) {
            at_stake[usize::from(part.mark)] += part.time;
        }
        for call in nodes.iter().filter(|node| node.host_marks != 0) {
            for_each_bit(call.host_marks, |mark| at_stake[usize::from(mark)] += call.end - call.start);
        }
        let counts = |node: &Node| node.hold != Hold::Whole && (node.marks != 0 || node.group != 0);
        for node in nodes.iter().filter(|node| counts(node)) {
            let name = view.trace.name_id(node.row);
            let marks = (0..32).filter(|mark| node.marks >> mark & 1 == 1);
            let since = view.trace.start(node.row).unwrap_or(node.start).min(node.start);
            marks.clone().for_each(|mark| at_stake[mark] += node.end - since);
            match node.what {
                What::Gpu(_) => {
                    marks.for_each(|mark| gpu.add(mark, name, (node.start, node.end)));
                    if node.group != 0 {
                        groups.add(usize::from(node.group), name, (node.start, node.end));
                    }
                    if node.marks & LOW_OCCUPANCY != 0 {
                        let blocks = view.trace.args.float(node.row, Arg::BlocksPerSm).map_or(1.0, f64::from);
                        let dur = (node.end - node.start).as_f64();
                        filled += blocks.clamp(LEAST_FILL, 1.0) * dur;
                        weight += dur;
                    }
                }
                What::Return => {
                    let called = view.trace.start(node.row).unwrap_or(node.start);
                    if node.end - called >= WAITED {
                        let name = asked_for_by(view, node.row);
                        marks.for_each(|mark| waits.add(mark, name, (called, node.end)));
                    }
                }
                What::Call | What::Moment => {}
            }
        }
        RankMarks {
            rank,
            gpu: gpu.named(view),
            waits: waits.named(view),
            at_stake,
            groups: groups.named(view),
            fill: if weight > 0.0 { filled / weight } else { 1.0 },
            opportunities: Vec::new(),
            link: Limits::default().or_of(view).link(),
            guessed_steps: view.steps().origin == StepOrigin::Inferred,
            decode: RankDecode::default(),
            experts: RankExperts::default(),
            start_up: StartUp::default(),
            lead: lead::of(view, nodes, model.graph().map(|graph| graph.span.start)),
        }
    }

    /// GPU work of a mark.
    pub(super) fn marked(&self, mark: u32) -> Marked {
        self.gpu.get(mark.trailing_zeros() as usize).cloned().unwrap_or_default()
    }

    /// Calls of a mark that waited for the GPU.
    pub(super) fn waited(&self, mark: u32) -> Marked {
        self.waits.get(mark.trailing_zeros() as usize).cloned().unwrap_or_default()
    }
}
