//! Kernel launches whose GPU work is not in the trace: the sign of a recording that began or ended in the
//! middle of a step.

use gpuscope_trace::{Ns, Row, View};

/// How many calls that launch a kernel began in `[from, to)` and have no GPU event. Memory calls are not
/// looked at: many of them need no work on the device.
pub(crate) fn launches_without_gpu_work(view: View<'_>, from: Ns, to: Ns) -> u64 {
    let trace = view.trace;
    let launches = view.index.launches(trace);
    let inside = |row: &Row| trace.start(*row).is_some_and(|start| from <= start && start < to);
    let calls = trace.rows().filter(inside).filter(|row| trace.class(*row).is_call());
    let kernels = calls.filter(|row| trace.name(*row).contains("LaunchKernel"));
    kernels.filter(|row| launches.launched(*row).is_empty()).count() as u64
}
