//! Kernel launches whose GPU work is not in the trace: the sign of a recording that began or ended in the
//! middle of a step.

use gpuscope_trace::{Row, Step, View};

/// How many calls that launch a kernel began in each step and have no GPU event. Memory calls are not looked
/// at: many of them need no work on the device.
pub(crate) fn launches_without_gpu_work<const N: usize>(view: View<'_>, steps: [&Step; N]) -> [u64; N] {
    let trace = view.trace;
    let mut lost = [0; N];
    let (Some(from), Some(to)) = (steps.iter().map(|s| s.start).min(), steps.iter().map(|s| s.end).max())
    else {
        return lost;
    };
    let launches = view.index.launches(trace);
    let is_lost = |row: Row| {
        trace.class(row).is_call() && !launches.has_work(row) && trace.name(row).contains("LaunchKernel")
    };
    for row in trace.rows() {
        if let Some(start) = trace.start(row)
            && from <= start
            && start < to
            && is_lost(row)
        {
            for (step, lost) in steps.iter().zip(&mut lost) {
                *lost += u64::from(step.start <= start && start < step.end);
            }
        }
    }
    lost
}
