//! What findings are about, as marks on the graph: causes of host time, and sorts of GPU work.

use std::cell::RefCell;

use gpuscope_trace::{Arg, Bitmap, Class, Kind, Ns, Row, StrId, View};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Marks, What};
use crate::idle::{Cause, Causes};
use crate::model::{JobModel, RankModel};
use crate::owner::{Among, Owners};
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
/// From here on one mark for each group of ranks; groups share one if there are many.
const FIRST_GROUP: u32 = 16;
const GROUPS: u32 = 16;

/// Shorter kernels are over before the host has launched the next.
const SMALL_KERNEL: Ns = Ns(6_000);
/// A host that takes longer from one launch to the next does something else, which fusing kernels does not save.
const NEXT_LAUNCH: Ns = Ns(200_000);
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
    /// What communicates in the group of each mark.
    pub groups: FxHashMap<u32, String>,
    /// Weighted by time: how much of the device kernels of low occupancy fill.
    pub fill: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Marked {
    pub count: u64,
    pub time: Ns,
    /// The name that takes most of it, and where its longest event is.
    pub name: String,
    pub longest: Option<(Ns, Ns)>,
}

/// The rank's model with all marks on it.
pub(crate) fn model(rank: u32, view: View<'_>) -> Option<(RankModel, RankMarks)> {
    let marker = Marker::new(view);
    let gpu = |view: View<'_>, row: Row, kind: Kind| marker.gpu(view, row, kind);
    let host = |_: View<'_>, row: Row| marker.host(row);
    let model = RankModel::new(rank, view, &Marks { gpu: &gpu, host: Some(&host) })?;
    let marks = RankMarks::of(rank, view, &model, &marker);
    Some((model, marks))
}

struct Marker<'a> {
    causes: RefCell<Causes<'a>>,
    operators: RefCell<Owners<'a, Test<'a>>>,
    /// Operators that copied from memory the device cannot reach.
    unpinned_copies: FxHashSet<Row>,
    groups: RefCell<FxHashMap<u32, String>>,
    /// Names that say pageable.
    pageable: FxHashSet<StrId>,
    /// Calls that launch forward work during the backward pass.
    recomputing: Bitmap,
    /// Calls that come soon after another launch of their thread.
    in_a_row: FxHashSet<Row>,
}

type Test<'a> = Box<dyn FnMut(Row) -> bool + 'a>;

