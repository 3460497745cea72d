//! Attention in single kernels: a softmax between two batched products, forward or backward.
//!
//! Claimed of each event: it is one of the products, the softmax, or a kernel between them, and nothing else ran on the
//! stream between them. A product is one by its operator (`aten::bmm`, `aten::baddbmm`), a softmax by its kernel;
//! between them may be what works element by element, copies and fills. Where the arguments are recorded, the second
//! product must take the scores that the first made. Backward, two products may stand on either side.
//!
//! The target is fused attention: the same operations, backward a quarter more because the scores are computed again,
//! with sizes rounded up to its tiles of 64, at a stated share of the peak of the matrix units, but not faster than
//! queries, keys, values and results can be moved at a stated share of the memory's bandwidth. Without arguments or peaks the products keep their time and what is between them goes away.
//!
//! Silent if the operators are not recorded, as in traces of the GPU alone.

use gpuscope_trace::{Bitmap, Kind, Ns, Row, StrId};
use gpuscope_work::{Engine, Precision, Work};

use super::Opportunity;
use super::scene::{Event, PerName, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "eager_attention";

/// What fused attention reaches of the matrix units' peak, and of the memory's bandwidth.
const SHARE_OF_PEAK: f64 = 1.0 / 3.0;
const SHARE_OF_MEMORY: f64 = 0.7;
const TILE: f64 = 64.0;
/// Backward computes the scores again: five products in place of four.
const BACKWARD: f64 = 1.25;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Product,
    Softmax { backward: bool },
    Between,
    Else,
}

/// One attention, from the first product to the last.
struct Group<'e> {
    events: &'e [Event],
    products: Vec<Event>,
    backward: bool,
}

pub(super) fn eager_attention(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.all().any(|event| event.sort == Sort::Softmax) {
        return Vec::new();
    }
    let mut operators = PerName::new(scene.view, operator);
    let mut is_backward = PerName::new(scene.view, |kernel| kernel.to_ascii_lowercase().contains("backward"));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for stream in &scene.streams {
        let tokens: Vec<Token> =
            stream.iter().map(|event| token(scene, event, &mut operators, &mut is_backward)).collect();
        let mut start = 0;
        for segment in tokens.chunk_by(|a, b| (*a == Token::Else) == (*b == Token::Else)) {
            let end = start + segment.len();
            if segment[0] != Token::Else {
                in_segment(&stream[start..end], segment, &mut groups);
            }
            start = end;
        }
    }
    groups.retain(|group| group.is_attention(scene));
    take(taken, groups.iter().flat_map(|group| group.events.iter().map(|event| event.row)));
    report(scene, &groups).into_iter().collect()
}

/// What an operator's name says.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    BatchedProduct,
    LogSoftmax,
    Other,
}

fn operator(name: &str) -> Operator {
    match name {
        "aten::bmm" | "aten::baddbmm" | "aten::baddbmm_" => Operator::BatchedProduct,
        _ if name.contains("log_softmax") => Operator::LogSoftmax,
        _ => Operator::Other,
    }
}

fn token(
    scene: &Scene<'_>,
    event: &Event,
    operators: &mut PerName<'_, Operator>,
    is_backward: &mut PerName<'_, bool>,
) -> Token {
    let mut operator = || scene.operator(event.row).map_or(Operator::Other, |name: StrId| operators.of(name));
    match (event.kind, event.sort) {
        (Kind::Memset, _) | (_, Sort::Copy) => Token::Between,
        (Kind::Communication | Kind::Memcpy, _) => Token::Else,
        (_, Sort::Softmax) if operator() == Operator::LogSoftmax => Token::Else,
        (_, Sort::Softmax) => {
            Token::Softmax { backward: is_backward.of(scene.view.trace.name_id(event.row)) }
        }
        (_, Sort::Elementwise | Sort::Reduction | Sort::Fill) => Token::Between,
        (_, Sort::Products(_) | Sort::Other) if operator() == Operator::BatchedProduct => Token::Product,
        _ => Token::Else,
    }
}

/// Every softmax with products around it, in a stretch of a stream where nothing else ran.
fn in_segment<'e>(events: &'e [Event], tokens: &[Token], groups: &mut Vec<Group<'e>>) {
    let steps: Vec<usize> = (0..tokens.len()).filter(|at| tokens[*at] != Token::Between).collect();
    let is_product = |step: usize| steps.get(step).is_some_and(|at| tokens[*at] == Token::Product);
    let mut free = 0;
    for (step, at) in steps.iter().enumerate() {
        let Token::Softmax { backward } = tokens[*at] else { continue };
        let before = step.checked_sub(1).filter(|before| *before >= free && is_product(*before));
        let Some(mut first) = before.filter(|_| is_product(step + 1)) else { continue };
        let mut last = step + 1;
        if backward {
            first -= usize::from(first > free && is_product(first - 1));
            last += usize::from(is_product(last + 1));
        }
        free = last + 1;
        let products = [first..step, step + 1..last + 1].into_iter().flatten();
        groups.push(Group {
            products: products.map(|step| events[steps[step]]).collect(),
            events: &events[steps[first]..=steps[last]],
            backward,
        });
    }
}

