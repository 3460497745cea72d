//! Forward pass, backward pass and optimizer, on one rank or on several that exchange what they compute.

use super::author::{Author, COMPUTE};
use super::names::{ALL_GATHER, ALL_REDUCE, OPTIMIZER_KERNEL, REDUCE_SCATTER};
use super::shape::{Exchange, Layer, Shape, Wait};

pub(super) fn layer(author: &mut Author<'_>, layer: &Layer, stream: usize) {
    let kernel = layer.operator.kernel(author.hardware.vendor);
    let before = layer.host_ns * 2 / 3;
    author.operator(layer.operator.name, |author| {
        author.work(before / 2);
        if let Some(inner) = layer.operator.inner {
            author.operator(inner, |author| {
                author.work(before / 2);
                author.kernel(kernel, layer.kernel_ns, stream);
                author.work(layer.host_ns / 12);
            });
        } else {
            author.work(before / 2);
            author.kernel(kernel, layer.kernel_ns, stream);
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

pub(super) fn training(author: &mut Author<'_>, shape: &Shape) {
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
