//! What the steps of a job are like, drawn once for all its ranks and steps.

use super::author::Memory;
use super::chance::Chance;
use super::kind::JobKind;
use super::names::{OPERATORS, Operator};

#[derive(Debug, Clone, Copy)]
pub(super) struct Layer {
    pub(super) operator: Operator,
    pub(super) host_ns: i64,
    pub(super) kernel_ns: i64,
}

/// Where a step waits for the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Nowhere,
    /// `.item()` at the end of the step.
    Item,
    /// `.item()` between forward and backward pass, too.
    ItemsInside,
    DeviceSynchronize,
    StreamSynchronize,
    /// On an event of the step before.
    EventSynchronize,
}

/// How gradients or parameters are exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exchange {
    None,
    /// Gradients are reduced in so many buckets while the backward pass goes on.
    Buckets(usize),
    /// Gradients are reduced after the backward pass.
    AfterBackward(usize),
    /// The parameters of each group of layers are gathered before it runs, and its gradients reduced after it.
    Sharded(usize),
    /// Layers are shared: each part's result is reduced before the next part can run.
    Tensors(usize),
}

impl Exchange {
    fn transfers_per_step(self) -> usize {
        match self {
            Exchange::None => 0,
            Exchange::Buckets(count) | Exchange::AfterBackward(count) => count,
            Exchange::Sharded(count) | Exchange::Tensors(count) => 2 * count,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Input {
    pub(super) bytes: i64,
    pub(super) memory: Memory,
    /// Whether it is copied on a stream of its own, one step ahead.
    pub(super) ahead: bool,
    /// Whether a second part comes on yet another stream at the same time.
    pub(super) in_two: bool,
}

/// What is copied back in every step; nothing of most jobs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    pub(super) bytes: i64,
    pub(super) memory: Memory,
    /// Whether it has a stream of its own, other than that of the input.
    pub(super) apart: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) layers: Vec<Layer>,
    pub(super) loader_ns: i64,
    pub(super) input: Input,
    pub(super) backward_thread: bool,
    pub(super) optimizer_kernels: usize,
    pub(super) wait: Wait,
    pub(super) exchange: Exchange,
    pub(super) transfer_ns: i64,
    /// Whether memory is asked for, and given back, in every step.
    pub(super) allocates: bool,
    pub(super) frees: bool,
    pub(super) side_streams: usize,
    /// Branches leave and join so often in a step.
    pub(super) forks: usize,
    /// Work of a step on a side stream that only the end of the next step waits for.
    pub(super) lagging_kernels: usize,
    /// Every rank stalls by itself in every step, for up to so long.
    pub(super) stall_ns: i64,
    /// By how many thousandths steps differ in what they compute.
    pub(super) uneven_per_mille: i64,
    pub(super) output: Output,
}

/// Counts and times, from the smallest to the largest.
struct Range {
    layers: (i64, i64),
    host_us: (i64, i64),
    kernel_us: (i64, i64),
}

fn range(kind: JobKind) -> Range {
    match kind {
        JobKind::Training => Range { layers: (8, 22), host_us: (8, 25), kernel_us: (6, 70) },
        JobKind::Distributed | JobKind::OneRank => {
            Range { layers: (8, 20), host_us: (8, 20), kernel_us: (6, 110) }
        }
        JobKind::Inference => Range { layers: (20, 50), host_us: (10, 35), kernel_us: (2, 12) },
        JobKind::GpuBound => Range { layers: (24, 44), host_us: (5, 14), kernel_us: (40, 140) },
        JobKind::Copies => Range { layers: (6, 16), host_us: (8, 20), kernel_us: (10, 80) },
        JobKind::Streams => Range { layers: (12, 30), host_us: (6, 20), kernel_us: (15, 120) },
        JobKind::Graphs => Range { layers: (20, 80), host_us: (8, 20), kernel_us: (3, 25) },
    }
}

fn memory(draw: &mut Chance) -> Memory {
    if draw.percent(60) { Memory::Pinned } else { Memory::Pageable }
}

fn input(kind: JobKind, draw: &mut Chance) -> Input {
    let copies = kind == JobKind::Copies;
    Input {
        bytes: if copies { draw.between(1, 24) << 20 } else { draw.between(4, 4_000) << 10 },
        memory: memory(draw),
        ahead: draw.percent(if copies { 60 } else { 15 }),
        in_two: copies && draw.percent(40),
    }
}

fn output(kind: JobKind, draw: &mut Chance) -> Output {
    let bytes = if kind == JobKind::Copies { draw.between(100, 8_000) << 10 } else { 0 };
    Output { bytes, memory: memory(draw), apart: draw.percent(50) }
}

fn wait(kind: JobKind, draw: &mut Chance) -> Wait {
    match kind {
        JobKind::GpuBound => {
            draw.pick(&[Wait::Nowhere, Wait::Nowhere, Wait::Nowhere, Wait::EventSynchronize])
        }
        JobKind::Inference | JobKind::Graphs => draw.pick(&[
            Wait::Item,
            Wait::Item,
            Wait::StreamSynchronize,
            Wait::EventSynchronize,
            Wait::Nowhere,
        ]),
        JobKind::Distributed | JobKind::OneRank => {
            draw.pick(&[Wait::Nowhere, Wait::Item, Wait::StreamSynchronize])
        }
        JobKind::Training | JobKind::Copies | JobKind::Streams => draw.pick(&[
            Wait::Nowhere,
            Wait::Item,
            Wait::ItemsInside,
            Wait::DeviceSynchronize,
            Wait::StreamSynchronize,
            Wait::EventSynchronize,
        ]),
    }
}

fn exchange(kind: JobKind, draw: &mut Chance) -> Exchange {
    let count = draw.between(2, 5) as usize;
    match kind {
        JobKind::Distributed | JobKind::OneRank => draw.pick(&[
            Exchange::Buckets(count),
            Exchange::Buckets(count),
            Exchange::AfterBackward(count),
            Exchange::Sharded(count),
            Exchange::Tensors(count),
        ]),
        _ => Exchange::None,
    }
}

/// One stretch of the layers has small kernels and a busy host, whatever the others have.
fn make_uneven(layers: &mut [Layer], draw: &mut Chance) {
    let count = layers.len();
    let length = count * draw.between(20, 70) as usize / 100;
    let first = draw.between(0, (count - length) as i64) as usize;
    for layer in &mut layers[first..first + length] {
        layer.kernel_ns = (layer.kernel_ns / 8).max(1_500);
        layer.host_ns *= 2;
    }
}

impl Shape {
    pub(super) fn random(kind: JobKind, draw: &mut Chance) -> Shape {
        let range = range(kind);
        let host = draw.between(range.host_us.0, range.host_us.1) * 1_000;
        let kernel = draw.between(range.kernel_us.0, range.kernel_us.1) * 1_000;
        let layer = |draw: &mut Chance| {
            let operator = draw.pick(&OPERATORS);
            let kernel_ns = kernel * operator.weight / 100;
            Layer { operator, host_ns: draw.around(host, 400), kernel_ns: draw.around(kernel_ns, 400) }
        };
        let count = draw.between(range.layers.0, range.layers.1);
        let mut layers: Vec<Layer> = (0..count).map(|_| layer(draw)).collect();
        if draw.percent(40) {
            make_uneven(&mut layers, draw);
        }
        let loads = draw.percent(if kind == JobKind::GpuBound { 20 } else { 40 });
        let whole: i64 = layers.iter().map(|layer| layer.kernel_ns).sum();
        let exchange = exchange(kind, draw);
        let transfers = exchange.transfers_per_step().max(1) as i64;
        Shape {
            loader_ns: if loads { draw.between(100, 2_500) * 1_000 } else { 0 },
            input: input(kind, draw),
            backward_thread: draw.percent(75),
            optimizer_kernels: draw.between(2, 8) as usize,
            wait: wait(kind, draw),
            transfer_ns: 12_000 + whole * draw.between(20, 250) / 100 / transfers,
            exchange,
            allocates: draw.percent(25),
            frees: draw.percent(20),
            forks: draw.between(1, 3) as usize,
            lagging_kernels: if kind == JobKind::Streams { draw.pick(&[0, 0, 4, 8]) } else { 0 },
            stall_ns: if draw.percent(25) { whole * draw.between(5, 30) / 100 } else { 0 },
            uneven_per_mille: draw.pick(&[0, 0, 50, 200]),
            side_streams: if kind == JobKind::Streams { draw.between(1, 2) as usize } else { 0 },
            output: output(kind, draw),
            layers,
        }
    }
}
