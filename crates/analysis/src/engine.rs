//! What the frames of autograd's engine say: the backward pass, and forward work that a checkpoint runs again in it.

use gpuscope_trace::Class;

/// What a host event says about the pass that what is inside it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Backward,
    /// Forward work inside the backward pass: a checkpoint's backward function, or torch's recomputing hooks.
    Recomputation,
}

pub(crate) const ENGINE: &str = "autograd::engine::evaluate_function: ";

/// By class and name alone: the innermost such event around something decides.
pub(crate) fn pass(class: Class, name: &str) -> Option<Pass> {
    if let Some(function) = name.strip_prefix(ENGINE) {
        let again = function.starts_with("CheckpointFunction");
        return Some(if again { Pass::Recomputation } else { Pass::Backward });
    }
    let recomputes = class == Class::PythonFrame
        && name.contains("checkpoint.py")
        && (name.contains("recompute") || name.contains("unpack_hook"));
    recomputes.then_some(Pass::Recomputation)
}
