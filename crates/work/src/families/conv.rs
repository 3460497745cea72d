//! Convolutions: every result takes `2·C_in/groups·kernel` operations (every input, if transposed), one more
//! with a bias. Input, weight, bias and result are moved once.
//!
//! Going back, the gradient of the input and that of the weight each take what the convolution took, and each
//! moves its two operands and its result; the gradient of the bias sums up the gradient of the result. Only
//! those that the output mask asks for are counted.

use crate::args::{Args, Shape, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

/// Where a convolution of an input and a weight finds its settings. The input is the first argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv {
    bias: Option<usize>,
    stride: usize,
    padding: usize,
    /// Absent: 1.
    dilation: Option<usize>,
    /// Absent: not transposed.
    transposed: Option<Transposed>,
    groups: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Transposed {
    flag: usize,
    output_padding: usize,
}

impl Conv {
    pub(crate) const ATEN: Conv = Conv {
        bias: Some(2),
        stride: 3,
        padding: 4,
        dilation: Some(5),
        transposed: Some(Transposed { flag: 6, output_padding: 7 }),
        groups: Some(8),
    };
    pub(crate) const CUDNN: Conv =
        Conv { bias: None, padding: 2, stride: 3, dilation: Some(4), transposed: None, groups: Some(5) };
    pub(crate) const CUDNN_RELU: Conv =
        Conv { bias: Some(2), stride: 3, padding: 4, dilation: Some(5), transposed: None, groups: Some(6) };
    pub(crate) const MIOPEN: Conv =
        Conv { bias: Some(2), padding: 3, stride: 4, dilation: Some(5), transposed: None, groups: Some(6) };
    /// Apex' fused convolutions.
    pub(crate) const APEX: Conv =
        Conv { bias: Some(2), padding: 3, stride: 4, dilation: None, transposed: None, groups: None };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let (input, weight) = (args.tensor(0)?, args.tensor(1)?);
        let bias = self.bias.and_then(|at| args.tensor(at));
        let transposed = match self.transposed {
            Some(transposed) => args.flag(transposed.flag)?,
            None => false,
        };
        let output = self.output(args, &input.shape, &weight.shape, transposed)?;
        let flops = product(&input, &weight, &output, transposed) + output.when(bias.is_some());
        let bytes = input.bytes() + weight.bytes() + bias.map_or(Count::ZERO, |bias| bias.bytes());
        Some(
            describe(Work::new(Engine::Matrix, flops)?, &input, &weight)
                .moving(bytes + output * input.element_bytes()),
        )
    }

    /// How many elements come out.
    fn output(&self, args: &Args, input: &Shape, weight: &Shape, transposed: bool) -> Option<Count> {
        let spatial = input.rank().checked_sub(2).filter(|_| input.rank() == weight.rank())?;
        let setting = |place: usize| settings(args, place, spatial);
        let (stride, padding) = (setting(self.stride)?, setting(self.padding)?);
        let dilation = self.dilation.map_or_else(|| Shape::of(&vec![1; spatial]), setting)?;
        let groups = match self.groups {
            Some(at) => u64::try_from(args.int(at)?).ok()?,
            None => 1,
        };
        let channels = if transposed { groups * weight.dim(1)? } else { weight.dim(0)? };
        let extra = match self.transposed {
            Some(at) if transposed => Some(setting(at.output_padding)?),
            _ => None,
        };
        let sizes = (0..spatial).map(|axis| {
            let [size, kernel] = [input, weight].map(|shape| i128::from(shape.sizes()[axis + 2]));
            let [stride, padding, dilation] =
                [stride, padding, dilation].map(|shape| i128::from(shape.sizes()[axis]));
            let reach = dilation.checked_mul(kernel - 1)?;
            let size = match extra {
                Some(extra) => {
                    let grown =
                        (size - 1).checked_mul(stride)?.checked_sub(2 * padding)?.checked_add(reach)?;
                    grown + i128::from(extra.sizes()[axis]) + 1
                }
                None => {
                    size.checked_add(2 * padding)?.checked_sub(reach + 1)?.checked_div_euclid(stride)? + 1
                }
            };
            u64::try_from(size).ok()
        });
        Some(input.dim(0)? * channels * Shape::collect(sizes)?.numel())
    }
}

/// The gradients of a convolution.
pub(crate) fn backward(args: &Args) -> Option<Work> {
    let [output, input, weight] = [args.tensor(0)?, args.tensor(1)?, args.tensor(2)?];
    let transposed = args.flag(7)?;
    let mut wanted = args.flags(10)?;
    let [of_input, of_weight, of_bias] = [wanted.next()??, wanted.next()??, wanted.next()??];
    let forward = product(&input, &weight, &output.numel(), transposed);
    let flops = forward.when(of_input) + forward.when(of_weight) + output.numel().when(of_bias);
    let touched = input.bytes() + weight.bytes() + output.bytes();
    let bias = output.bytes() + output.dim(1)? * weight.element_bytes();
    Some(
        describe(Work::new(Engine::Matrix, flops)?, &input, &weight)
            .moving(touched.when(of_input) + touched.when(of_weight) + bias.when(of_bias)),
    )
}
/// Multiplications and additions between input and weight.
fn product(input: &Tensor, weight: &Tensor, output: &Count, transposed: bool) -> Count {
    let per_element: Count = weight.shape.sizes().iter().skip(1).map(|&size| Count::from(size)).product();
    let elements = if transposed { input.numel() } else { *output };
    2 * elements * per_element
}

