//! Kernels of libraries that do something per element and take their results as arguments: every tensor among
//! the arguments is moved once, those changed in place twice.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fused {
    /// The tensors whose elements are counted.
    pub(crate) of: &'static [usize],
    /// Operations for each of them.
    pub(crate) operations: u64,
    /// More operations for each row of the first of them.
    pub(crate) per_row: u64,
    /// Tensors that are read and written.
    pub(crate) twice: &'static [usize],
    /// Tensors of which only a few rows are looked at.
    pub(crate) skipped: &'static [usize],
    /// What is made beside the arguments, as large as the first of them.
    pub(crate) makes: Makes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Makes {
    Nothing,
    /// A tensor of the same type.
    Alike,
    /// A tensor of one-byte elements.
    Bytes,
}

impl Fused {
    const PLAIN: Fused =
        Fused { of: &[0], operations: 1, per_row: 0, twice: &[], skipped: &[], makes: Makes::Nothing };
    /// `silu(x)·y` and the like.
    pub(crate) const GATE_INTO: Fused = Fused { operations: 5, ..Fused::PLAIN };
    pub(crate) const GATE: Fused = Fused { makes: Makes::Alike, ..Fused::GATE_INTO };

    pub(crate) const RMS_INTO: Fused = Fused { of: &[1], operations: 4, per_row: 2, ..Fused::PLAIN };
    pub(crate) const RMS: Fused = Fused { of: &[0], makes: Makes::Alike, ..Fused::RMS_INTO };
    pub(crate) const RMS_QUANTISED: Fused = Fused { makes: Makes::Bytes, ..Fused::RMS };
    pub(crate) const ADD_RMS_INTO: Fused = Fused { operations: 5, ..Fused::RMS_INTO };
    pub(crate) const ADD_RMS_IN_PLACE: Fused = Fused { of: &[0], twice: &[0, 1], ..Fused::ADD_RMS_INTO };

    pub(crate) const ROTARY_IN_PLACE: Fused =
        Fused { of: &[1, 2], operations: 3, twice: &[1, 2], skipped: &[4], ..Fused::PLAIN };
    pub(crate) const ROTARY_INTO: Fused =
        Fused { of: &[2, 3], operations: 3, skipped: &[4, 5], ..Fused::PLAIN };
    pub(crate) const ROTARY: Fused = Fused { operations: 3, makes: Makes::Alike, ..Fused::PLAIN };

    /// With a scale that is given: scaling.
    pub(crate) const QUANTISE: Fused = Fused { makes: Makes::Bytes, ..Fused::PLAIN };
    pub(crate) const QUANTISE_INTO: Fused = Fused { of: &[1], ..Fused::PLAIN };
    /// With a scale to be found: the largest magnitude, then scaling.
    pub(crate) const SCALE_AND_QUANTISE: Fused = Fused { operations: 3, ..Fused::QUANTISE };
    pub(crate) const SCALE_AND_QUANTISE_INTO: Fused = Fused { operations: 3, ..Fused::QUANTISE_INTO };

    pub(crate) const CROSS_ENTROPY: Fused = Fused { operations: 5, ..Fused::PLAIN };
    pub(crate) const MOVE: Fused = Fused { operations: 0, makes: Makes::Alike, ..Fused::PLAIN };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let first = args.tensor(*self.of.first()?)?;
        let mut elements = Count::ZERO;
        for &at in self.of {
            elements = elements + args.tensor(at)?.numel();
        }
        let rows = match first.dim(-1) {
            Some(columns) if self.per_row > 0 => first.numel().exact_div(columns),
            _ => Count::ZERO,
        };
        let moved: Count = args
            .tensors()
            .enumerate()
            .filter(|(at, _)| !self.skipped.contains(at))
            .filter_map(|(at, tensor)| Some((if self.twice.contains(&at) { 2 } else { 1 }) * tensor?.bytes()))
            .sum();
        let made = match self.makes {
            Makes::Nothing => Count::ZERO,
            Makes::Alike => first.bytes(),
            Makes::Bytes => first.numel(),
        };
        Some(
            Work::new(Engine::Vector, self.operations * elements + self.per_row * rows)?
                .moving(moved + made)
                .in_precision(first.dtype.and_then(|dtype| dtype.precision))
                .with("elements", elements),
        )
    }
}

/// `store(key, value, key_cache, value_cache, places)`: what is new goes to its places in the caches.
pub(crate) fn store_in_cache(args: &Args) -> Option<Work> {
    let [key, value, key_cache, value_cache, places] = [0, 1, 2, 3, 4].map(|at| args.tensor(at));
    let (key, value) = (key?, value?);
    let written = |from: &Tensor, to: Tensor| from.numel() * to.element_bytes();
    let moved = key.bytes() + value.bytes() + written(&key, key_cache?) + written(&value, value_cache?);
    Some(
        Work::new(Engine::Vector, Count::ZERO)?
            .moving(moved + places?.bytes())
            .with("elements", key.numel() + value.numel()),
    )
}

/// A causal convolution along time, channel by channel: `(x [B, C, T], weight [C, k], …)`.
pub(crate) fn causal_conv1d(args: &Args) -> Option<Work> {
    let (input, weight) = (args.tensor(0)?, args.tensor(1)?);
    let moved: Count = args.tensors().flatten().map(|tensor| tensor.bytes()).sum();
    Some(
        Work::new(Engine::Vector, 2 * input.numel() * weight.dim(-1)?)?
            .moving(moved)
            .in_precision(input.dtype.and_then(|dtype| dtype.precision))
            .with("elements", input.numel()),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops};

    #[test]
    fn results_among_the_arguments_are_moved_like_them() {
        let types = r#"["c10::Half", "c10::Half"]"#;
        assert_eq!(flops("_C::silu_and_mul", "[[8, 10], [8, 20]]", types, ""), Some(5 * 80));
        assert_eq!(bytes("_C::silu_and_mul", "[[8, 10], [8, 20]]", types, ""), Some(2 * (80 + 160)));
    }

    #[test]
    fn what_is_changed_in_place_is_moved_twice() {
        let types = r#"["c10::Half", "c10::Half", "c10::Half", "Scalar"]"#;
        let dims = "[[8, 10], [8, 10], [10], []]";
        assert_eq!(flops("_C::fused_add_rms_norm", dims, types, ""), Some(5 * 80 + 2 * 8));
        assert_eq!(bytes("_C::fused_add_rms_norm", dims, types, ""), Some(2 * (4 * 80 + 10)));
    }

    #[test]
    fn caches_are_not_read_whole() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "unsigned char", "unsigned char", "long int"]"#;
        let dims = "[[8, 1, 64], [8, 1, 64], [999, 16, 1, 64], [999, 16, 1, 64], [8]]";
        let moved = bytes("_C_cache_ops::reshape_and_cache_flash", dims, types, "");
        assert_eq!(moved, Some(2 * 8 * 64 * (2 + 1) + 8 * 8));
    }
}
