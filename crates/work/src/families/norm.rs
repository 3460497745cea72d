//! Normalisations: two operations per element to scale and shift, three more where mean and variance are
//! computed, six per channel. Going back: four per element for the sums that the gradients of weight and bias
//! are, and for that of the input five more where the statistics depended on it, else two; three per channel
//! where they did not. All tensors given and all results are moved once.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

/// Where a normalisation finds its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    input: usize,
    /// Weight, bias and running statistics.
    reads: &'static [usize],
    channels: Channels,
    statistics: Statistics,
    pass: Pass,
}

#[derive(Clone, Copy, Debug)]
enum Channels {
    /// The second dimension of the input.
    Second,
    /// The sizes listed at this place.
    Listed(usize),
}

/// Where mean and variance come from.
#[derive(Clone, Copy, Debug)]
enum Statistics {
    /// Computed here, for so many groups of elements.
    Computed(Groups),
    /// Computed if the flag says so, one each per channel; else the running ones.
    Flag(usize),
}

#[derive(Clone, Copy, Debug)]
enum Groups {
    /// One per channel.
    Channels,
    /// One per channel of each sample.
    SampleChannels,
    /// One per row of the listed sizes.
    Rows,
    /// So many, as the number at this place says, per sample.
    At(usize),
}

#[derive(Clone, Copy, Debug)]
enum Pass {
    Forward,
    /// The gradients asked for are flagged at this place; absent: all three.
    Backward(Option<usize>),
}

impl Norm {
    pub(crate) const BATCH: Norm = Norm {
        input: 0,
        reads: &[1, 2, 3, 4],
        channels: Channels::Second,
        statistics: Statistics::Flag(5),
        pass: Pass::Forward,
    };
    pub(crate) const INSTANCE: Norm =
        Norm { statistics: Statistics::Computed(Groups::SampleChannels), ..Norm::BATCH };
    pub(crate) const LAYER: Norm = Norm {
        reads: &[2, 3],
        channels: Channels::Listed(1),
        statistics: Statistics::Computed(Groups::Rows),
        ..Norm::BATCH
    };
    pub(crate) const GROUP: Norm =
        Norm { reads: &[2, 3], statistics: Statistics::Computed(Groups::At(1)), ..Norm::BATCH };
    pub(crate) const NATIVE_GROUP: Norm =
        Norm { reads: &[1, 2], statistics: Statistics::Computed(Groups::At(6)), ..Norm::BATCH };

    pub(crate) const BATCH_BACKWARD: Norm = Norm {
        input: 1,
        reads: &[0, 2, 5, 6],
        statistics: Statistics::Flag(7),
        pass: Pass::Backward(Some(9)),
        ..Norm::BATCH
    };
    /// The libraries' are for training only, and take the input first.
    pub(crate) const LIBRARY_BATCH_BACKWARD: Norm = Norm {
        input: 0,
        reads: &[1, 2, 5, 6],
        statistics: Statistics::Computed(Groups::Channels),
        pass: Pass::Backward(None),
        ..Norm::BATCH
    };
    pub(crate) const LAYER_BACKWARD: Norm = Norm {
        input: 1,
        reads: &[0, 3, 4, 5],
        channels: Channels::Listed(2),
        pass: Pass::Backward(Some(7)),
        ..Norm::LAYER
    };
    pub(crate) const GROUP_BACKWARD: Norm = Norm {
        input: 1,
        reads: &[0, 2, 3, 4],
        statistics: Statistics::Computed(Groups::At(8)),
        pass: Pass::Backward(Some(9)),
        ..Norm::BATCH
    };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let input = args.tensor(self.input)?;
        let elements = input.numel();
        let channels = self.channels.count(args, &input)?;
        let computed = match self.statistics {
            Statistics::Computed(_) => true,
            Statistics::Flag(at) => args.flag(at)?,
        };
        let read: Count =
            self.reads.iter().filter_map(|&at| args.tensor(at)).map(|tensor| tensor.bytes()).sum();
        let (flops, bytes) = match self.pass {
            Pass::Forward => {
                let flops = 2 * elements + (3 * elements).when(computed) + 6 * channels;
                (flops, 2 * input.bytes() + read + self.kept(args, &input, channels)?.when(computed))
            }
            Pass::Backward(mask) => {
                let [of_input, of_weight, of_bias] = gradients(args, mask)?;
                let through_input = if computed { 5 * elements } else { 2 * elements };
                let sums = 4 * elements + (3 * channels).when(!computed);
                let weights = Count::from(u64::from(of_weight) + u64::from(of_bias)) * channels;
                let results = elements.when(of_input) + weights;
                (sums + through_input.when(of_input), input.bytes() + read + results * input.element_bytes())
            }
        };
        Some(
            Work::new(Engine::Vector, flops)?
                .moving(bytes)
                .in_precision(input.dtype.and_then(|dtype| dtype.precision))
                .with("elements", elements)
                .with("channels", channels),
        )
    }

    /// The bytes of mean and deviation that are kept for the way back, and of running ones written again.
    fn kept(&self, args: &Args, input: &Tensor, channels: Count) -> Option<Count> {
        let samples = input.dim(0)?;
        let groups = match self.statistics {
            Statistics::Flag(_) | Statistics::Computed(Groups::Channels) => channels,
            Statistics::Computed(Groups::SampleChannels) => samples * channels,
            Statistics::Computed(Groups::Rows) => input.numel().exact_div(channels),
            Statistics::Computed(Groups::At(at)) => samples * Count::from(u64::try_from(args.int(at)?).ok()?),
        };
        let wide = input.dtype.map_or(Count::UNKNOWN, |dtype| Count::from(dtype.bytes.max(4)));
        let running: Count = match self.channels {
            Channels::Second if self.reads.len() == 4 => {
                [3, 4].into_iter().filter_map(|at| args.tensor(at)).map(|t| t.bytes()).sum()
            }
            _ => Count::ZERO,
        };
        Some(2 * groups * wide + running)
    }
}

