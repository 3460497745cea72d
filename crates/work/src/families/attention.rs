//! Attention: scores of every query with every key it may look at, and the sum of values weighted by them:
//! `2·B·H·area·(d_qk + d_v)` operations; softmax is not counted. Queries, keys, values, masks and the result
//! are moved once.
//!
//! Going back there are five products of that size: the scores once more (they were not kept, so this one is
//! recomputation), and the gradients of values, weights, queries and keys.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::dtype::DType;
use crate::families::area::{Corner, Window};
use crate::families::sequences::{Lengths, Sequences};
use crate::work::{Engine, Work};

/// Where attention finds its operands and settings. Key and value follow the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    query: usize,
    order: Order,
    pass: Pass,
    causal: Causal,
    corner: Corner,
    /// How far a query sees back and ahead, at this place and the next; negative: as far as there is.
    window: Option<usize>,
    /// What else is read: masks, and on the way back the result and its logarithmic sums.
    also: &'static [usize],
    lengths: Option<Lengths>,
}

/// The order of the last three dimensions; those before are batches.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    HeadsTokens,
    TokensHeads,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    Forward,
    Backward,
}

#[derive(Clone, Copy, Debug)]
enum Causal {
    Never,
    At(usize),
    /// The first flag from here on: signatures put it after dropout and scale, whose number varies.
    FirstFrom(usize),
    /// A number at this place: 0 all, 1 causal from the top left, 2 from the bottom right.
    MaskType(usize),
}

impl Attention {
    /// `FlashAttention`'s own functions. Its causal mask ends at the bottom right since version 2.1.
    pub(crate) const FLASH: Attention = Attention {
        query: 0,
        order: Order::TokensHeads,
        pass: Pass::Forward,
        causal: Causal::FirstFrom(3),
        corner: Corner::BottomRight,
        window: None,
        also: &[],
        lengths: None,
    };
    pub(crate) const FLASH_WINDOW: Attention = Attention { window: Some(6), ..Attention::FLASH };
    pub(crate) const FLASH_BACKWARD: Attention = Attention {
        query: 1,
        pass: Pass::Backward,
        causal: Causal::FirstFrom(6),
        also: &[4, 5],
        ..Attention::FLASH
    };
    pub(crate) const FLASH_VARLEN: Attention = Attention {
        causal: Causal::FirstFrom(7),
        lengths: Some(Lengths { queries: 3, longest: 5, keys_paged: false }),
        ..Attention::FLASH
    };
    pub(crate) const FLASH_VARLEN_BACKWARD: Attention = Attention {
        causal: Causal::FirstFrom(13),
        lengths: Some(Lengths { queries: 9, longest: 11, keys_paged: false }),
        ..Attention::FLASH_BACKWARD
    };
    pub(crate) const FLASH_3: Attention = Attention { causal: Causal::At(24), ..Attention::FLASH };
    pub(crate) const AITER_WRAPPER: Attention =
        Attention { query: 1, causal: Causal::At(6), ..Attention::FLASH };
    pub(crate) const AITER_WRAPPER_BACKWARD: Attention =
        Attention { causal: Causal::At(9), ..Attention::FLASH_BACKWARD };
    pub(crate) const AITER_BACKWARD: Attention =
        Attention { causal: Causal::At(8), ..Attention::FLASH_BACKWARD };
    pub(crate) const AITER_VARLEN: Attention =
        Attention { causal: Causal::At(12), ..Attention::FLASH_VARLEN };
    pub(crate) const AITER_PAGED: Attention = Attention {
        causal: Causal::At(12),
        lengths: Some(Lengths { queries: 3, longest: 6, keys_paged: true }),
        ..Attention::FLASH
    };
    pub(crate) const EVOFORMER: Attention = Attention { causal: Causal::Never, ..Attention::FLASH };

    /// `PyTorch`'s `FlashAttention`; other lengths of queries than keys come with masks from the bottom right.
    pub(crate) const SDPA_FLASH: Attention =
        Attention { order: Order::HeadsTokens, causal: Causal::At(4), ..Attention::FLASH };
    pub(crate) const SDPA_FLASH_BACKWARD: Attention =
        Attention { order: Order::HeadsTokens, causal: Causal::At(11), ..Attention::FLASH_BACKWARD };
    /// Here `is_causal` counts from the top left, as the documentation of `PyTorch` has it.
    pub(crate) const SDPA_EFFICIENT: Attention =
        Attention { causal: Causal::At(6), corner: Corner::TopLeft, also: &[3], ..Attention::SDPA_FLASH };
    pub(crate) const SDPA_EFFICIENT_BACKWARD: Attention =
        Attention { corner: Corner::TopLeft, also: &[4, 5, 6], ..Attention::SDPA_FLASH_BACKWARD };
    pub(crate) const SDPA_CUDNN_BACKWARD: Attention =
        Attention { causal: Causal::At(14), also: &[4, 5, 8], ..Attention::SDPA_EFFICIENT_BACKWARD };
    pub(crate) const SDPA_OVERRIDEABLE: Attention =
        Attention { causal: Causal::At(5), ..Attention::SDPA_EFFICIENT };

