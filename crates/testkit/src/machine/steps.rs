//! What a host does in a step of each kind of job.

use super::author::{Author, COMPUTE, COPIES, Memory, SIDE};
use super::kind::JobKind;
use super::names::{ALL_GATHER, ALL_REDUCE, ARGMAX_KERNEL, LOADER, OPTIMIZER_KERNEL, REDUCE_SCATTER};
use super::program::{Direction, Span, Target};
use super::shape::{Exchange, Layer, Shape, Wait};

/// What is carried from one step to the next.
#[derive(Debug, Default)]
pub(super) struct Carried {
    end_of_step: Option<usize>,
    input_is_there: Option<usize>,
    /// The computing stream is done with the input before.
    input_was_used: Option<usize>,
    lagging: Option<usize>,
}

pub(super) fn step(
    author: &mut Author<'_>,
    kind: JobKind,
    shape: &Shape,
    number: u32,
    carried: &mut Carried,
) {
    author.span(Span::Step(number), |author| {
        author.work(15_000);
        if shape.wait == Wait::EventSynchronize
            && let Some(event) = carried.end_of_step
        {
            author.synchronize(Target::Event(event));
        }
        input(author, shape, carried);
        match kind {
            JobKind::Training | JobKind::GpuBound | JobKind::Distributed | JobKind::OneRank => {
                training(author, shape)
            }
            JobKind::Inference | JobKind::Copies => inference(author, shape),
            JobKind::Streams => forked(author, shape, carried),
            JobKind::Graphs => graph(author, shape),
        }
        output(author, shape);
        memory(author, shape);
        if shape.wait == Wait::EventSynchronize {
            carried.end_of_step = Some(author.record(if shape.prefetch { COPIES } else { COMPUTE }));
        }
        if shape.prefetch {
            carried.input_was_used = Some(author.record(COMPUTE));
        }
        wait_at_end(author, shape.wait);
        author.work(10_000);
    });
}

fn input(author: &mut Author<'_>, shape: &Shape, carried: &mut Carried) {
    if shape.loader_ns > 0 {
        author.annotation(LOADER, |author| author.work(shape.loader_ns));
    }
    if shape.stall_ns > 0 {
        let ns = author.draw.between(0, shape.stall_ns);
        author.work(ns);
    }
    let before = carried.input_is_there.take();
    if let Some(event) = carried.input_was_used.take() {
        author.wait(COPIES, event);
    }
    let stream = if shape.prefetch { COPIES } else { COMPUTE };
    copy_input(author, shape, shape.input_bytes, stream);
    if shape.input_in_two {
        copy_input(author, shape, shape.input_bytes / 3, SIDE + 1);
        author.follow(stream, SIDE + 1);
    }
    if shape.prefetch {
        carried.input_is_there = Some(author.record(COPIES));
        if let Some(event) = before {
            author.wait(COMPUTE, event);
        }
    }
}

fn copy_input(author: &mut Author<'_>, shape: &Shape, bytes: i64, stream: usize) {
    author.operator("aten::to", |author| {
        author.work(4_000);
        author.operator("aten::copy_", |author| {
            author.work(3_000);
            author.copy(Direction::HostToDevice, shape.input_memory, bytes, stream);
            author.work(1_000);
        });
        author.work(1_000);
    });
}

fn output(author: &mut Author<'_>, shape: &Shape) {
    if shape.output_bytes == 0 {
        return;
    }
    let stream = match (shape.output_apart, shape.prefetch) {
        (true, _) => SIDE,
        (false, true) => COPIES,
        (false, false) => COMPUTE,
    };
    if stream != COMPUTE {
        author.follow(stream, COMPUTE);
    }
    author.operator("aten::copy_", |author| {
        author.work(4_000);
        author.copy(Direction::DeviceToHost, shape.output_memory, shape.output_bytes, stream);
        author.work(1_000);
    });
}

