//! RMS normalisation: two operations per element for the squares and one to scale, one more with a weight,
//! two per row. Going back, six per element for the gradient of the input and two for that of the weight,
//! one each to scale. All tensors given and all results are moved once.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

/// `_fused_rms_norm(input, normalized_shape, weight, eps)`.
pub(crate) fn forward(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let weight = args.tensor(2);
    let channels = super::norm::listed(args, 1)?;
    let rows = input.numel().exact_div(channels);
    // The deviation of each row is kept for the way back.
    let kept = rows * input.dtype.map_or(Count::UNKNOWN, |dtype| Count::from(dtype.bytes.max(4)));
    let flops = 3 * input.numel() + input.numel().when(weight.is_some()) + 2 * rows;
    let bytes = 2 * input.bytes() + weight.map_or(Count::ZERO, |weight| weight.bytes()) + kept;
    Some(describe(Work::new(Engine::Vector, flops)?.moving(bytes), &input))
}

/// `_fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask)`.
pub(crate) fn backward(args: &Args) -> Option<Work> {
    let (gradient, input) = (args.tensor(0)?, args.tensor(1)?);
    let weight = args.tensor(4);
    let mut wanted = args.flags(5)?;
    let (of_input, of_weight) = (wanted.next()??, wanted.next()?? && weight.is_some());
    let elements = input.numel();
    let flops = elements
        + elements.when(weight.is_some())
        + (6 * elements).when(of_input)
        + (2 * elements).when(of_weight);
    let rest: Count = [3, 4].into_iter().filter_map(|at| args.tensor(at)).map(|tensor| tensor.bytes()).sum();
    let results =
        input.bytes().when(of_input) + weight.map_or(Count::ZERO, |weight| weight.bytes()).when(of_weight);
    let bytes = gradient.bytes() + input.bytes() + rest + results;
    Some(describe(Work::new(Engine::Vector, flops)?.moving(bytes), &input))
}

fn describe(work: Work, input: &Tensor) -> Work {
    work.in_precision(input.dtype.and_then(|dtype| dtype.precision)).with("elements", input.numel())
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    #[test]
    fn a_weight_is_counted_if_given() {
        let types = r#"["float", "ScalarList", "float", ""]"#;
        let with =
            flops("aten::_fused_rms_norm", "[[8, 16], [], [16], []]", types, r#"["", "[16]", "", ""]"#);
        assert_eq!(with, Some(4 * 128 + 2 * 8));
        let types = r#"["float", "ScalarList", "", ""]"#;
        let without =
            flops("aten::_fused_rms_norm", "[[8, 16], [], [], []]", types, r#"["", "[16]", "", ""]"#);
        assert_eq!(without, Some(3 * 128 + 2 * 8));
        assert_eq!(
            flops("aten::_fused_rms_norm", "[[8, 16], [], [], []]", types, r#"["", "[3]", "", ""]"#),
            None
        );
    }

    #[test]
    fn going_back_counts_what_is_asked_for() {
        let dims = "[[8, 16], [8, 16], [], [8, 1], [16], []]";
        let types = r#"["float", "float", "ScalarList", "float", "float", "ScalarList"]"#;
        let name = "aten::_fused_rms_norm_backward";
        let of = |mask: &str| {
            let concrete = format!(r#"["", "", "[16]", "", "", "{mask}"]"#);
            (flops(name, dims, types, &concrete), bytes(name, dims, types, &concrete))
        };
        assert_eq!(of("[True, True]"), (Some(10 * 128), Some(4 * (2 * 128 + 8 + 16 + 128 + 16))));
        assert_eq!(of("[True, False]"), (Some(8 * 128), Some(4 * (2 * 128 + 8 + 16 + 128))));
    }
}
