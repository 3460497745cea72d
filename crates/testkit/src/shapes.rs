//! The recorded inputs of operators, rendered once per plan: shapes repeat, so their text should not be built per event.

use crate::plan::Plan;

/// Which weight a linear operator multiplies with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Qkv,
    Projection,
    Up,
    Down,
    Head,
}

const WEIGHTS: [Weight; 5] = [Weight::Qkv, Weight::Projection, Weight::Up, Weight::Down, Weight::Head];

impl Weight {
    /// Inputs and outputs per token.
    pub(crate) fn size(self, hidden: i64) -> (i64, i64) {
        match self {
            Weight::Qkv => (hidden, 3 * hidden),
            Weight::Projection => (hidden, hidden),
            Weight::Up => (hidden, 4 * hidden),
            Weight::Down => (4 * hidden, hidden),
            Weight::Head => (hidden, VOCABULARY as i64),
        }
    }
}

/// Which operator's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    None,
    Hidden,
    HiddenPair,
    Wide,
    WidePair,
    Attention,
    AttentionBackward,
    LayerNorm,
    LayerNormBackward,
    Embedding,
    EmbeddingBackward,
    Logits,
    LogitsBackward,
    /// `aten::linear`.
    Linear(Weight),
    /// `aten::addmm`.
    Product(Weight),
    /// `aten::mm` of the gradient with the weight.
    InputGradient(Weight),
    /// `aten::mm` of the gradient with the input.
    WeightGradient(Weight),
}

const PLAIN: [Shape; 13] = [
    Shape::None,
    Shape::Hidden,
    Shape::HiddenPair,
    Shape::Wide,
    Shape::WidePair,
    Shape::Attention,
    Shape::AttentionBackward,
    Shape::LayerNorm,
    Shape::LayerNormBackward,
    Shape::Embedding,
    Shape::EmbeddingBackward,
    Shape::Logits,
    Shape::LogitsBackward,
];

impl Shape {
    fn all() -> Vec<Shape> {
        let products: [fn(Weight) -> Shape; 4] =
            [Shape::Linear, Shape::Product, Shape::InputGradient, Shape::WeightGradient];
        let of_weights = products.iter().flat_map(|product| WEIGHTS.iter().map(|&weight| product(weight)));
        PLAIN.into_iter().chain(of_weights).collect()
    }

    fn index(self) -> usize {
        let product = |number: usize, weight: Weight| PLAIN.len() + number * WEIGHTS.len() + weight as usize;
        match self {
            Shape::Linear(weight) => product(0, weight),
            Shape::Product(weight) => product(1, weight),
            Shape::InputGradient(weight) => product(2, weight),
            Shape::WeightGradient(weight) => product(3, weight),
            plain => PLAIN.iter().position(|&shape| shape == plain).unwrap_or(0),
        }
    }
}

impl Shape {
    /// Operations of a matrix product or of attention with these inputs; 0 for all else.
    pub(crate) fn flops(self, plan: &Plan) -> u64 {
        let tokens = plan.batch * plan.sequence;
        // Each position with those before it: half of a square.
        let attention_product = tokens * plan.sequence * (plan.hidden / HEAD_DIM).max(1) * HEAD_DIM;
        let product = |weight: Weight| {
            let (inputs, outputs) = weight.size(plan.hidden as i64);
            (2 * tokens * inputs as u64 * outputs as u64, tokens * outputs as u64)
        };
        match self {
            Shape::Product(weight) => product(weight).0 + product(weight).1,
            Shape::InputGradient(weight) | Shape::WeightGradient(weight) => product(weight).0,
            // Scores and values.
            Shape::Attention => 2 * attention_product,
            // The scores again, and the gradients of values, scores, queries and keys.
            Shape::AttentionBackward => 5 * attention_product,
            _ => 0,
        }
    }

    /// Of these, what was done before: attention does not keep its scores.
    pub(crate) fn flops_again(self, plan: &Plan) -> u64 {
        if self == Shape::AttentionBackward { self.flops(plan) / 5 } else { 0 }
    }
}

pub(crate) const VOCABULARY: u64 = 32_000;
pub(crate) const HEAD_DIM: u64 = 128;

/// The rendered arguments of every shape.
#[derive(Debug)]
pub(crate) struct ShapeTexts {
    texts: Vec<String>,
}

impl ShapeTexts {
    pub(crate) fn new(plan: &Plan) -> ShapeTexts {
        ShapeTexts { texts: Shape::all().into_iter().map(|shape| render(&operands(plan, shape))).collect() }
    }

    /// The part of `args` that describes the inputs; empty if none were recorded.
    pub(crate) fn of(&self, shape: Shape) -> &str {
        &self.texts[shape.index()]
    }
}

struct Operand {
    dims: Vec<u64>,
    kind: &'static str,
    concrete: String,
}

fn tensor(dims: &[u64]) -> Operand {
    Operand { dims: dims.to_vec(), kind: "c10::BFloat16", concrete: String::new() }
}

