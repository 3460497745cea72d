//! Looking up rows: nothing is computed; the rows found are read and written, and the places read.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

/// `embedding(weight, places)`.
pub(crate) fn embedding(args: &Args) -> Option<Work> {
    let (weight, places) = (args.tensor(0)?, args.tensor(1)?);
    found(&weight, &places, places.numel() * weight.dim(-1)?)
}

/// `embedding_dense_backward(gradient, places, rows, …)`: gradients of the same row are summed up.
pub(crate) fn embedding_backward(args: &Args) -> Option<Work> {
    let (gradient, places) = (args.tensor(0)?, args.tensor(1)?);
    let rows = Count::from(u64::try_from(args.int(2)?).ok()?);
    let result = rows * gradient.dim(-1)? * gradient.element_bytes();
    Some(
        Work::new(Engine::Vector, gradient.numel())?
            .moving(gradient.bytes() + places.bytes() + result)
            .in_precision(gradient.dtype.and_then(|dtype| dtype.precision))
            .with("elements", gradient.numel()),
    )
}

/// `index_select(input, dim, places)`.
pub(crate) fn index_select(args: &Args) -> Option<Work> {
    let (input, places) = (args.tensor(0)?, args.tensor(2)?);
    let size = input.dim(isize::try_from(args.int(1)?).ok()?)?;
    found(&input, &places, input.numel().exact_div(size) * places.numel())
}

/// `gather(input, dim, places, …)`.
pub(crate) fn gather(args: &Args) -> Option<Work> {
    let (input, places) = (args.tensor(0)?, args.tensor(2)?);
    found(&input, &places, places.numel())
}

fn found(from: &Tensor, places: &Tensor, elements: Count) -> Option<Work> {
    Some(
        Work::new(Engine::Vector, Count::ZERO)?
            .moving(2 * elements * from.element_bytes() + places.bytes())
            .with("elements", elements),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::bytes;

    #[test]
    fn only_rows_found_are_moved() {
        let embedding = bytes("aten::embedding", "[[1000, 64], [5, 7]]", r#"["c10::Half", "long int"]"#, "");
        assert_eq!(embedding, Some(2 * 2 * 35 * 64 + 35 * 8));
        let types = r#"["c10::Half", "Scalar", "long int"]"#;
        let select =
            |dim| bytes("aten::index_select", "[[30, 64], [], [7]]", types, &format!(r#"["", "{dim}", ""]"#));
        assert_eq!(select(0), Some(2 * 2 * 7 * 64 + 7 * 8));
        assert_eq!(select(-1), Some(2 * 2 * 7 * 30 + 7 * 8));
        assert_eq!(select(2), None);
    }
}