impl Group<'_> {
    /// Whether the products fit together, as far as their arguments are recorded.
    fn is_attention(&self, scene: &Scene<'_>) -> bool {
        let sizes = |event: Event| {
            let params = &scene.work(event)?.params;
            Some([params.get("B")?, params.get("M")?, params.get("N")?, params.get("K")?])
        };
        match self.products[..] {
            [first, second] if !self.backward => match (sizes(first), sizes(second)) {
                (Some([b, m, n, _]), Some([b2, m2, _, k2])) => [b, m, n] == [b2, m2, k2],
                _ => true,
            },
            _ => true,
        }
    }

    fn time(&self) -> Ns {
        self.events.iter().map(|event| event.dur).sum()
    }

    fn products_time(&self) -> Ns {
        self.products.iter().map(|event| event.dur).sum()
    }

    /// Nanoseconds as one kernel, if all that it takes to know is known.
    fn fused(&self, scene: &Scene<'_>) -> Option<f64> {
        let (mut flops, mut bytes) = (0.0, 0.0);
        let mut precision = None;
        for event in &self.products {
            let work = scene.work(*event)?;
            flops += work.flops as f64 * in_tiles(&work)?;
            bytes += without_scores(&work)?;
            precision = work.precision;
        }
        let limits = scene.limits();
        let peak = limits.tflops(Engine::Matrix, precision?)? * 1e3 * SHARE_OF_PEAK;
        let again = if self.backward { BACKWARD } else { 1.0 };
        Some((flops * again / peak).max(bytes / (limits.memory_gb_per_s()? * SHARE_OF_MEMORY)))
    }

    /// The share of each event's time that is left: of products, and of what is between them.
    fn left(&self, scene: &Scene<'_>) -> (f32, f32) {
        match self.fused(scene) {
            Some(ns) => {
                let left = (ns / self.time().as_f64().max(1.0)).min(1.0) as f32;
                (left, left)
            }
            None => (1.0, 0.0),
        }
    }
}

/// How many times as much a product is with its sizes rounded up to tiles.
fn in_tiles(work: &Work) -> Option<f64> {
    let more =
        |name| work.params.get(name).map(|size| (size as f64 / TILE).ceil() * TILE / (size as f64).max(1.0));
    Some(more("M")? * more("N")? * more("K")?)
}

/// Bytes of a product but for its largest matrix, the scores.
fn without_scores(work: &Work) -> Option<f64> {
    let width = match work.precision? {
        Precision::Fp64 => 8.0,
        Precision::Fp32 | Precision::Tf32 => 4.0,
        _ => 2.0,
    };
    let size = |name| work.params.get(name).map(|size| size as f64);
    let (b, m, n, k) = (size("B")?, size("M")?, size("N")?, size("K")?);
    Some((work.bytes? as f64 - width * b * (m * n).max(m * k).max(n * k)).max(0.0))
}

/// Whether it is the form of `PyTorch`'s own attention for what its fused kernels cannot do.
fn fell_back(scene: &Scene<'_>, groups: &[Group<'_>]) -> bool {
    let trace = scene.view.trace;
    let Some(math) = trace.strings.lookup("aten::_scaled_dot_product_attention_math") else { return false };
    let nesting = scene.view.index.nesting(trace);
    let launches = groups.iter().filter_map(|group| scene.view.launch(group.products.first()?.row));
    launches.take(1).any(|launch| nesting.ancestors(launch).any(|row| trace.name_id(row) == math))
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn report(scene: &Scene<'_>, groups: &[Group<'_>]) -> Option<Opportunity> {
    let first = groups.first()?;
    let mut events: Vec<(Row, f32)> = Vec::new();
    let mut removed_launches: Vec<Row> = Vec::new();
    let (mut all, mut products, mut estimated) = (Ns::ZERO, Ns::ZERO, 0_usize);
    for group in groups {
        let (of_products, between) = group.left(scene);
        estimated += usize::from(group.fused(scene).is_some());
        let left = |event: &Event| {
            if group.products.iter().any(|product| product.row == event.row) { of_products } else { between }
        };
        events.extend(group.events.iter().map(|event| (event.row, left(event))));
        removed_launches.extend(group.events[1..].iter().filter_map(|event| scene.own_launch(event.row)));
        all += group.time();
        products += group.products_time();
    }
    let backward = groups.iter().filter(|group| group.backward).count();
    let rows = events.iter().map(|(row, _)| *row);
    let mut names = scene.largest(rows);
    names.extend(first.products.iter().filter_map(|event| Some(scene.work(*event)?.params.to_string())));
    let (count, kernels) = (groups.len(), events.len());
    Some(Opportunity {
        id: ID,
        title: format!(
            "attention runs as {kernels} separate GPU operations, a softmax between batched products {}, {} in all",
            times(count),
            text::time(all)
        ),
        claim: vec![("attentions", count as i64), ("events", kernels as i64), ("gpu_ns", all.0)],
        target: if estimated == count {
            format!(
                "fused attention at {:.0} % of the matrix units' peak or {:.0} % of memory bandwidth, whichever is slower",
                100.0 * SHARE_OF_PEAK,
                100.0 * SHARE_OF_MEMORY
            )
        } else {
            "fused attention that takes as long as the products do now, or what its sizes need where they are recorded".to_owned()
        },
        evidence: format!(
            "the products take {}, the softmax and everything else done to the scores {}; {} forward, {backward} backward",
            text::time(products),
            text::time(all - products),
            count - backward,
        ),
        names,
        advice: if fell_back(scene, groups) {
            "scaled_dot_product_attention fell back to its math backend: use fp16 or bf16, a head size that the fused \
             kernels support, and is_causal instead of a mask"
        } else {
            "use torch.nn.functional.scaled_dot_product_attention, or attn_implementation=\"sdpa\" in transformers"
        },
        caveat: (estimated < count)
            .then(|| "argument sizes or the GPU's peaks are not known for all of it, so those products keep their time".to_owned()),
        confident: true,
        events,
        removed_launches,
    })
}
