//! Matrix products: `2·M·N·K` operations, `M·N` more to add a bias. Both matrices, the bias, the scales and
//! the result are moved once.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::dtype::{DType, Precision};
use crate::work::{Engine, Work};

/// Where a product finds its operands, and how they lie. Matrices may have leading dimensions: batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm {
    /// `[M, K]` unless transposed.
    a: Matrix,
    /// `[K, N]` unless transposed.
    b: Matrix,
    packed: Packed,
    bias: Option<Bias>,
    /// Scales of quantised operands, where they are tensors.
    scales: &'static [usize],
    output: Output,
}

#[derive(Clone, Copy, Debug)]
struct Matrix {
    at: usize,
    transposed: Transposed,
}

#[derive(Clone, Copy, Debug)]
enum Transposed {
    No,
    Yes,
    /// As the flag at this place says.
    Flag(usize),
}

/// Which matrices hold two elements of four bits in each byte along K.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packed {
    Neither,
    B,
    Both,
}

#[derive(Clone, Copy, Debug)]
enum Bias {
    At(usize),
    /// Not read if the factor at the second place is zero.
    Scaled(usize, usize),
}

/// What type the result has.
#[derive(Clone, Copy, Debug)]
enum Output {
    LikeA,
    /// Products of one-byte elements are kept in two bytes.
    Wide,
    /// The type with the number at this place if it is given, else as [`Output::Wide`].
    Code(usize),
    /// That of the tensor at this place if it is given, else as [`Output::Wide`].
    At(usize),
}

const fn stored(at: usize) -> Matrix {
    Matrix { at, transposed: Transposed::No }
}

const fn transposed(at: usize) -> Matrix {
    Matrix { at, transposed: Transposed::Yes }
}

const fn flagged(at: usize, flag: usize) -> Matrix {
    Matrix { at, transposed: Transposed::Flag(flag) }
}

impl Gemm {
    pub(crate) const MM: Gemm = Gemm {
        a: stored(0),
        b: stored(1),
        packed: Packed::Neither,
        bias: None,
        scales: &[],
        output: Output::LikeA,
    };
    pub(crate) const WIDE_MM: Gemm = Gemm { output: Output::Wide, ..Gemm::MM };
    pub(crate) const ADDMM: Gemm =
        Gemm { a: stored(1), b: stored(2), bias: Some(Bias::Scaled(0, 3)), ..Gemm::MM };
    pub(crate) const SCALED_MM: Gemm =
        Gemm { scales: &[2, 3], bias: Some(Bias::At(4)), output: Output::Code(6), ..Gemm::MM };
    pub(crate) const TRTLLM: Gemm = Gemm { output: Output::Code(5), ..Gemm::SCALED_MM };
    pub(crate) const SGL: Gemm = Gemm { bias: Some(Bias::At(5)), output: Output::Code(4), ..Gemm::SCALED_MM };
    pub(crate) const CUTLASS: Gemm = Gemm {
        a: stored(1),
        b: stored(2),
        scales: &[3, 4],
        bias: Some(Bias::At(5)),
        output: Output::At(0),
        ..Gemm::MM
    };
    /// Weights are `[N, K]`, as linear layers keep them.
    pub(crate) const LINEAR: Gemm = Gemm { b: transposed(1), bias: Some(Bias::At(2)), ..Gemm::MM };
    pub(crate) const LINEAR_PLAIN: Gemm = Gemm { bias: None, ..Gemm::LINEAR };
    pub(crate) const A16W16: Gemm = Gemm { output: Output::Code(3), ..Gemm::LINEAR };
    pub(crate) const A8W8: Gemm = Gemm { scales: &[2, 3], output: Output::Wide, ..Gemm::LINEAR_PLAIN };
    pub(crate) const A8W8_INTO: Gemm = Gemm { output: Output::At(4), ..Gemm::A8W8 };
    pub(crate) const A4W4: Gemm = Gemm { packed: Packed::Both, ..Gemm::A8W8 };
    pub(crate) const W4: Gemm = Gemm { packed: Packed::B, output: Output::LikeA, ..Gemm::LINEAR_PLAIN };
    pub(crate) const HIPBLASLT_FP8: Gemm =
        Gemm { a: flagged(0, 5), b: flagged(2, 6), scales: &[1, 3], output: Output::Code(4), ..Gemm::MM };
    pub(crate) const HIPBLASLT_FP4: Gemm = Gemm { b: transposed(2), scales: &[1, 3], ..Gemm::A4W4 };
    /// Transformer Engine counts by columns as BLAS does: by rows, the product is `op(B)·op(A)`.
    pub(crate) const TRANSFORMER_ENGINE: Gemm = Gemm {
        a: flagged(5, 9),
        b: flagged(0, 4),
        bias: Some(Bias::At(14)),
        output: Output::At(10),
        ..Gemm::MM
    };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let (left, right) = (args.tensor(self.a.at)?, args.tensor(self.b.at)?);
        let (m, a_k) = self.a.sizes(args, &left)?;
        let (b_k, n) = self.b.sizes(args, &right)?;
        let (k, weights_k) = match self.packed {
            Packed::Neither => (a_k, b_k),
            Packed::B => (a_k, 2 * b_k),
            Packed::Both => (2 * a_k, 2 * b_k),
        };
        if k != weights_k {
            return None;
        }
        let batches: Count = left.shape.leading(2)?.iter().map(|&size| Count::from(size)).product();
        let results = batches * m * n;
        let bias = self.bias.and_then(|bias| bias.tensor(args));
        let scales: Count =
            self.scales.iter().filter_map(|&at| args.tensor(at)).map(|scale| scale.bytes()).sum();

