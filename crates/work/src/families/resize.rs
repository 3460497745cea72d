//! Changing the size of images: padding, enlarging, pooling. Input and result are moved once. Padding and
//! enlarging by the nearest only copy; pooling looks at every element of each window.

use crate::args::{Args, MAX_RANK, Shape, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

/// `pad(input, [left, right, top, bottom, …])`, from the last dimension on.
pub(crate) fn pad(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let mut amounts = args.ints(1)?;
    let mut sizes = [0; MAX_RANK];
    sizes[..input.rank()].copy_from_slice(input.shape.sizes());
    for size in sizes[..input.rank()].iter_mut().rev() {
        let Some(before) = amounts.next() else { break };
        let grown = i128::from(*size) + i128::from(before?) + i128::from(amounts.next()??);
        *size = u64::try_from(grown).ok()?;
    }
    if amounts.next().is_some() {
        return None;
    }
    let output = Shape::of(&sizes[..input.rank()])?;
    describe(Work::new(Engine::Vector, Count::ZERO)?, &input, output.numel(), Count::ZERO)
}

/// `upsample_nearest(input, output_size, scale_factors)`: the size, or factors instead.
pub(crate) fn enlarge(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let spatial = input.shape.sizes().get(2..).filter(|spatial| !spatial.is_empty())?;
    let given = args.ints(1).and_then(|sizes| Shape::collect(sizes.map(|size| u64::try_from(size?).ok())));
    let output = match given.filter(|size| size.rank() > 0) {
        Some(size) => size,
        None => Shape::collect(args.list(2)?.zip(spatial).map(|(factor, &size)| enlarged(size, factor)))?,
    };
    if output.rank() != spatial.len() {
        return None;
    }
    let elements = input.dim(0)? * input.dim(1)? * output.numel();
    describe(Work::new(Engine::Vector, Count::ZERO)?, &input, elements, Count::ZERO)
}

fn enlarged(size: u64, factor: &str) -> Option<u64> {
    let size = size as f64 * factor.parse::<f64>().ok()?;
    // Beyond this, floats have no place for every whole number; no image is as large.
    (0.0..9e15).contains(&size).then_some(size as u64)
}

/// `max_pool_with_indices(input, kernel, stride, padding, dilation, ceil_mode)`.
pub(crate) fn max_pool<const AXES: usize>(args: &Args) -> Option<Work> {
    let input = args.tensor(0)?;
    let window: Count = setting::<AXES>(args, 1)?.into_iter().map(Count::from).product();
    let output = pooled::<AXES>(args, &input)?;
    // The place of each largest element is kept for the way back.
    describe(Work::new(Engine::Vector, output * window)?, &input, output, 8 * output)
}

/// `max_pool_with_indices_backward(gradient, input, …, places)`: each gradient is added where it belongs.
pub(crate) fn max_pool_backward(args: &Args) -> Option<Work> {
    let (gradient, input) = (args.tensor(0)?, args.tensor(1)?);
    let places = args.tensors().skip(2).flatten().next()?;
    describe(Work::new(Engine::Vector, gradient.numel())?, &input, gradient.numel(), places.bytes())
}

/// How many windows there are, over all channels.
fn pooled<const AXES: usize>(args: &Args, input: &Tensor) -> Option<Count> {
    let setting = |place| setting::<AXES>(args, place);
    let kernel = setting(1)?;
    // Without strides of their own, windows lie side by side.
    let stride = setting(2).unwrap_or(kernel);
    let (padding, dilation) = (setting(3)?, setting(4)?);
    let round_up = args.flag(5)?;
    let leading = input.shape.leading(AXES)?;
    let mut windows: Count = leading.iter().map(|&size| Count::from(size)).product();
    for (axis, &size) in input.shape.sizes()[leading.len()..].iter().enumerate() {
        let [stride, padding, dilation, kernel] =
            [stride, padding, dilation, kernel].map(|at| i128::from(at[axis]));
        let reach = dilation.checked_mul(kernel - 1)?;
        let room = i128::from(size).checked_add(2 * padding)?.checked_sub(reach + 1)?;
        if stride == 0 || room < 0 {
            return None;
        }
        let mut steps = room / stride + i128::from(round_up && room % stride > 0);
        // A window that would start beyond the input and its left padding is left out.
        if round_up && steps.checked_mul(stride)? >= i128::from(size) + padding {
            steps -= 1;
        }
        windows = windows * Count::from(u64::try_from(steps + 1).ok()?);
    }
    Some(windows)
}

/// The numbers listed at a place, one per axis; a single one holds for all.
fn setting<const AXES: usize>(args: &Args, place: usize) -> Option<[u64; AXES]> {
    let mut values = args.ints(place)?.map(|value| u64::try_from(value?).ok());
    let first = values.next()??;
    let mut all = [first; AXES];
    let mut rest = values.peekable();
    if rest.peek().is_some() {
        for value in &mut all[1..] {
            *value = rest.next()??;
        }
    }
    rest.next().is_none().then_some(all)
}

fn describe(work: Work, input: &Tensor, output: Count, more: Count) -> Option<Work> {
    work.moving(input.bytes() + output * input.element_bytes() + more)
        .in_precision(input.dtype.and_then(|dtype| dtype.precision))
        .with("elements", input.numel())
        .with("results", output)
        .into()
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    fn moved(name: &str, input: &str, rest: &str) -> Option<u64> {
        bytes(name, &format!("[{input}, [], []]"), r#"["float"]"#, &format!(r#"["", {rest}]"#))
    }

    #[test]
    fn padding_starts_at_the_last_dimension() {
        assert_eq!(
            moved("aten::replication_pad2d", "[1, 2, 5, 7]", r#""[1, 2, 3, 0]""#),
            Some(4 * (70 + 2 * 8 * 10))
        );
        assert_eq!(moved("aten::replication_pad1d", "[2, 5]", r#""[-1, -1]""#), Some(4 * (10 + 2 * 3)));
        assert_eq!(moved("aten::replication_pad1d", "[2, 5]", r#""[-9, 0]""#), None);
        assert_eq!(moved("aten::replication_pad1d", "[5]", r#""[1, 1, 1, 1]""#), None);
    }

    #[test]
    fn factors_stand_in_for_a_size() {
        let expected = Some(4 * (2 * 3 * 4 + 2 * 6 * 8));
        assert_eq!(moved("aten::upsample_nearest2d", "[1, 2, 3, 4]", r#""[6, 8]", """#), expected);
        assert_eq!(moved("aten::upsample_nearest2d", "[1, 2, 3, 4]", r#""", "[2., 2.]""#), expected);
        assert_eq!(moved("aten::upsample_nearest2d", "[1, 2, 3, 4]", r#""[]", "[2., 2.]""#), expected);
        assert_eq!(moved("aten::upsample_nearest2d", "[1, 2, 3, 4]", r#""", """#), None);
        assert_eq!(moved("aten::upsample_nearest2d", "[1, 2, 3, 4]", r#""", "[1e300, nan]""#), None);
    }

    #[test]
    fn every_window_is_looked_at() {
        let of = |size: u64, ceil: &str| {
            let concrete = format!(r#"["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "{ceil}"]"#);
            flops(
                "aten::max_pool2d_with_indices",
                &format!("[[10, 64, {size}, {size}]]"),
                r#"["float"]"#,
                &concrete,
            )
        };
        assert_eq!(of(112, "False"), Some(10 * 64 * 56 * 56 * 9));
        assert_eq!(of(112, "True"), Some(10 * 64 * 57 * 57 * 9));
        assert_eq!(of(113, "False"), Some(10 * 64 * 57 * 57 * 9));
        assert_eq!(of(0, "False"), None);
    }
}