impl<'a> Marker<'a> {
    fn new(view: View<'a>) -> Marker<'a> {
        let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
        let is_operator: Test<'a> = Box::new(move |row| trace.class(row) == Class::Operator);
        let mut operators = Owners::new(nesting, trace.len(), Among::Innermost, is_operator);
        let pageable: FxHashSet<StrId> =
            trace.strings.iter().filter(|(_, text)| text.contains("Pageable")).map(|(id, _)| id).collect();
        let mut unpinned_copies = FxHashSet::default();
        if !pageable.is_empty() {
            let copies = view.gpu().filter(|event| pageable.contains(&trace.name_id(event.row)));
            unpinned_copies.extend(copies.filter_map(|event| operators.of(view.launch(event.row)?)));
        }
        let mut calls: Vec<Row> = view.gpu().filter_map(|event| view.launch(event.row)).collect();
        calls.sort_unstable();
        calls.dedup();
        Marker {
            causes: RefCell::new(Causes::new(view)),
            operators: RefCell::new(operators),
            unpinned_copies,
            groups: RefCell::default(),
            pageable,
            recomputing: recomputed(view, calls.iter().copied()),
            in_a_row: in_a_row(view, calls),
        }
    }

    fn host(&self, row: Row) -> u32 {
        let (cause, _) = self.causes.borrow_mut().of(row);
        let mut operators = self.operators.borrow_mut();
        match cause {
            // The wait that follows a copy from pageable memory is there because of it.
            Cause::Synchronisation
                if operators.of(row).is_some_and(|op| self.unpinned_copies.contains(&op)) =>
            {
                UNPINNED
            }
            Cause::Synchronisation => SYNCHRONISATION,
            Cause::Item => ITEM,
            Cause::BlockingCopy => BLOCKING_COPY,
            Cause::Allocator => ALLOCATOR,
            Cause::GarbageCollection => GARBAGE,
            Cause::Compilation => COMPILATION,
            Cause::DataLoading => DATA_LOADING,
            Cause::Python => PYTHON,
            Cause::Operator => OPERATOR,
            Cause::Optimizer | Cause::RuntimeCall | Cause::Annotation | Cause::NothingRecorded => 0,
        }
    }

    fn gpu(&self, view: View<'_>, row: Row, kind: Kind) -> u32 {
        match kind {
            Kind::Communication => self.group(view, row),
            Kind::Memcpy => self.copy(view, row),
            Kind::Memset | Kind::Computation => self.kernel(view, row),
        }
    }

    fn copy(&self, view: View<'_>, row: Row) -> u32 {
        let blocks = |call: Row| view.trace.name(call).ends_with("Memcpy");
        if view.launch(row).is_some_and(blocks) {
            BLOCKING_COPY
        } else if self.pageable.contains(&view.trace.name_id(row)) {
            UNPINNED
        } else {
            0
        }
    }

    fn group(&self, view: View<'_>, row: Row) -> u32 {
        let label = group_label(view, row);
        let hash = label.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let mark = 1 << (FIRST_GROUP + hash % GROUPS);
        self.groups.borrow_mut().entry(mark).or_insert_with(|| label.to_owned());
        mark
    }

    fn kernel(&self, view: View<'_>, row: Row) -> u32 {
        let call = view.launch(row);
        let dur = view.trace.dur(row).unwrap_or_default();
        let mut marks = 0;
        if dur < SMALL_KERNEL && call.is_some_and(|call| self.in_a_row.contains(&call)) {
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

/// What a group is for, else what it is called, else nothing.
fn group_label(view: View<'_>, row: Row) -> &str {
    let said = |arg| {
        let text = view.trace.strings.get(view.trace.args.text(row, arg)?);
        Some(text).filter(|text| !text.is_empty() && *text != "undefined")
    };
    said(Arg::GroupDescription).or_else(|| said(Arg::GroupName)).unwrap_or("")
}

fn in_a_row(view: View<'_>, mut calls: Vec<Row>) -> FxHashSet<Row> {
    let thread = |row: Row| view.trace.track(row).thread;
    calls.sort_by_key(|row| (thread(*row), view.trace.start(*row)));
    let pairs = calls.array_windows().filter(|[before, call]| {
        let end = view.trace.span(*before).map(|(_, end)| end);
        let apart = view.trace.start(*call).zip(end).map(|(start, end)| start - end);
        thread(*before) == thread(*call) && apart.is_some_and(|apart| apart <= NEXT_LAUNCH)
    });
    pairs.map(|[_, call]| *call).collect()
}

/// All marks that some work or wait of the job has.
pub(crate) fn seen(model: &JobModel) -> u32 {
    let of_nodes = model.coupled.graphs.iter().flat_map(|graph| &graph.nodes).map(|node| node.marks);
    let of_work = model.coupled.graphs.iter().flat_map(|graph| &graph.host_parts).map(|part| 1 << part.mark);
    of_nodes.chain(of_work).fold(0, |all, marks| all | marks)
}

impl RankMarks {
    fn of(rank: u32, view: View<'_>, model: &RankModel, by: &Marker<'_>) -> RankMarks {
        let mut gpu = vec![Marked::default(); 32];
        let mut names: FxHashMap<(u32, u32), Ns> = FxHashMap::default();
        let (mut filled, mut weight) = (0.0, 0.0);
        let nodes = model.graph().map_or(&[][..], |graph| &graph.nodes);
        for (node, name) in nodes.iter().zip(&model.name_of) {
            if !matches!(node.what, What::Gpu(_)) || node.marks == 0 {
                continue;
            }
            let dur = node.end - node.start;
            for mark in (0..32).filter(|mark| node.marks >> mark & 1 == 1) {
                let marked = &mut gpu[mark as usize];
                (marked.count, marked.time) = (marked.count + 1, marked.time + dur);
                if marked.longest.is_none_or(|(start, end)| dur > end - start) {
                    marked.longest = Some((node.start, node.end));
                }
                *names.entry((mark, *name)).or_default() += dur;
            }
            if node.marks & LOW_OCCUPANCY != 0 {
                let blocks = view.trace.args.float(node.row, Arg::BlocksPerSm).map_or(1.0, f64::from);
                filled += blocks.clamp(LEAST_FILL, 1.0) * dur.as_f64();
                weight += dur.as_f64();
            }
        }
        for (mark, marked) in gpu.iter_mut().enumerate() {
            let of_mark = names.iter().filter(|((of, _), _)| *of == mark as u32);
            if let Some(((_, name), _)) = of_mark.max_by_key(|((_, name), time)| (**time, *name)) {
                model.names[*name as usize].clone_into(&mut marked.name);
            }
        }
        let fill = if weight > 0.0 { filled / weight } else { 1.0 };
        RankMarks { rank, gpu, groups: by.groups.take(), fill }
    }

    pub(super) fn marked(&self, mark: u32) -> &Marked {
        &self.gpu[mark.trailing_zeros() as usize]
    }
}
