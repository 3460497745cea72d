//! Kernels that `torch.compile` wrote, named after the operators fused in them, as in
//! `triton_poi_fused_add_mul_silu_2`: the operations of each, for every element of the largest tensor. All
//! tensors are moved once. That is the least: an operator fused twice is named once, and the trace does not
//! tell which tensors are both read and written.

use crate::args::Args;
use crate::count::Count;
use crate::work::{Engine, Work};

/// Whether this is the name of a pointwise or reducing kernel of a compiled model.
pub(crate) fn is_compiled(name: &str) -> bool {
    fused(name).is_some()
}

pub(crate) fn work(args: &Args) -> Option<Work> {
    let per_element = operations(fused(args.name())?);
    let largest = args.tensors().flatten().max_by_key(|tensor| tensor.numel().get())?;
    let moved: Count = args.tensors().flatten().map(|tensor| tensor.bytes()).sum();
    let work = Work::new(Engine::Vector, per_element * largest.numel())?
        .moving(moved)
        .in_precision(largest.dtype.and_then(|dtype| dtype.precision))
        .with("elements", largest.numel());
    Some(Work { at_least: true, ..work })
}

/// The part of the name that lists the operators.
fn fused(name: &str) -> Option<&str> {
    ["triton_poi_fused_", "triton_red_fused_", "triton_per_fused_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
}

/// The operations per element of all operators in a list joined by `_`. Their names may hold `_` themselves, so
/// the longest that is known wins; what is not known only moves data.
fn operations(list: &str) -> u64 {
    let mut rest = list;
    let mut sum = 0;
    while !rest.is_empty() {
        let matching = COSTS.iter().filter(|(name, _)| {
            rest.strip_prefix(name).is_some_and(|after| after.is_empty() || after.starts_with('_'))
        });
        if let Some((name, cost)) = matching.max_by_key(|(name, _)| name.len()) {
            sum += cost;
            rest = rest[name.len()..].trim_start_matches('_');
        } else {
            rest = rest.split_once('_').map_or("", |(_, after)| after);
        }
    }
    sum
}

/// Operations per element; names that begin like one of these but compute nothing are here too.
const COSTS: &[(&str, u64)] = &[
    ("abs", 1),
    ("add", 1),
    ("addcdiv", 3),
    ("addcmul", 3),
    ("amax", 1),
    ("amin", 1),
    ("argmax", 1),
    ("bitwise_and", 1),
    ("bitwise_not", 1),
    ("bitwise_or", 1),
    ("ceil", 1),
    ("clamp", 2),
    ("clamp_max", 1),
    ("clamp_min", 1),
    ("cos", 4),
    ("cumsum", 1),
    ("div", 1),
    ("eq", 1),
    ("erf", 4),
    ("exp", 4),
    ("exp2", 4),
    ("floor", 1),
    ("ge", 1),
    ("gelu", 8),
    ("gelu_backward", 12),
    ("gt", 1),
    ("le", 1),
    ("leaky_relu", 2),
    ("log", 4),
    ("log1p", 4),
    ("logical_and", 1),
    ("logical_not", 1),
    ("logical_or", 1),
    ("lt", 1),
    ("masked_fill", 1),
    ("max", 1),
    ("maximum", 1),
    ("mean", 1),
    ("min", 1),
    ("minimum", 1),
    ("mul", 1),
    ("native_batch_norm_backward", 9),
    ("native_dropout", 2),
    ("native_dropout_backward", 2),
    ("native_group_norm", 5),
    ("native_layer_norm", 5),
    ("native_layer_norm_backward", 9),
    ("ne", 1),
    ("neg", 1),
    ("pow", 2),
    ("prod", 1),
    ("reciprocal", 1),
    ("relu", 1),
    ("rsqrt", 2),
    ("rsub", 1),
    ("sigmoid", 4),
    ("sigmoid_backward", 3),
    ("silu", 4),
    ("silu_backward", 8),
    ("sin", 4),
    ("slice_backward", 0),
    ("_log_softmax", 5),
    ("_softmax", 5),
    ("_softmax_backward_data", 4),
    ("sqrt", 2),
    ("sub", 1),
    ("sum", 1),
    ("tanh", 4),
    ("tanh_backward", 3),
    ("threshold_backward", 1),
    ("var", 3),
    ("var_mean", 4),
    ("where", 1),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bytes, flops};

    #[test]
    fn the_name_says_what_is_computed() {
        assert_eq!(operations("_unsafe_view_mul_silu_2"), 5);
        assert_eq!(operations("add_mean_mul_pow_rsqrt_0"), 1 + 1 + 1 + 2 + 2);
        assert_eq!(operations("clamp_clamp_min_3"), 3);
        assert_eq!(operations("native_layer_norm_backward_0"), 9);
        assert_eq!(operations("native_layer_norm_0"), 5);
        assert_eq!(operations("clone_view_12"), 0);
        assert_eq!(operations("____"), 0);
    }

    #[test]
    fn the_largest_tensor_is_what_it_runs_over() {
        let name = "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1";
        let dims = "[[8, 4096, 2048], [32768, 2048], [2048], [8, 4096, 2048], [], []]";
        let types =
            r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#;
        assert_eq!(flops(name, dims, types, ""), Some(7 * 67_108_864));
        assert_eq!(bytes(name, dims, types, ""), Some(2 * (3 * 67_108_864 + 2048)));
    }
}
