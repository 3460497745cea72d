//! Elementwise operators: one operation per element of the result, whatever the function; every operand and
//! the result moved once. Operands are stretched to one shape. Copies and fills compute nothing.

use crate::args::{Args, Shape, Tensor};
use crate::count::Count;
use crate::dtype::{DType, Precision};
use crate::work::{Engine, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Elementwise {
    /// The operands: tensors or numbers. One that is not given ends the list.
    reads: &'static [usize],
    /// Operations per element of the result.
    operations: u64,
    result: ResultType,
}

#[derive(Clone, Copy, Debug)]
enum ResultType {
    /// What the operands have in common.
    Common,
    /// The same, but never whole numbers.
    Fraction,
    /// Yes or no.
    Truth,
    /// That of the first operand: it is written to.
    First,
}

impl Elementwise {
    pub(crate) const UNARY: Elementwise =
        Elementwise { reads: &[0], operations: 1, result: ResultType::Common };
    pub(crate) const FUNCTION: Elementwise =
        Elementwise { result: ResultType::Fraction, ..Elementwise::UNARY };
    pub(crate) const TEST: Elementwise = Elementwise { result: ResultType::Truth, ..Elementwise::UNARY };
    pub(crate) const BINARY: Elementwise = Elementwise { reads: &[0, 1], ..Elementwise::UNARY };
    pub(crate) const BINARY_IN_PLACE: Elementwise =
        Elementwise { result: ResultType::First, ..Elementwise::BINARY };
    pub(crate) const DIVISION: Elementwise =
        Elementwise { result: ResultType::Fraction, ..Elementwise::BINARY };
    pub(crate) const COMPARISON: Elementwise =
        Elementwise { result: ResultType::Truth, ..Elementwise::BINARY };
    /// The first two operands are gradient and result (or input), as in all derivatives of functions.
    pub(crate) const DERIVATIVE: Elementwise = Elementwise::BINARY;
    pub(crate) const TERNARY: Elementwise =
        Elementwise { reads: &[0, 1, 2], operations: 3, ..Elementwise::UNARY };
    pub(crate) const TERNARY_IN_PLACE: Elementwise =
        Elementwise { result: ResultType::First, ..Elementwise::TERNARY };
    /// `where(condition, this, that)`.
    pub(crate) const SELECTION: Elementwise = Elementwise { operations: 1, ..Elementwise::TERNARY };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let first = args.operand(*self.reads.first()?)?;
        let mut shape = first.shape;
        let mut moved = Count::ZERO;
        for operand in self.reads.iter().map_while(|&at| args.operand(at)) {
            shape = shape.broadcast(operand.shape)?;
            moved = moved + operand.bytes();
        }
        let operands = || self.reads.iter().map_while(|&at| args.operand(at));
        let result = match self.result {
            ResultType::First => first.dtype,
            ResultType::Truth => DType::named("bool"),
            ResultType::Common => common(operands()),
            ResultType::Fraction => {
                common(operands()).map(|dtype| if is_fraction(dtype) { dtype } else { DType::FP32 })
            }
        };
        let elements = shape.numel();
        let written = elements * Tensor { shape, dtype: result }.element_bytes();
        // What is compared or tested is computed in the type of the operands.
        let computed = common(operands()).or(result);
        Some(
            Work::new(Engine::Vector, self.operations * elements)?
                .moving(moved + written)
                .in_precision(computed.and_then(|dtype| dtype.precision))
                .with("elements", elements),
        )
    }
}

/// `pow(base, exponent)`: a number as exponent is part of the kernel and not read.
pub(crate) fn power(args: &Args) -> Option<Work> {
    let family = if args.tensor(1).is_some() { Elementwise::BINARY } else { Elementwise::UNARY };
    family.work(args)
}

/// `copy_(to, from)`.
pub(crate) fn copy(args: &Args) -> Option<Work> {
    let (to, from) = (args.tensor(0)?, args.tensor(1)?);
    Some(
        Work::new(Engine::Vector, Count::ZERO)?
            .moving(to.bytes() + from.bytes())
            .with("elements", to.numel()),
    )
}

/// What only writes: constants, random numbers.
pub(crate) fn fill(args: &Args) -> Option<Work> {
    let to = args.tensor(0)?;
    Some(Work::new(Engine::Vector, Count::ZERO)?.moving(to.bytes()).with("elements", to.numel()))
}

/// Dropout keeps the mask of what it dropped.
pub(crate) fn dropout(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let elements = input.numel();
    Some(
        Work::new(Engine::Vector, 2 * elements)?
            .moving(2 * input.bytes() + elements)
            .in_precision(input.dtype.and_then(|dtype| dtype.precision))
            .with("elements", elements),
    )
}

