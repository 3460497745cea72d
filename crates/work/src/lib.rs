//! What an operator's arguments say must be done, and what GPUs can do.
//!
//! A trace tells of every operator call the shapes and types of its arguments. From these follows how many
//! operations it must do and how many bytes it must move, whatever kernels then do it; with the time that the
//! kernels took, and with what the GPU could do at best, that tells how well the call did.
//!
//! [`Models`] finds the [`Model`] of an operator by its name, and the model counts the [`Work`] of a [`Call`].
//! Counting is exact, in integers. A call whose arguments do not tell what it does has no work: nothing is
//! guessed. The formulas and conventions are in `docs/work-models.md`.

mod args;
mod category;
mod count;
mod dtype;
mod families;
pub mod gpus;
mod kernel;
mod models;
mod table;
#[cfg(test)]
mod testing;
mod user;
mod work;

pub use category::category;
pub use dtype::{DType, Precision};
pub use kernel::{Products, products};
pub use models::{Model, Models};
pub use user::UserError;
pub use work::{Engine, Params, Work};

/// An operator call as the trace has it: its name, and the raw texts of its arguments (empty if absent).
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'a> {
    pub name: &'a str,
    /// `Input Dims`, as in `[[2, 3], [], [[2, 3], [4]]]`.
    pub dims: &'a str,
    /// `Input type`, as in `["float", "Scalar", "TensorList"]`.
    pub types: &'a str,
    /// `Input Strides`.
    pub strides: &'a str,
    /// `Concrete Inputs`, as in `["", "1", ""]`.
    pub concrete: &'a str,
}
