//! What findings are about, as marks on the graph: causes of host time, and sorts of GPU work.

use std::cell::RefCell;

use gpuscope_trace::{Arg, Class, Kind, Ns, Row, StrId, View};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Marks, What};
use crate::idle::{Cause, cause_of};
use crate::model::RankModel;

pub(super) const SYNCHRONISATION: u32 = 1;
pub(super) const ITEM: u32 = 1 << 1;
pub(super) const BLOCKING_COPY: u32 = 1 << 2;
pub(super) const ALLOCATOR: u32 = 1 << 3;
pub(super) const GARBAGE: u32 = 1 << 4;
pub(super) const COMPILATION: u32 = 1 << 5;
pub(super) const DATA_LOADING: u32 = 1 << 6;
pub(super) const PYTHON: u32 = 1 << 7;
pub(super) const OTHER_HOST: u32 = 1 << 8;
pub(super) const UNPINNED: u32 = 1 << 9;
pub(super) const LOW_OCCUPANCY: u32 = 1 << 10;
pub(super) const RECOMPUTED: u32 = 1 << 11;
pub(super) const SMALL: u32 = 1 << 12;
/// From here on one mark for each group of ranks; groups share one if there are many.
const FIRST_GROUP: u32 = 16;
const GROUPS: u32 = 16;

/// Shorter kernels are over before the host has launched the next.
const SMALL_KERNEL: Ns = Ns(6_000);
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
    let host = |view: View<'_>, row: Row| marker.host(view, row);
    let model = RankModel::new(rank, view, &Marks { gpu: &gpu, host: Some(&host) })?;
    let marks = RankMarks::of(rank, view, &model, &marker);
    Some((model, marks))
}

struct Marker {
    /// Operators that copied from memory the device cannot reach.
    unpinned_copies: FxHashSet<Row>,
    groups: RefCell<FxHashMap<u32, String>>,
    /// Of each name: does it say pageable; of each host row: its cause.
    pageable: FxHashSet<StrId>,
}

impl Marker {
    fn new(view: View<'_>) -> Marker {
        let trace = view.trace;
        let pageable: FxHashSet<StrId> =
            trace.strings.iter().filter(|(_, text)| text.contains("Pageable")).map(|(id, _)| id).collect();
        let mut unpinned_copies = FxHashSet::default();
        if !pageable.is_empty() {
            let copies = view.gpu().filter(|event| pageable.contains(&trace.name_id(event.row)));
            unpinned_copies.extend(copies.filter_map(|event| operator_around(view, view.launch(event.row)?)));
        }
        Marker { unpinned_copies, groups: RefCell::default(), pageable }
    }

    fn host(&self, view: View<'_>, row: Row) -> u32 {
        let (cause, _) = cause_of(view.trace, view.index.nesting(view.trace), row);
        match cause {
            // The wait that follows a copy from pageable memory is there because of it.
            Cause::Synchronisation
                if operator_around(view, row).is_some_and(|op| self.unpinned_copies.contains(&op)) =>
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
            Cause::Optimizer
            | Cause::RuntimeCall
            | Cause::Operator
            | Cause::Annotation
            | Cause::NothingRecorded => OTHER_HOST,
        }
    }

    fn gpu(&self, view: View<'_>, row: Row, kind: Kind) -> u32 {
        match kind {
            Kind::Communication => self.group(view, row),
            Kind::Memcpy => self.copy(view, row),
            Kind::Memset | Kind::Computation => kernel(view, row),
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
}

/// What a group is for, else what it is called, else what the kernel does.
fn group_label(view: View<'_>, row: Row) -> &str {
    let said = |arg| {
        let text = view.trace.strings.get(view.trace.args.text(row, arg)?);
        Some(text).filter(|text| !text.is_empty() && *text != "undefined")
    };
    said(Arg::GroupDescription).or_else(|| said(Arg::GroupName)).unwrap_or("communication")
}

fn kernel(view: View<'_>, row: Row) -> u32 {
    let dur = view.trace.dur(row).unwrap_or_default();
    let mut marks = 0;
    if dur < SMALL_KERNEL {
        marks |= SMALL;
    }
    if dur >= WORTH_FILLING
        && view.trace.args.float(row, Arg::BlocksPerSm).is_some_and(|blocks| blocks < FEW_BLOCKS_PER_SM)
    {
        marks |= LOW_OCCUPANCY;
    }
    if view.launch(row).is_some_and(|call| is_recomputed(view, call)) {
        marks |= RECOMPUTED;
    }
    marks
}

/// Forward work inside the backward pass: under a checkpoint's backward function, or torch's recomputing hooks, with
/// no other function's backward between.
fn is_recomputed(view: View<'_>, call: Row) -> bool {
    for row in view.index.nesting(view.trace).ancestors(call) {
        let name = view.trace.name(row);
        if let Some(function) = name.strip_prefix("autograd::engine::evaluate_function: ") {
            return function.starts_with("CheckpointFunction");
        }
        let recomputes = view.trace.class(row) == Class::PythonFrame
            && name.contains("checkpoint.py")
            && (name.contains("recompute") || name.contains("unpack_hook"));
        if recomputes {
            return true;
        }
    }
    false
}

fn operator_around(view: View<'_>, row: Row) -> Option<Row> {
    let mut around = view.index.nesting(view.trace).ancestors(row);
    around.find(|row| view.trace.class(*row) == Class::Operator)
}

impl RankMarks {
    fn of(rank: u32, view: View<'_>, model: &RankModel, by: &Marker) -> RankMarks {
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
