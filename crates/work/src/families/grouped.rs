//! Products of groups of rows with a matrix each: `2·M·N·K` operations over all rows together; operands and
//! result are moved once. How the rows are shared out does not matter.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::dtype::DType;
use crate::work::{Engine, Work};

/// `grouped(a [M, K], b [G, K, N] or [G, N, K], …)`; with two matrices, the groups share out K.
pub(crate) fn work(args: &Args) -> Option<Work> {
    let (left, right) = (args.tensor(0)?, args.tensor(1)?);
    match (left.rank(), right.rank()) {
        (2, 3) => {
            let (rows, inner) = (left.dim(0)?, left.dim(1)?);
            let columns = if right.dim(1)? == inner {
                right.dim(2)?
            } else {
                right.dim(1).filter(|_| right.dim(2) == Some(inner))?
            };
            describe(&left, &right, rows * columns, [rows, columns, inner])
        }
        (2, 2) => {
            let groups = args.tensors().skip(2).flatten().find(|tensor| tensor.rank() == 1)?;
            let [rows, inner, columns] = if left.dim(0)? == right.dim(0)? {
                [left.dim(1)?, left.dim(0)?, right.dim(1)?]
            } else {
                [left.dim(0)?, left.dim(1).filter(|&inner| Some(inner) == right.dim(0))?, right.dim(1)?]
            };
            describe(&left, &right, groups.numel() * rows * columns, [rows, columns, inner])
        }
        _ => None,
    }
}

fn describe(left: &Tensor, right: &Tensor, results: Count, [m, n, k]: [Count; 3]) -> Option<Work> {
    let wide = match left.dtype {
        Some(DType { bytes: 1, .. }) => Count::from(DType::HALF.bytes),
        _ => left.element_bytes(),
    };
    Some(
        Work::new(Engine::Matrix, 2 * m * n * k)?
            .moving(left.bytes() + right.bytes() + results * wide)
            .in_precision(left.dtype.and_then(|dtype| dtype.precision))
            .with("M", m)
            .with("N", n)
            .with("K", k),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::work;

    #[test]
    fn groups_do_not_change_the_sum() {
        let types = r#"["c10::Half", "c10::Half", "int"]"#;
        let of = |dims| work("aten::_grouped_mm", dims, types, "").map(|work| (work.flops, work.bytes));
        let flops = 2 * 100 * 32 * 64;
        assert_eq!(of("[[100, 32], [4, 32, 64], [4]]"), Some((flops, Some(2 * (3200 + 4 * 2048 + 6400)))));
        assert_eq!(of("[[100, 32], [4, 64, 32], [4]]"), Some((flops, Some(2 * (3200 + 4 * 2048 + 6400)))));
        assert_eq!(of("[[32, 100], [100, 64], [4]]"), Some((flops, Some(2 * (3200 + 6400 + 4 * 2048)))));
        assert_eq!(of("[[100, 32], [4, 65, 66], [4]]"), None);
    }
}