fn index(dims: &[u64]) -> Operand {
    Operand { dims: dims.to_vec(), kind: "long int", concrete: String::new() }
}

fn scalar(concrete: &str) -> Operand {
    Operand { dims: Vec::new(), kind: "Scalar", concrete: concrete.to_owned() }
}

fn sizes(dims: &[u64]) -> Operand {
    Operand { dims: Vec::new(), kind: "ScalarList", concrete: format!("{dims:?}") }
}

fn operands(plan: &Plan, shape: Shape) -> Vec<Operand> {
    let (b, s, h) = (plan.batch, plan.sequence, plan.hidden);
    let tokens = b * s;
    let head = [b, (h / HEAD_DIM).max(1), s, HEAD_DIM];
    let size = |weight: Weight| {
        let (inputs, outputs) = weight.size(h as i64);
        (inputs as u64, outputs as u64)
    };
    match shape {
        Shape::None => Vec::new(),
        Shape::Hidden => vec![tensor(&[b, s, h])],
        Shape::HiddenPair => vec![tensor(&[b, s, h]), tensor(&[b, s, h]), scalar("1")],
        Shape::Wide => vec![tensor(&[b, s, 4 * h]), scalar("none")],
        Shape::WidePair => vec![tensor(&[b, s, 4 * h]), tensor(&[b, s, 4 * h]), scalar("none")],
        Shape::Attention => {
            vec![tensor(&head), tensor(&head), tensor(&head), scalar("0."), scalar("True"), scalar("False")]
        }
        Shape::AttentionBackward => {
            let logarithms = Operand { kind: "float", ..tensor(&head[..3]) };
            let seed = || Operand { kind: "unsigned long", ..tensor(&[]) };
            let length = || scalar(&s.to_string());
            let tensors = (0..5).map(|_| tensor(&head)).chain([logarithms, tensor(&[0]), tensor(&[0])]);
            let settings = [length(), length(), scalar("0."), scalar("True"), seed(), seed()];
            tensors.chain(settings).collect()
        }
        Shape::LayerNorm => {
            vec![
                tensor(&[b, s, h]),
                sizes(&[h]),
                tensor(&[h]),
                tensor(&[h]),
                scalar("1.0000000000000001e-05"),
            ]
        }
        Shape::LayerNormBackward => vec![tensor(&[b, s, h]), tensor(&[b, s, h]), sizes(&[h]), tensor(&[h])],
        Shape::Embedding => vec![tensor(&[VOCABULARY, h]), index(&[b, s]), scalar("-1"), scalar("False")],
        Shape::EmbeddingBackward => vec![tensor(&[b, s, h]), index(&[b, s]), scalar("32000"), scalar("-1")],
        Shape::Logits => vec![tensor(&[tokens, VOCABULARY]), index(&[tokens])],
        Shape::LogitsBackward => {
            vec![tensor(&[tokens, VOCABULARY]), tensor(&[tokens, VOCABULARY]), scalar("1"), scalar("15")]
        }
        Shape::Linear(weight) => {
            let (inputs, outputs) = size(weight);
            vec![tensor(&[b, s, inputs]), tensor(&[outputs, inputs]), tensor(&[outputs])]
        }
        Shape::Product(weight) => {
            let (inputs, outputs) = size(weight);
            let (left, right) = (tensor(&[tokens, inputs]), tensor(&[inputs, outputs]));
            vec![tensor(&[outputs]), left, right, scalar("1"), scalar("1")]
        }
        Shape::InputGradient(weight) => {
            let (inputs, outputs) = size(weight);
            vec![tensor(&[tokens, outputs]), tensor(&[outputs, inputs])]
        }
        Shape::WeightGradient(weight) => {
            let (inputs, outputs) = size(weight);
            vec![tensor(&[outputs, tokens]), tensor(&[tokens, inputs])]
        }
    }
}

fn render(operands: &[Operand]) -> String {
    if operands.is_empty() {
        return String::new();
    }
    let list = |item: &dyn Fn(&Operand) -> String| operands.iter().map(item).collect::<Vec<_>>().join(", ");
    let concrete = list(&|operand| format!("\"{}\"", operand.concrete));
    let kinds = list(&|operand| format!("\"{}\"", operand.kind));
    let strides = list(&|operand| format!("{:?}", strides_of(&operand.dims)));
    let dims = list(&|operand| format!("{:?}", operand.dims));
    format!(
        "\"Concrete Inputs\": [{concrete}], \"Input type\": [{kinds}], \"Input Strides\": [{strides}], \"Input Dims\": [{dims}], "
    )
}

fn strides_of(dims: &[u64]) -> Vec<u64> {
    let mut strides: Vec<u64> = Vec::with_capacity(dims.len());
    let mut stride = 1;
    for dim in dims.iter().rev() {
        strides.push(stride);
        stride *= dim;
    }
    strides.reverse();
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_finds_its_own_text() {
        for (place, shape) in Shape::all().into_iter().enumerate() {
            assert_eq!(shape.index(), place, "{shape:?}");
        }
    }
}
