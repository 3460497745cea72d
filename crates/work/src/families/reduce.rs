//! Reductions: one operation per element that goes in; input and result moved once.

use crate::args::{Args, MAX_RANK, Tensor};
use crate::count::Count;
use crate::dtype::DType;
use crate::work::{Engine, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduce {
    /// Where the dimensions are: a list, or one number with a flag after it.
    dims: usize,
    result: ResultType,
    /// Whether reducing along one dimension also answers where.
    indices: bool,
}

#[derive(Clone, Copy, Debug)]
enum ResultType {
    Same,
    /// Sums of whole numbers are 64 bits wide.
    Sum,
    Place,
    Truth,
}

const PLACE: u64 = 8;

impl Reduce {
    pub(crate) const EXTREME: Reduce = Reduce { dims: 1, result: ResultType::Same, indices: true };
    pub(crate) const STATISTIC: Reduce = Reduce { indices: false, ..Reduce::EXTREME };
    pub(crate) const SUM: Reduce = Reduce { result: ResultType::Sum, ..Reduce::STATISTIC };
    pub(crate) const NORM: Reduce = Reduce { dims: 2, ..Reduce::STATISTIC };
    pub(crate) const PLACE: Reduce = Reduce { result: ResultType::Place, ..Reduce::STATISTIC };
    pub(crate) const TRUTH: Reduce = Reduce { result: ResultType::Truth, ..Reduce::STATISTIC };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let input = args.tensor(0)?;
        if args.tensor(self.dims).is_some() {
            // `max(this, that)` is no reduction but elementwise.
            return super::elementwise::Elementwise::BINARY.work(args);
        }
        let kept = self.kept(args, &input)?;
        let along_one = args.flag(self.dims + 1).is_some() && args.int(self.dims).is_some();
        let results: Count = input
            .shape
            .sizes()
            .iter()
            .zip(kept)
            .map(|(&size, kept)| Count::from(if kept { size } else { 1 }))
            .product();
        let bytes = match self.result {
            ResultType::Same => input.element_bytes(),
            ResultType::Sum => sum_bytes(&input),
            ResultType::Place => Count::from(PLACE),
            ResultType::Truth => Count::ONE,
        };
        let places = (PLACE * results).when(self.indices && along_one);
        Some(describe(
            Work::new(Engine::Vector, input.numel())?.moving(input.bytes() + results * bytes + places),
            &input,
            results,
        ))
    }

    /// Which dimensions remain; none unless some are told.
    fn kept(&self, args: &Args, input: &Tensor) -> Option<[bool; MAX_RANK]> {
        let rank = input.rank();
        let listed = args.value(self.dims).is_some_and(|value| value.starts_with('['));
        let one = args.flag(self.dims + 1).is_some() && args.int(self.dims).is_some();
        let mut kept = [listed || one; MAX_RANK];
        if !listed && !one {
            return Some(kept);
        }
        let mut any = false;
        for dim in args.ints(self.dims)? {
            let dim = dim?;
            let index = if dim < 0 { i64::try_from(rank).ok()?.checked_add(dim)? } else { dim };
            let index = usize::try_from(index).ok().filter(|&index| index < rank.max(1))?;
            kept[index] = false;
            any = true;
        }
        Some(if any { kept } else { [false; MAX_RANK] })
    }
}

/// Running sums and products: as many results as inputs.
pub(crate) fn scan(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let bytes = input.bytes() + input.numel() * sum_bytes(&input);
    Some(describe(Work::new(Engine::Vector, input.numel())?.moving(bytes), &input, input.numel()))
}

/// `mse_loss(input, target, reduction)`: differences, squares and their sum.
pub(crate) fn squared_error(args: &Args) -> Option<Work> {
    let (input, target) = (args.tensor(0)?, args.tensor(1)?);
    let elements = input.shape.broadcast(target.shape)?.numel();
    let results = if args.int(2)? == 0 { elements } else { Count::ONE };
    let bytes = input.bytes() + target.bytes() + results * input.element_bytes();
    Some(describe(Work::new(Engine::Vector, 3 * elements)?.moving(bytes), &input, results))
}

fn describe(work: Work, input: &Tensor, results: Count) -> Work {
    work.in_precision(input.dtype.and_then(|dtype| dtype.precision))
        .with("elements", input.numel())
        .with("results", results)
}

/// Sums of whole numbers are 64 bits wide.
fn sum_bytes(input: &Tensor) -> Count {
    match input.dtype {
        Some(DType { precision: None, bytes }) => Count::from(bytes.max(8)),
        _ => input.element_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    fn moved(name: &str, dims: &str, rest: &str) -> Option<u64> {
        let dims = format!("[{dims}, [], [], []]");
        bytes(name, &dims, r#"["float", "ScalarList", "Scalar", ""]"#, &format!(r#"["", {rest}]"#))
    }

    #[test]
    fn dimensions_are_read_from_their_text() {
        let input = 4 * 16 * 559 * 1024;
        let mean = |dims: &str| moved("aten::mean", "[16, 559, 1024]", &format!(r#""{dims}", "True", """#));
        assert_eq!(mean("[-1]"), Some(input + 4 * 16 * 559));
        assert_eq!(mean("[0, 2]"), Some(input + 4 * 559));
        assert_eq!(mean("[]"), Some(input + 4));
        assert_eq!(mean("[3]"), None);
        assert_eq!(mean("[-4]"), None);
        assert_eq!(mean("[x]"), None);
        assert_eq!(mean("[-9223372036854775808]"), None);
        assert_eq!(flops("aten::mean", "[[16, 559, 1024]]", r#"["float"]"#, ""), Some(16 * 559 * 1024));
    }

    #[test]
    fn a_number_is_a_dimension_only_before_a_flag() {
        assert_eq!(moved("aten::max", "[3, 5]", r#""1", "False""#), Some(4 * 15 + 3 * (4 + 8)));
        assert_eq!(moved("aten::sum", "[3, 5]", r#""6""#), Some(4 * 15 + 4), "6 is a type");
        assert_eq!(moved("aten::argmax", "[3, 5]", r#""-1", "False""#), Some(4 * 15 + 3 * 8));
        assert_eq!(moved("aten::norm", "[3, 5]", r#""2", "[1]", "False""#), Some(4 * 15 + 4 * 3));
    }

    #[test]
    fn the_larger_of_two_tensors_is_elementwise() {
        assert_eq!(bytes("aten::max", "[[8], [8]]", r#"["float", "float"]"#, r#"["", ""]"#), Some(3 * 32));
    }

    #[test]
    fn sums_of_whole_numbers_are_wide() {
        assert_eq!(bytes("aten::sum", "[[8]]", r#"["bool"]"#, r#"["", ""]"#), Some(8 + 8));
        assert_eq!(
            bytes("aten::cumsum", "[[8], []]", r#"["int", "Scalar"]"#, r#"["", "0"]"#),
            Some(8 * 4 + 8 * 8)
        );
    }
}
