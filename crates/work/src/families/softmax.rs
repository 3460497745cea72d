//! Softmax and its logarithm: five operations per element (largest, difference, exponential, sum, quotient),
//! going back four. Tensors given and the result are moved once.

use crate::args::Args;
use crate::dtype::DType;
use crate::work::{Engine, Work};

/// `_softmax(input, dim, half_to_float)`.
pub(crate) fn forward(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let mut result = input;
    if args.flag(2)? {
        result.dtype = Some(DType::FP32);
    }
    Some(
        Work::new(Engine::Vector, 5 * input.numel())?
            .moving(input.bytes() + result.bytes())
            .in_precision(input.dtype.and_then(|dtype| dtype.precision))
            .with("elements", input.numel()),
    )
}

/// `_softmax_backward_data(gradient, result, dim, input_dtype)`.
pub(crate) fn backward(args: &Args) -> Option<Work> {
    let (gradient, result) = (args.tensor(0)?, args.tensor(1)?);
    let mut input = gradient;
    input.dtype = args.dtype_code(3).or(gradient.dtype);
    Some(
        Work::new(Engine::Vector, 4 * gradient.numel())?
            .moving(gradient.bytes() + result.bytes() + input.bytes())
            .in_precision(gradient.dtype.and_then(|dtype| dtype.precision))
            .with("elements", gradient.numel()),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    #[test]
    fn the_result_may_be_wider() {
        let types = r#"["c10::Half", "Scalar", "Scalar"]"#;
        assert_eq!(flops("aten::_softmax", "[[8, 10], [], []]", types, r#"["", "-1", "False"]"#), Some(400));
        assert_eq!(bytes("aten::_softmax", "[[8, 10], [], []]", types, r#"["", "-1", "False"]"#), Some(320));
        assert_eq!(bytes("aten::_softmax", "[[8, 10], [], []]", types, r#"["", "-1", "True"]"#), Some(480));
        let backward = bytes(
            "aten::_softmax_backward_data",
            "[[8, 10], [8, 10], [], []]",
            r#"["float", "float", "Scalar", "Scalar"]"#,
            r#"["", "", "-1", "5"]"#,
        );
        assert_eq!(backward, Some(80 * (4 + 4 + 2)));
    }
}
