//! What was computed twice: activation checkpointing throws results of the forward pass away and computes them
//! anew during the backward pass.
//!
//! A host event is part of that if it lies below one of these, and not again below a backward step inside it:
//! a Python frame of torch's recomputing hooks; the operator `CheckpointFunctionBackward` of reentrant checkpointing;
//! or, in traces without Python frames, an operator of the forward kind while the gradient of another is computed: it
//! has a sequence number, as operators have that autograd records, but no forward thread, as backward operators have.
//! (A backward pass that is itself recorded, for second derivatives, looks the same.)

use gpuscope_trace::{Arg, Bitmap, Class, Row, View};

use super::pass::{Pass, Passes};
use crate::model::engine;

/// Which of these host events are part of recomputation.
pub(crate) fn recomputed(view: View<'_>, rows: impl Iterator<Item = Row>) -> Bitmap {
    let mut found = Bitmap::empty(view.trace.len());
    if has_backward(view) {
        let mut passes = Passes::new(view);
        for row in rows.filter(|row| passes.of(*row) == Pass::Recompute) {
            found.insert(row);
        }
    }
    found
}

/// Without a backward pass nothing is computed twice.
fn has_backward(view: View<'_>) -> bool {
    let tells = |name: &str| {
        [Class::Operator, Class::PythonFrame].iter().any(|class| engine::pass(*class, name).is_some())
    };
    view.trace.strings.iter().any(|(_, name)| tells(name))
        || view.trace.args.iter(Arg::FwdThreadId).any(|(_, thread)| thread != 0)
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
        let bits = recomputed(view, view.trace.rows());
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
    fn gradients_are_neither_recomputed_where_they_are_added_up_nor_where_a_hook_uses_them() {
        let sample = trace()
            .host("cpu_op", "autograd::engine::evaluate_function: CheckpointFunctionBackward", 0..100)
            .host("cpu_op", "CheckpointFunctionBackward", 1..50)
            .host("cpu_op", "adds up gradients", 60..70)
            .host("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 200..300);
        assert_eq!(names(forward(sample, "in a hook", 210..220, 0)), ["CheckpointFunctionBackward"]);
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