    pub(crate) const ATEN_FLASH: Attention = Attention { causal: Causal::At(8), ..Attention::FLASH_VARLEN };
    pub(crate) const ATEN_FLASH_BACKWARD: Attention = Attention {
        causal: Causal::At(11),
        lengths: Some(Lengths { queries: 6, longest: 8, keys_paged: false }),
        ..Attention::FLASH_BACKWARD
    };
    pub(crate) const ATEN_EFFICIENT: Attention = Attention {
        causal: Causal::MaskType(9),
        also: &[3],
        lengths: Some(Lengths { queries: 4, longest: 6, keys_paged: false }),
        ..Attention::FLASH
    };
    pub(crate) const ATEN_EFFICIENT_BACKWARD: Attention = Attention {
        causal: Causal::MaskType(14),
        also: &[4, 5, 10],
        lengths: Some(Lengths { queries: 6, longest: 8, keys_paged: false }),
        ..Attention::FLASH_BACKWARD
    };

    pub(crate) const fn is_backward(&self) -> bool {
        matches!(self.pass, Pass::Backward)
    }

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let [query, key, value] = [0, 1, 2].map(|next| args.tensor(self.query + next));
        let (query, key, value) = (query?, key?, value?);
        let window = self.window(args)?;
        let (heads, key_heads) = (self.heads(&query)?, self.heads(&key)?);
        let (query_size, value_size) = (query.dim(-1)?, value.dim(-1)?);
        let sequences = match self.lengths.filter(|lengths| lengths.are_given(args)) {
            Some(lengths) => lengths.read(args)?.sequences(&query, &key, window)?,
            None => self.alike(&query, &key, window)?,
        };
        let pairs = heads * sequences.doubled_area;
        let scores = pairs * query_size;
        let values = pairs * value_size;

        let kept = |tensor: &Tensor, size| sequences.keys_bytes(tensor, key_heads, size);
        let operands = query.bytes() + kept(&key, query_size) + kept(&value, value_size);
        let results = heads * sequences.queries * value_size;
        let also: Count = self.also.iter().filter_map(|&at| args.tensor(at)).map(|also| also.bytes()).sum();
        let (flops, bytes) = match self.pass {
            Pass::Forward => (scores + values, operands + results * result_bytes(&query) + also),
            // The gradient of the result comes in; those of query, key and value go out.
            Pass::Backward => {
                (3 * scores + 2 * values, 2 * operands + results * query.element_bytes() + also)
            }
        };
        let mut work = Work::new(Engine::Matrix, flops)?
            .moving(bytes)
            .in_precision(query.dtype.and_then(|dtype| dtype.precision))
            .with("B", sequences.count)
            .with("N_Q", sequences.longest_queries)
            .with("H_Q", heads)
            .with("N_KV", sequences.longest_keys)
            .with("H_KV", key_heads)
            .with("d_qk", query_size)
            .with("d_v", value_size)
            .with("causal", Count::from(u64::from(window.after == Some(0))));
        work.at_least = sequences.at_least;
        if self.pass == Pass::Backward {
            work.recomputed = scores.get()?;
        }
        Some(work)
    }

    fn alike(&self, query: &Tensor, key: &Tensor, window: Window) -> Option<Sequences> {
        let batches: Count = query.shape.leading(3)?.iter().map(|&size| Count::from(size)).product();
        Some(Sequences::alike(batches, self.tokens(query)?, self.tokens(key)?, window))
    }

    fn heads(&self, tensor: &Tensor) -> Option<Count> {
        tensor.dim(if self.order == Order::HeadsTokens { -3 } else { -2 })
    }

    fn tokens(&self, tensor: &Tensor) -> Option<u64> {
        let from_end = if self.order == Order::HeadsTokens { 2 } else { 3 };
        let sizes = tensor.shape.sizes();
        sizes.len().checked_sub(from_end).map(|index| sizes[index])
    }

    /// What a query may look at; absent if the trace does not tell.
    fn window(&self, args: &Args) -> Option<Window> {
        let window = match self.causal {
            Causal::Never => Window::ALL,
            Causal::At(at) => self.masked(args.flag(at)?),
            Causal::FirstFrom(at) => self.masked(args.values_from(at).find_map(|value| match value? {
                "True" | "true" => Some(true),
                "False" | "false" => Some(false),
                _ => None,
            })?),
            Causal::MaskType(at) => match args.int(at)? {
                0 => Window::ALL,
                1 => Window::causal(Corner::TopLeft),
                2 => Window::causal(Corner::BottomRight),
                _ => return None,
            },
        };
        let reach = |at: usize| args.int(at).and_then(|reach| u64::try_from(reach).ok());
        Some(match self.window {
            Some(at) => {
                Window { corner: self.corner, before: reach(at), after: window.after.or(reach(at + 1)) }
            }
            None => window,
        })
    }

    fn masked(&self, causal: bool) -> Window {
        if causal { Window::causal(self.corner) } else { Window::ALL }
    }
}