impl Channels {
    fn count(self, args: &Args, input: &Tensor) -> Option<Count> {
        match self {
            Channels::Second => input.dim(1),
            Channels::Listed(at) => listed(args, at),
        }
    }
}

/// The product of the sizes listed at this place.
pub(super) fn listed(args: &Args, at: usize) -> Option<Count> {
    let mut sizes = args.ints(at)?.map(|size| u64::try_from(size?).ok()).peekable();
    sizes.peek()?;
    Some(sizes.map(|size| size.map_or(Count::UNKNOWN, Count::from)).product())
}

fn gradients(args: &Args, mask: Option<usize>) -> Option<[bool; 3]> {
    let Some(at) = mask else { return Some([true; 3]) };
    let mut wanted = args.flags(at)?;
    Some([wanted.next()??, wanted.next()??, wanted.next()??])
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    const N: u64 = 8 * 16 * 32 * 32;
    const FIVE: &str = r#"["float", "float", "float", "float", "float"]"#;

    fn batch(training: &str) -> (Option<u128>, Option<u64>) {
        let dims = "[[8, 16, 32, 32], [16], [16], [16], [16], [], [], []]";
        let concrete = format!(r#"["", "", "", "", "", "{training}", "0.1", "1e-05"]"#);
        (
            flops("aten::native_batch_norm", dims, FIVE, &concrete),
            bytes("aten::native_batch_norm", dims, FIVE, &concrete),
        )
    }

    #[test]
    fn training_is_read_as_text() {
        // Input, result and four tensors; in training also two kept and two written again.
        assert_eq!(batch("True"), (Some(u128::from(5 * N + 6 * 16)), Some(4 * (2 * N + 8 * 16))));
        assert_eq!(batch("False"), (Some(u128::from(2 * N + 6 * 16)), Some(4 * (2 * N + 4 * 16))));
        assert_eq!(batch(""), (None, None));
    }

    #[test]
    fn layers_have_as_many_channels_as_their_shape_says() {
        let dims = "[[4, 10, 32], [], [32], [32], []]";
        let types = r#"["c10::Half", "ScalarList", "c10::Half", "c10::Half", "Scalar"]"#;
        let of = |shape: &str| {
            let concrete = format!(r#"["", "{shape}", "", "", "1e-05"]"#);
            (
                flops("aten::native_layer_norm", dims, types, &concrete),
                bytes("aten::native_layer_norm", dims, types, &concrete),
            )
        };
        assert_eq!(of("[32]"), (Some(5 * 1280 + 6 * 32), Some(2 * (2 * 1280 + 2 * 32) + 2 * 40 * 4)));
        assert_eq!(of("[]").0, None);
    }

    #[test]
    fn only_gradients_asked_for_are_counted() {
        let dims = "[[8, 16], [8, 16], [], [8, 1], [8, 1], [16], [16], []]";
        let types = r#"["float", "float", "ScalarList", "float", "float", "float", "float", "ScalarList"]"#;
        let of = |mask: &str| {
            let concrete = format!(r#"["", "", "[16]", "", "", "", "", "{mask}"]"#);
            let name = "aten::native_layer_norm_backward";
            (flops(name, dims, types, &concrete).unwrap(), bytes(name, dims, types, &concrete).unwrap())
        };
        let read = 4 * (2 * 128 + 2 * 8 + 16);
        assert_eq!(of("[True, True, True]"), (9 * 128, read + 4 * (128 + 32)));
        assert_eq!(of("[False, True, False]"), (4 * 128, read + 4 * 16));
    }

    #[test]
    fn libraries_compute_all_gradients() {
        let dims = "[[8, 16, 32, 32], [8, 16, 32, 32], [16], [16], [16], [16], [16], []]";
        let types = r#"["float", "float", "float", "float", "float", "float", "float", "Scalar"]"#;
        assert_eq!(flops("aten::miopen_batch_norm_backward", dims, types, ""), Some(u128::from(9 * N)));
        assert_eq!(bytes("aten::miopen_batch_norm_backward", dims, types, ""), Some(4 * (3 * N + 5 * 16)));
    }
}