        let mut work = Work::new(Engine::Matrix, 2 * results * k + results.when(bias.is_some()))?
            .moving(
                left.bytes()
                    + right.bytes()
                    + bias.map_or(Count::ZERO, |bias| bias.bytes())
                    + scales
                    + results * self.output.element_bytes(args, &left),
            )
            .in_precision(match self.packed {
                Packed::Neither => left.dtype.and_then(|dtype| dtype.precision),
                Packed::B | Packed::Both => Some(Precision::Fp4),
            });
        if left.rank() > 2 {
            work = work.with("B", batches);
        }
        work = work.with("M", m).with("N", n).with("K", k);
        Some(if bias.is_some() { work.with("bias", Count::ONE) } else { work })
    }
}

impl Matrix {
    /// Rows and columns as the product takes them.
    fn sizes(self, args: &Args, tensor: &Tensor) -> Option<(Count, Count)> {
        let (rows, columns) = (tensor.dim(-2)?, tensor.dim(-1)?);
        let transposed = match self.transposed {
            Transposed::No => false,
            Transposed::Yes => true,
            Transposed::Flag(at) => args.flag(at)?,
        };
        Some(if transposed { (columns, rows) } else { (rows, columns) })
    }
}

impl Bias {
    fn tensor(self, args: &Args) -> Option<Tensor> {
        match self {
            Bias::At(at) => args.tensor(at),
            Bias::Scaled(at, factor) => {
                let unread = args.value(factor).and_then(|beta| beta.parse::<f64>().ok()) == Some(0.0);
                args.tensor(at).filter(|_| !unread)
            }
        }
    }
}

impl Output {
    fn element_bytes(self, args: &Args, a: &Tensor) -> Count {
        let given = match self {
            Output::LikeA => return a.element_bytes(),
            Output::Wide => None,
            Output::Code(at) => args.dtype_code(at),
            Output::At(at) => args.tensor(at).and_then(|tensor| tensor.dtype),
        };
        let wide = |dtype: DType| if dtype.bytes == 1 { DType::HALF } else { dtype };
        given.or(a.dtype.map(wide)).map_or(Count::UNKNOWN, |dtype| Count::from(dtype.bytes))
    }
}

