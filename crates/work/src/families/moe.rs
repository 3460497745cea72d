//! Mixtures of experts: every token goes through `topk` experts, each a product up (twice as wide if gated) and
//! one down. Tokens and results are moved once, and the weights of as many experts as the tokens can reach.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::work::{Engine, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Moe {
    tokens: usize,
    /// `[experts, 1 or 2 × inner, hidden]`, if this operator uses it.
    up: Option<usize>,
    /// `[experts, hidden, inner]`, if this operator uses it.
    down: Option<usize>,
    topk: TopK,
}

#[derive(Clone, Copy, Debug)]
enum TopK {
    /// A number.
    At(usize),
    /// The second size of the table of experts per token.
    Table(usize),
}

impl Moe {
    pub(crate) const EXPERTS: Moe = Moe { tokens: 0, up: Some(1), down: Some(2), topk: TopK::Table(4) };
    pub(crate) const AITER: Moe = Moe { tokens: 1, up: Some(2), down: Some(3), topk: TopK::At(8) };
    pub(crate) const AITER_UP: Moe = Moe { tokens: 0, up: Some(1), down: None, topk: TopK::At(7) };
    pub(crate) const AITER_DOWN: Moe = Moe { tokens: 0, up: None, down: Some(2), topk: TopK::At(7) };

    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let input = args.tensor(self.tokens)?;
        let tokens = input.dim(0)?;
        let topk = match self.topk {
            TopK::At(at) => Count::from(u64::try_from(args.int(at)?).ok()?),
            TopK::Table(at) => args.tensor(at)?.dim(1)?,
        };
        let visits = tokens * topk;
        let weights = |at: Option<usize>| at.map(|at| args.tensor(at).filter(|weights| weights.rank() == 3));
        let (up, down) = (weights(self.up), weights(self.down));
        let mut flops = Count::ZERO;
        let mut moved = input.bytes();
        for weights in [up, down].into_iter().flatten() {
            let weights = weights?;
            flops = flops + 2 * visits * weights.dim(1)? * weights.dim(2)?;
            moved = moved + reached(&weights, visits)?;
        }
        // Up, each visit leaves a row of its own; down, the rows of a token are added up.
        let results = match (up, down) {
            (_, Some(down)) => tokens * down?.dim(1)?,
            (Some(up), None) => visits * up?.dim(1)?,
            (None, None) => return None,
        };
        if up.is_some_and(|up| up.and_then(|up| up.dim(2)) != input.dim(-1)) {
            return None;
        }
        Some(
            Work::new(Engine::Matrix, flops)?
                .moving(moved + results * input.element_bytes())
                .in_precision(input.dtype.and_then(|dtype| dtype.precision))
                .with("tokens", tokens)
                .with("topk", topk),
        )
    }
}

/// The bytes of the experts that so many visits can reach.
fn reached(weights: &Tensor, visits: Count) -> Option<Count> {
    let experts = weights.dim(0)?;
    let reached = Count::exactly(experts.get()?.min(visits.get()?));
    Some(reached * weights.dim(1)? * weights.dim(2)? * weights.element_bytes())
}

#[cfg(test)]
mod tests {
    use crate::testing::work;

    #[test]
    fn few_tokens_reach_few_experts() {
        let types = r#"["c10::Half", "c10::Half", "c10::Half", "float", "int"]"#;
        let of = |tokens: u64| {
            let dims = format!("[[{tokens}, 16], [8, 64, 16], [8, 16, 32], [{tokens}, 2], [{tokens}, 2]]");
            let work = work("vllm::inplace_fused_experts", &dims, types, "").unwrap();
            (work.flops, work.bytes.unwrap())
        };
        let expert = 64 * 16 + 16 * 32;
        assert_eq!(of(1), (u128::from(2 * 2 * expert), 2 * (16 + 2 * expert + 16)));
        assert_eq!(of(100), (u128::from(2 * 200 * expert), 2 * (1600 + 8 * expert + 1600)));
    }
}
