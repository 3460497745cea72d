//! What the frames of autograd's engine and of torch's checkpoints say: the backward pass, and forward work that a
//! checkpoint runs again in it.

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
    if name.starts_with(ENGINE) {
        return Some(Pass::Backward);
    }
    let recomputes = match class {
        // The frame around it, which also adds up gradients, is of the engine.
        Class::Operator => name.starts_with("CheckpointFunction") && name.ends_with("Backward"),
        Class::PythonFrame => {
            name.contains("checkpoint.py") && (name.contains("recompute") || name.contains("unpack_hook"))
        }
        _ => false,
    };
    recomputes.then_some(Pass::Recomputation)
}
