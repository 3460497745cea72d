//! What each kind of call had to do, and how well it did.

use gpuscope_trace::{Arg, Ns, View};
use gpuscope_work::{Models, Work};
use serde::Serialize;

use super::calls::Calls;
use super::kinds::{Kind, Kinds};
use super::roofline::{Bound, Limits};
use super::tf32;

/// The work of every kind of call: looked up and counted once.
pub(crate) struct Works {
    pub(crate) has_model: Vec<bool>,
    /// Absent without a model, and where the arguments do not tell.
    pub(crate) of: Vec<Option<Work>>,
}

impl Works {
    pub(crate) fn of(view: View<'_>, calls: &Calls, kinds: &Kinds, models: &Models) -> Works {
        let has_model = |kind: &Kind| models.find(view.trace.strings.get(kind.name)).is_some();
        let mut works = Works {
            has_model: kinds.list.iter().map(has_model).collect(),
            of: kinds.list.iter().map(|kind| kind.work(view, models)).collect(),
        };
        tf32::round(view, calls, kinds, &mut works);
        works
    }
}

/// Work of one call, where all calls of a row have the same arguments, and rates over the GPU time below them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkOfOp {
    pub gflops: Option<f64>,
    pub data_moved_bytes: Option<u64>,
    pub tflops_per_s: Option<f64>,
    pub tb_per_s: Option<f64>,
    pub flops_per_byte: Option<f64>,
    /// The number format of the operations, and the units that do them.
    pub precision: Option<&'static str>,
    pub engine: Option<&'static str>,
    /// The sizes that the work follows from, such as `M=141 N=512 K=512`.
    pub sizes: Option<String>,
    /// What limits it on this GPU at best.
    pub bound: Option<Bound>,
    /// The time it would take at best, of the time that it took.
    pub pct_roofline: Option<f64>,
}

impl WorkOfOp {
    pub(super) fn new(work: Option<&Work>, count: u64, time: Ns, limits: &Limits) -> WorkOfOp {
        let Some(work) = work else { return WorkOfOp::default() };
        let flops = work.flops as f64;
        let per_second = |amount: f64| (time > Ns::ZERO).then(|| amount * count as f64 / time.as_f64() / 1e3);
        let roof = limits.roof(work);
        let sizes = work.params.to_string();
        WorkOfOp {
            gflops: Some(flops / 1e9),
            data_moved_bytes: work.bytes,
            tflops_per_s: per_second(flops),
            tb_per_s: work.bytes.and_then(|bytes| per_second(bytes as f64)),
            flops_per_byte: work.bytes.filter(|bytes| *bytes > 0).map(|bytes| flops / bytes as f64),
            precision: work.precision.map(gpuscope_work::Precision::name),
            engine: Some(work.engine.name()),
            sizes: (!sizes.is_empty()).then_some(sizes),
            bound: roof.map(|roof| roof.bound),
            pct_roofline: roof
                .filter(|_| time > Ns::ZERO)
                .map(|roof| 100.0 * roof.ns * count as f64 / time.as_f64()),
        }
    }
}

/// The FLOPs that the profiler itself recorded beside ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) calls: u64,
    /// By more than one percent.
    pub(super) differ: u64,
}

impl Recorded {
    pub(super) fn of(view: View<'_>, calls: &Calls, kinds: &Kinds, works: &Works) -> Recorded {
        let mut recorded = Recorded::default();
        if view.trace.args.table(Arg::Flops.group()).is_empty() {
            return recorded;
        }
        for call in 0..calls.len() {
            let ours = works.of[kinds.of[call] as usize].as_ref().map(|work| work.flops);
            let theirs = view.trace.args.int(calls.row(call), Arg::Flops).filter(|flops| *flops > 0);
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                let theirs = u128::from(theirs.unsigned_abs());
                recorded.calls += 1;
                recorded.differ += u64::from(ours.abs_diff(theirs).saturating_mul(100) > theirs);
            }
        }
        recorded
    }
}