/// Operators on lists of tensors, such as those of optimizers: so many operations per element of the first
/// list. Traces do not tell the types in lists, hence not the bytes.
pub(crate) fn lists(args: &Args, operations: u64) -> Option<Work> {
    let elements: Count =
        args.shapes(0)?.map(|shape| shape.as_ref().map_or(Count::UNKNOWN, Shape::numel)).sum();
    Some(Work::new(Engine::Vector, operations * elements)?.with("elements", elements))
}

/// The type that operands are computed in: the widest, where fractions outdo whole numbers, and tensors with
/// dimensions outdo single values.
fn common(operands: impl Iterator<Item = Tensor>) -> Option<DType> {
    let rank = |tensor: &Tensor| {
        let dtype = tensor.dtype?;
        Some((tensor.rank() > 0, is_fraction(dtype), dtype.bytes))
    };
    let mut best: Option<Tensor> = None;
    for operand in operands {
        operand.dtype?;
        if best.is_none_or(|best| rank(&best) < rank(&operand)) {
            best = Some(operand);
        }
    }
    best?.dtype
}

fn is_fraction(dtype: DType) -> bool {
    dtype.precision.is_some_and(|precision| precision != Precision::Int8)
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops, work};
    use proptest::prelude::*;

    #[test]
    fn operands_are_stretched() {
        let types = r#"["float", "float"]"#;
        let dims = "[[16, 1, 8], [5, 1]]";
        assert_eq!(flops("aten::mul", dims, types, ""), Some(16 * 5 * 8));
        assert_eq!(bytes("aten::mul", dims, types, ""), Some(4 * (16 * 8 + 5 + 16 * 5 * 8)));
        assert_eq!(flops("aten::mul", "[[2], [3]]", types, ""), None);
    }

    #[test]
    fn a_number_takes_four_bytes_and_does_not_widen() {
        let add = bytes("aten::mul", "[[10], []]", r#"["c10::BFloat16", "Scalar"]"#, r#"["", "2"]"#);
        assert_eq!(add, Some(20 + 4 + 20));
        let tensor = bytes("aten::mul", "[[10], []]", r#"["float", "double"]"#, "");
        assert_eq!(tensor, Some(40 + 8 + 40), "a tensor without dimensions does not widen either");
    }

    #[test]
    fn the_result_has_the_type_of_the_operator() {
        let of = |name, types| bytes(name, "[[10], [10]]", types, "").unwrap();
        assert_eq!(of("aten::add", r#"["c10::Half", "float"]"#), 20 + 40 + 40);
        assert_eq!(of("aten::add", r#"["long int", "c10::Half"]"#), 80 + 20 + 20);
        assert_eq!(of("aten::add_", r#"["c10::Half", "float"]"#), 20 + 40 + 20);
        assert_eq!(of("aten::eq", r#"["float", "float"]"#), 40 + 40 + 10);
        assert_eq!(of("aten::div", r#"["long int", "long int"]"#), 80 + 80 + 40);
    }

    #[test]
    fn copies_compute_nothing() {
        let copy =
            work("aten::copy_", "[[4, 5], [5], []]", r#"["float", "c10::Half", "Scalar"]"#, "").unwrap();
        assert_eq!((copy.flops, copy.bytes), (0, Some(80 + 10)));
    }

    #[test]
    fn lists_are_summed_up() {
        let lists = "[[[128, 128], [128]], [[128, 128], [128]], []]";
        let add =
            work("aten::_foreach_add_", lists, r#"["TensorList", "TensorList", "Scalar"]"#, "").unwrap();
        assert_eq!((add.flops, add.bytes), (128 * 128 + 128, None));
    }

    proptest! {
        #[test]
        fn stretching_is_as_numpy_does(
            left in prop::collection::vec(prop_oneof![Just(1_u64), 1_u64..4], 0..4),
            right in prop::collection::vec(prop_oneof![Just(1_u64), 1_u64..4], 0..4),
        ) {
            let padded = |sizes: &[u64], rank: usize| [vec![1; rank - sizes.len()], sizes.to_vec()].concat();
            let rank = left.len().max(right.len());
            let pairs: Vec<_> = padded(&left, rank).into_iter().zip(padded(&right, rank)).collect();
            let fits = pairs.iter().all(|&(a, b)| a == b || a == 1 || b == 1);
            let expected = fits.then(|| pairs.iter().map(|&(a, b)| u128::from(a.max(b))).product());
            let dims = format!("[{left:?}, {right:?}]");
            prop_assert_eq!(flops("aten::mul", &dims, r#"["float", "float"]"#, ""), expected);
        }
    }
}