fn describe(work: Work, input: &Tensor, weight: &Tensor) -> Work {
    const INPUT: [&str; 5] = ["N", "C", "X1", "X2", "X3"];
    const WEIGHT: [&str; 5] = ["W0", "W1", "K1", "K2", "K3"];
    let sizes = |names: [&'static str; 5], tensor: &Tensor| {
        names.into_iter().zip(tensor.shape.sizes().to_vec()).collect::<Vec<_>>()
    };
    let all = sizes(INPUT, input).into_iter().chain(sizes(WEIGHT, weight));
    let work = work.in_precision(input.dtype.and_then(|dtype| dtype.precision));
    all.fold(work, |work, (name, size)| work.with(name, Count::from(size)))
}

/// One value per spatial axis; a single one holds for all.
fn settings(args: &Args, place: usize, axes: usize) -> Option<Shape> {
    let values = Shape::collect(args.ints(place)?.map(|value| u64::try_from(value?).ok()))?;
    match values.sizes() {
        [one] => Shape::collect((0..axes).map(|_| Some(*one))),
        all => (all.len() == axes).then_some(values),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{flops, work};

    const TYPES: &str = r#"["float", "float", "float"]"#;

    fn conv(input: &str, weight: &str, bias: &str, settings: &str) -> Option<crate::Work> {
        let dims = format!("[{input}, {weight}, {bias}, [], [], [], [], [], []]");
        let types = if bias == "[]" { r#"["float", "float", ""]"# } else { TYPES };
        work("aten::convolution", &dims, types, &format!(r#"["", "", "", {settings}]"#))
    }

    /// Results per axis, counted one kernel position after another.
    fn positions(size: u64, kernel: u64, stride: u64, padding: u64, dilation: u64) -> u64 {
        (0..)
            .step_by(stride as usize)
            .take_while(|at| at + dilation * (kernel - 1) < size + 2 * padding)
            .count() as u64
    }

    #[test]
    fn every_result_takes_its_window() {
        for (size, kernel, stride, padding, dilation) in
            [(7, 3, 1, 0, 1), (7, 3, 2, 1, 1), (9, 2, 3, 2, 2), (5, 5, 1, 0, 1), (11, 3, 4, 5, 3)]
        {
            let settings = format!(r#""[{stride}]", "[{padding}]", "[{dilation}]", "False", "[0]", "2""#);
            let one =
                conv(&format!("[2, 6, {size}]"), &format!("[4, 3, {kernel}]"), "[]", &settings).unwrap();
            let results = 2 * 4 * positions(size, kernel, stride, padding, dilation);
            assert_eq!(one.flops, u128::from(results * 2 * 3 * kernel));
            assert_eq!(one.bytes, Some(4 * (2 * 6 * size + 4 * 3 * kernel + results)));
        }
    }

    #[test]
    fn a_bias_is_seen_in_its_place() {
        let settings = r#""[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1""#;
        let with = conv("[1, 2, 8, 8]", "[4, 2, 3, 3]", "[4]", settings).unwrap();
        let without = conv("[1, 2, 8, 8]", "[4, 2, 3, 3]", "[]", settings).unwrap();
        assert_eq!(with.flops - without.flops, 4 * 8 * 8);
        assert_eq!(with.bytes.unwrap() - without.bytes.unwrap(), 4 * 4);
    }

    #[test]
    fn a_transposed_one_does_what_the_other_does_backwards() {
        let forward =
            conv("[2, 3, 9]", "[5, 3, 4]", "[]", r#""[2]", "[1]", "[1]", "False", "[0]", "1""#).unwrap();
        // 9 → (9 + 2 - 4) / 2 + 1 = 4 → back to 9 with an output padding of 1.
        let back =
            conv("[2, 5, 4]", "[5, 3, 4]", "[]", r#""[2]", "[1]", "[1]", "True", "[1]", "1""#).unwrap();
        assert_eq!((back.flops, back.bytes), (forward.flops, forward.bytes));
    }

    #[test]
    fn only_gradients_asked_for_are_counted() {
        let backward = |mask: &str| {
            let dims = "[[2, 4, 8], [2, 3, 8], [4, 3, 3], [], [], [], [], [], [], [], []]";
            let concrete =
                format!(r#"["", "", "", "[4]", "[1]", "[1]", "[1]", "False", "[0]", "1", "{mask}"]"#);
            flops("aten::convolution_backward", dims, TYPES, &concrete)
        };
        let once = Some(2 * 2 * 4 * 8 * 3 * 3);
        assert_eq!(backward("[True, False, False]"), once);
        assert_eq!(backward("[False, True, False]"), once);
        assert_eq!(backward("[False, False, True]"), Some(2 * 4 * 8));
        assert_eq!(backward("[True, True, True]"), once.map(|once| 2 * once + 2 * 4 * 8));
        assert_eq!(backward(""), None);
    }

    #[test]
    fn impossible_settings_have_no_work() {
        for settings in [
            r#""[0]", "[0]", "[1]", "False", "[0]", "1""#,
            r#""[-1]", "[0]", "[1]", "False", "[0]", "1""#,
            r#""[1]", "[0]", "[9]", "False", "[0]", "1""#,
            r#""[1, 1]", "[0]", "[1]", "False", "[0]", "1""#,
            r#""[9223372036854775807]", "[9223372036854775807]", "[9223372036854775807]", "True", "[0]", "1""#,
            r#""[1]", "[0]", "[1]""#,
        ] {
            assert_eq!(conv("[2, 3, 9]", "[5, 3, 4]", "[]", settings), None, "{settings}");
        }
    }
}
