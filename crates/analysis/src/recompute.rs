//! What was computed twice: activation checkpointing throws results of the forward pass away and computes them
//! anew during the backward pass.
//!
//! A host event is part of that if it lies below one of these, and not again below a backward step inside it:
//! a Python frame `recompute_fn` of `torch/utils/checkpoint.py`; the operator `CheckpointFunctionBackward` of
//! reentrant checkpointing; or, in traces without Python frames, an operator of the forward kind during a backward
//! step: it has a sequence number, as operators have that autograd records, but no forward thread, as backward
//! operators have. (A backward pass that is itself recorded, for second derivatives, looks the same.)

use gpuscope_trace::{Arg, Bitmap, Class, Row, StrId, View};

const BACKWARD: u8 = 1;
const RECOMPUTED: u8 = 2;

/// One bit per row: whether a host event is part of recomputation.
pub(crate) fn recomputed(view: View<'_>) -> Bitmap {
    let trace = view.trace;
    let mut found = Bitmap::empty(trace.len());
    let mut roles = Roles { known: vec![None; trace.strings.len()] };
    if !roles.any_backward(view) {
        return found;
    }
    let nesting = view.index.nesting(trace);
    let mut states = vec![0_u8; trace.len()];
    // Parents come before what they hold.
    for &row in view.index.host_threads(trace).flatten() {
        let around = nesting.parent(row).map_or(0, |parent| states[parent as usize]);
        let state = match (trace.class(row), roles.of(view, row)) {
            (Class::Operator, Role::Backward) => BACKWARD,
            (Class::Operator, Role::Checkpoint) | (Class::PythonFrame, Role::RecomputeFrame) => {
                around | RECOMPUTED
            }
            (Class::Operator, _) if around == BACKWARD && is_forward(view, row) => BACKWARD | RECOMPUTED,
            _ => around,
        };
        states[row as usize] = state;
        if state & RECOMPUTED != 0 {
            found.insert(row);
        }
    }
    found
}

/// Whether autograd recorded the operator as one to undo.
fn is_forward(view: View<'_>, row: Row) -> bool {
    let args = &view.trace.args;
    args.int(row, Arg::SequenceNumber).is_some_and(|number| number >= 0)
        && args.int(row, Arg::FwdThreadId).unwrap_or(0) == 0
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The engine runs one step of the backward pass.
    Backward,
    Checkpoint,
    RecomputeFrame,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        if name.starts_with("autograd::engine::evaluate_function") {
            Role::Backward
        } else if name == "CheckpointFunctionBackward" {
            Role::Checkpoint
        } else if name.contains("torch/utils/checkpoint.py") && name.ends_with("recompute_fn") {
            Role::RecomputeFrame
        } else {
            Role::Other
        }
    }
}

/// Each name is looked at once.
struct Roles {
    known: Vec<Option<Role>>,
}

impl Roles {
    fn of(&mut self, view: View<'_>, row: Row) -> Role {
        self.named(view, view.trace.name_id(row))
    }

    fn named(&mut self, view: View<'_>, name: StrId) -> Role {
        let known = &mut self.known[name.index()];
        *known.get_or_insert_with(|| Role::of(view.trace.strings.get(name)))
    }

    /// Without a backward pass nothing is computed twice.
    fn any_backward(&mut self, view: View<'_>) -> bool {
        let trace = view.trace;
        trace.rows().any(|row| {
            let role = self.of(view, row);
            role != Role::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Phase, Selection};

    use super::*;
    use crate::testing::{Sample, trace};

    fn names(sample: Sample) -> Vec<String> {
        let loaded = sample.build();
        let selection = Selection::everything();
        let view = loaded.view(&selection);
        let bits = recomputed(view);
        view.trace.rows().filter(|row| bits.has(*row)).map(|row| view.trace.name(row).to_owned()).collect()
    }

    fn forward(sample: Sample, name: &str, time: std::ops::Range<i64>, thread: i64) -> Sample {
        let (start, dur) = (time.start, time.end - time.start);
        sample.event(Phase::Complete, "cpu_op", name, Some(start), Some(dur), |record| {
            record.set_int(Arg::SequenceNumber, 12);
            record.set_int(Arg::FwdThreadId, thread);
        })
    }

    const ENGINE: &str = "autograd::engine::evaluate_function: ReluBackward0";

    #[test]
    fn what_runs_below_the_recomputing_frame() {
        let sample = trace()
            .host("cpu_op", "forward", 0..5)
            .host("cpu_op", ENGINE, 10..100)
            .host("cpu_op", "ReluBackward0", 11..99)
            .host("python_function", "torch/utils/checkpoint.py(1500): recompute_fn", 20..60)
            .host("cpu_op", "again", 30..50)
            .call(1, 35..40)
            .host("cpu_op", "threshold_backward", 70..80);
        assert_eq!(
            names(sample),
            ["torch/utils/checkpoint.py(1500): recompute_fn", "again", "cudaLaunchKernel"]
        );
    }

    #[test]
    fn a_reentrant_checkpoint_recomputes_until_its_own_backward_begins() {
        let sample = trace()
            .host("cpu_op", "autograd::engine::evaluate_function: CheckpointFunctionBackward", 0..100)
            .host("cpu_op", "CheckpointFunctionBackward", 1..99)
            .host("cpu_op", "again", 10..20)
            .host("cpu_op", ENGINE, 30..60)
            .host("cpu_op", "threshold_backward", 40..50);
        assert_eq!(names(sample), ["CheckpointFunctionBackward", "again"]);
    }

    #[test]
    fn without_frames_a_forward_operator_during_the_backward_pass_tells() {
        let sample = forward(trace(), "first", 0..5, 0).host("cpu_op", ENGINE, 10..100);
        let sample = forward(sample, "ReluBackward0", 11..99, 1).host("cpu_op", "threshold_backward", 70..80);
        let sample = forward(sample, "again", 20..40, 0).host("cpu_op", "inside", 25..30);
        assert_eq!(names(sample), ["again", "inside"]);
        assert!(names(forward(trace(), "alone", 0..5, 0)).is_empty());
    }
}
