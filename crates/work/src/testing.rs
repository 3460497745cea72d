//! Helpers of the tests.

use crate::{Call, Models, Work};

/// The work of a call by the built-in models.
pub(crate) fn work(name: &str, dims: &str, types: &str, concrete: &str) -> Option<Work> {
    let model = Models::built_in().find(name).unwrap_or_else(|| panic!("{name} has no model"));
    model.work(&Call { name, dims, types, strides: "", concrete })
}

pub(crate) fn flops(name: &str, dims: &str, types: &str, concrete: &str) -> Option<u128> {
    work(name, dims, types, concrete).map(|work| work.flops)
}

pub(crate) fn bytes(name: &str, dims: &str, types: &str, concrete: &str) -> Option<u64> {
    work(name, dims, types, concrete)?.bytes
}