/// Attention on one-byte elements answers in two-byte ones.
fn result_bytes(query: &Tensor) -> Count {
    match query.dtype {
        Some(dtype) if dtype.bytes == 1 => Count::from(DType::HALF.bytes),
        _ => query.element_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{bytes, flops, work};

    const BF16: &str = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar"]"#;

    fn sdpa(query: &str, key: &str, causal: &str) -> Option<u128> {
        let dims = format!("[{query}, {key}, {key}, [], [], []]");
        let concrete = format!(r#"["", "", "", "0.", "{causal}", "False"]"#);
        flops("aten::_scaled_dot_product_flash_attention", &dims, BF16, &concrete)
    }

    #[test]
    fn a_causal_mask_halves_a_square() {
        let full = 2 * 16 * 16 * 559 * 559 * 128;
        assert_eq!(sdpa("[16, 16, 559, 64]", "[16, 16, 559, 64]", "False"), Some(full));
        assert_eq!(sdpa("[16, 16, 559, 64]", "[16, 16, 559, 64]", "True"), Some(full / 2));
    }

    #[test]
    fn new_tokens_see_all_old_ones() {
        // One new token looks at everything but half of itself: 9.5 of 10.
        assert_eq!(sdpa("[1, 1, 1, 8]", "[1, 1, 10, 8]", "True"), Some(19 * 16));
        assert_eq!(sdpa("[1, 1, 2, 8]", "[1, 1, 4, 8]", "True"), Some((5 + 7) * 16));
        let dims = "[[1, 1, 2, 8], [1, 1, 4, 8], [1, 1, 4, 8], [], [], [], []]";
        let top_left = flops(
            "aten::_scaled_dot_product_efficient_attention",
            dims,
            BF16,
            r#"["", "", "", "", "False", "0.", "True"]"#,
        );
        assert_eq!(top_left, Some((1 + 3) * 16), "PyTorch's own mask starts at the first key");
    }

    #[test]
    fn shared_heads_are_moved_once() {
        let dims = "[[2, 8, 16, 4], [2, 2, 16, 4], [2, 2, 16, 4], [], [], []]";
        let moved = bytes(
            "aten::_scaled_dot_product_flash_attention",
            dims,
            BF16,
            r#"["", "", "", "0.", "False", "False"]"#,
        );
        assert_eq!(moved, Some(2 * (2 * 2 * 8 * 16 * 4 + 2 * 2 * 2 * 16 * 4)));
    }

    #[test]
    fn going_back_takes_five_products() {
        let forward = sdpa("[2, 8, 16, 4]", "[2, 8, 16, 4]", "False").unwrap();
        let tensor = "[2, 8, 16, 4]";
        let dims =
            format!("[{tensor}, {tensor}, {tensor}, {tensor}, {tensor}, [2, 8, 16], [], [], [], [], [], []]");
        let types = r#"["c10::Half", "c10::Half", "c10::Half", "c10::Half", "c10::Half", "float"]"#;
        let concrete = r#"["", "", "", "", "", "", "", "", "16", "16", "0.", "False"]"#;
        let backward =
            work("aten::_scaled_dot_product_flash_attention_backward", &dims, types, concrete).unwrap();
        assert_eq!(2 * backward.flops, 5 * forward);
        assert_eq!(2 * backward.recomputed, forward);
        let elements = 2 * 8 * 16 * 4;
        assert_eq!(backward.bytes, Some(2 * 8 * elements + 4 * 2 * 8 * 16));
    }

    #[test]
    fn a_window_is_narrower_than_a_mask() {
        let dims = "[[1, 100, 1, 4], [1, 100, 1, 4], [1, 100, 1, 4], [], [], [], [], []]";
        let flash = |left: &str| {
            let concrete = format!(r#"["", "", "", "0.", "0.5", "True", "{left}", "0"]"#);
            flops("flash_attn::_flash_attn_forward", dims, BF16, &concrete)
        };
        assert_eq!(flash("-1"), Some(8 * 100 * 100));
        assert_eq!(flash("0"), Some(8 * 100), "only half of itself");
        assert_eq!(flash("1"), Some(8 * (100 + 2 * 99)));
    }

    #[test]
    fn unknown_masks_are_not_guessed() {
        assert_eq!(sdpa("[1, 1, 4, 8]", "[1, 1, 4, 8]", ""), None);
        assert_eq!(sdpa("[4, 8]", "[4, 8]", "True"), None);
    }
}