fn memory(author: &mut Author<'_>, shape: &Shape) {
    if shape.allocates {
        let ns = author.draw.between(40_000, 300_000);
        author.operator("aten::empty", |author| {
            author.work(2_000);
            author.allocate(ns);
            author.work(500);
        });
    }
    if shape.frees {
        author.free();
    }
}

fn wait_at_end(author: &mut Author<'_>, wait: Wait) {
    match wait {
        Wait::Item | Wait::ItemsInside => author.item(),
        Wait::DeviceSynchronize => author.synchronize(Target::Device),
        Wait::StreamSynchronize => author.synchronize(Target::Stream(COMPUTE)),
        Wait::Nowhere | Wait::EventSynchronize => {}
    }
}

fn layer(author: &mut Author<'_>, layer: &Layer, stream: usize) {
    let kernel = layer.operator.kernel(author.hardware.vendor);
    let before = layer.host_ns * 2 / 3;
    author.operator(layer.operator.name, |author| {
        author.work(before / 2);
        match layer.operator.inner {
            Some(inner) => author.operator(inner, |author| {
                author.work(before / 2);
                author.kernel(kernel, layer.kernel_ns, stream);
                author.work(layer.host_ns / 12);
            }),
            None => {
                author.work(before / 2);
                author.kernel(kernel, layer.kernel_ns, stream);
            }
        }
        author.work(layer.host_ns / 12);
    });
    // Python between operators.
    author.work(layer.host_ns / 4);
}

fn backward(author: &mut Author<'_>, layer: &Layer) {
    let kernel = layer.operator.kernel(author.hardware.vendor);
    author.operator(layer.operator.evaluation, |author| {
        author.work(layer.host_ns / 5);
        author.operator(layer.operator.backward, |author| {
            author.work(layer.host_ns / 5);
            for &gradient in layer.operator.gradients {
                author.operator(gradient, |author| {
                    author.work(layer.host_ns / 3);
                    author.kernel(kernel, layer.kernel_ns, COMPUTE);
                    author.work(layer.host_ns / 10);
                });
            }
            author.work(layer.host_ns / 10);
        });
        author.work(layer.host_ns / 10);
    });
}

/// The places in a row of `length` after which one of `count` equal parts ends.
fn ends_a_part(index: usize, length: usize, count: usize) -> bool {
    (index + 1) * count / length > index * count / length
}

fn forward(author: &mut Author<'_>, shape: &Shape) {
    let count = shape.layers.len();
    // Parameters of the next group are on their way while a group runs.
    let mut coming = Vec::new();
    let mut gathered = 1;
    if let Exchange::Sharded(_) = shape.exchange {
        coming.push(author.transfer(&ALL_GATHER));
    }
    for (index, each) in shape.layers.iter().enumerate() {
        if let Exchange::Sharded(groups) = shape.exchange
            && (index == 0 || ends_a_part(index - 1, count, groups))
            && let Some(event) = coming.pop()
        {
            if gathered < groups {
                coming.push(author.transfer(&ALL_GATHER));
                gathered += 1;
            }
            author.wait(COMPUTE, event);
        }
        layer(author, each, COMPUTE);
        reduce_part(author, shape, index);
    }
}

/// Where layers are shared between ranks, the next part needs what all have computed.
fn reduce_part(author: &mut Author<'_>, shape: &Shape, index: usize) {
    if let Exchange::Tensors(parts) = shape.exchange
        && ends_a_part(index, shape.layers.len(), parts)
    {
        let event = author.transfer(&ALL_REDUCE);
        author.wait(COMPUTE, event);
    }
}

fn training(author: &mut Author<'_>, shape: &Shape) {
    forward(author, shape);
    if shape.wait == Wait::ItemsInside {
        author.item();
    }
    if shape.backward_thread {
        author.hand_over(1);
    }
    whole_backward(author, shape);
    if shape.backward_thread {
        author.hand_over(0);
    }
    optimizer(author, shape);
}