#[cfg(test)]
mod tests {
    use crate::Precision;
    use crate::testing::work;

    #[test]
    fn a_bias_counts_once_per_result_and_is_moved_as_large_as_it_is() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#;
        let dims = "[[512], [141, 512], [512, 512], [], []]";
        let addmm = work("aten::addmm", dims, types, r#"["", "", "", "1", "1"]"#).unwrap();
        assert_eq!((addmm.flops, addmm.bytes), (73_996_800, Some(814_080)));
        assert_eq!(addmm.params.to_string(), "M=141 N=512 K=512 bias=1");
        assert_eq!(addmm.precision, Some(Precision::Bf16));
        let unread = work("aten::addmm", dims, types, r#"["", "", "", "0", "1"]"#).unwrap();
        assert_eq!((unread.flops, unread.bytes), (2 * 141 * 512 * 512, Some(814_080 - 1024)));
    }

    #[test]
    fn the_result_of_a_scaled_product_has_the_type_asked_for() {
        let types =
            r#"["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"]"#;
        let dims = "[[16, 64], [64, 32], [], [], [], [], [], []]";
        let bytes = |code: &str| {
            let concrete = format!(r#"["", "", "", "", "", "", "{code}", "False"]"#);
            work("aten::_scaled_mm", dims, types, &concrete).unwrap().bytes.unwrap()
        };
        let operands = 16 * 64 + 64 * 32 + 4 + 4;
        assert_eq!(bytes("15"), operands + 2 * 16 * 32);
        assert_eq!(bytes("6"), operands + 4 * 16 * 32);
        assert_eq!(bytes("24"), operands + 16 * 32);
        assert_eq!(bytes(""), operands + 2 * 16 * 32);
    }

    #[test]
    fn four_bit_operands_are_twice_as_long_as_they_look() {
        let types = r#"["c10::Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", "unsigned char", "unsigned char"]"#;
        let a4w4 = work("aiter::gemm_a4w4", "[[16, 32], [8, 32], [16, 2], [8, 2]]", types, "").unwrap();
        assert_eq!(a4w4.flops, 2 * 16 * 8 * 64);
        assert_eq!(a4w4.bytes, Some(16 * 32 + 8 * 32 + 16 * 2 + 8 * 2 + 2 * 16 * 8));
        assert_eq!(a4w4.precision, Some(Precision::Fp4));
    }

    #[test]
    fn flags_transpose() {
        let dims = "[[24, 32], [], [], [], [], [16, 32], [], [], [], [], [16, 24]]";
        let types = r#"["c10::Half", "", "", "", "", "c10::Half", "", "", "", "", "c10::Half"]"#;
        let forward =
            work("tex_ts::te_gemm_ts", dims, types, r#"["", "", "", "", "1", "", "", "", "", "0"]"#);
        assert_eq!(forward.unwrap().params.to_string(), "M=16 N=24 K=32");
        let wrong = work("tex_ts::te_gemm_ts", dims, types, r#"["", "", "", "", "0", "", "", "", "", "0"]"#);
        assert_eq!(wrong, None);
    }

    #[test]
    fn what_does_not_fit_together_has_no_work() {
        let types = r#"["float", "float"]"#;
        for dims in ["", "[[2, 3]]", "[[2, 3], [4, 5]]", "[[3], [3]]", "[[], []]"] {
            assert_eq!(work("aten::mm", dims, types, ""), None, "{dims}");
        }
        let huge = u64::MAX;
        let dims = format!("[[{huge}, {huge}], [{huge}, {huge}]]");
        assert_eq!(work("aten::mm", &dims, types, ""), None);
        let untyped = work("aten::mm", "[[2, 3], [3, 4]]", "", "").unwrap();
        assert_eq!((untyped.flops, untyped.bytes, untyped.precision), (48, None, None));
    }
}