fn whole_backward(author: &mut Author<'_>, shape: &Shape) {
    let count = shape.layers.len();
    let mut reduced = Vec::new();
    for (index, each) in shape.layers.iter().rev().enumerate() {
        backward(author, each);
        reduce_part(author, shape, index);
        match shape.exchange {
            Exchange::Buckets(buckets) if ends_a_part(index, count, buckets) => {
                reduced.push(author.transfer(&ALL_REDUCE));
            }
            Exchange::Sharded(groups) if ends_a_part(index, count, groups) => {
                reduced.push(author.transfer(&REDUCE_SCATTER));
            }
            _ => {}
        }
    }
    if let Exchange::AfterBackward(buckets) = shape.exchange {
        reduced.extend((0..buckets).map(|_| author.transfer(&ALL_REDUCE)));
    }
    for &event in &reduced {
        author.wait(COMPUTE, event);
    }
}

fn optimizer(author: &mut Author<'_>, shape: &Shape) {
    let kernel_ns = shape.layers.iter().map(|layer| layer.kernel_ns).sum::<i64>() / 20;
    author.annotation("Optimizer.step#Adam.step", |author| {
        author.work(30_000);
        for _ in 0..shape.optimizer_kernels {
            author.operator("aten::_fused_adam_", |author| {
                author.work(12_000);
                author.kernel(OPTIMIZER_KERNEL, kernel_ns, COMPUTE);
                author.work(2_000);
            });
        }
        author.work(5_000);
    });
    author.annotation("Optimizer.zero_grad#Adam.zero_grad", |author| {
        author.work(6_000);
        author.operator("aten::zero_", |author| {
            author.work(3_000);
            author.set(1 << 20, COMPUTE);
            author.work(500);
        });
    });
}

fn inference(author: &mut Author<'_>, shape: &Shape) {
    let half = shape.layers.len() / 2;
    for (index, each) in shape.layers.iter().enumerate() {
        layer(author, each, COMPUTE);
        if index == half && shape.wait == Wait::ItemsInside {
            author.item();
        }
    }
    sample(author);
}

fn sample(author: &mut Author<'_>) {
    author.operator("aten::argmax", |author| {
        author.work(9_000);
        author.kernel(ARGMAX_KERNEL, 6_000, COMPUTE);
        author.work(1_500);
    });
}

/// Branches on streams of their own that leave the computing stream and join it again.
fn forked(author: &mut Author<'_>, shape: &Shape, carried: &mut Carried) {
    let part = shape.layers.len().div_ceil(2 * shape.forks + 1);
    for (index, layers) in shape.layers.chunks(part).enumerate() {
        if index % 2 == 1 {
            branches(author, layers, shape.side_streams);
        } else {
            layers.iter().for_each(|each| layer(author, each, COMPUTE));
        }
    }
    author.copy(Direction::DeviceToDevice, Memory::Pinned, 1 << 20, COMPUTE);
    sample(author);
    if let Some(event) = carried.lagging.take() {
        author.wait(COMPUTE, event);
    }
    if shape.lagging_kernels > 0 {
        author.follow(SIDE, COMPUTE);
        for each in shape.layers.iter().take(shape.lagging_kernels) {
            layer(author, each, SIDE);
        }
        carried.lagging = Some(author.record(SIDE));
    }
}

fn branches(author: &mut Author<'_>, layers: &[Layer], side_streams: usize) {
    for side in 0..side_streams {
        author.follow(SIDE + side, COMPUTE);
    }
    for (turn, each) in layers.iter().enumerate() {
        let branch = turn % (side_streams + 1);
        layer(author, each, if branch == 0 { COMPUTE } else { SIDE + branch - 1 });
    }
    for side in 0..side_streams {
        author.follow(COMPUTE, SIDE + side);
    }
}

fn graph(author: &mut Author<'_>, shape: &Shape) {
    let vendor = author.hardware.vendor;
    let kernels: Vec<(&'static str, i64)> =
        shape.layers.iter().map(|layer| (layer.operator.kernel(vendor), layer.kernel_ns)).collect();
    for part in kernels.chunks(40) {
        author.work(25_000);
        author.graph(part, COMPUTE);
    }
    author.work(30_000);
    sample(author);
}
