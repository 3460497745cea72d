//! Layers one after the other, on several streams, or as graphs.

use super::author::{Author, COMPUTE, Memory, SIDE};
use super::names::ARGMAX_KERNEL;
use super::program::Direction;
use super::shape::{Layer, Shape, Wait};
use super::steps::Carried;
use super::training::layer;

pub(super) fn inference(author: &mut Author<'_>, shape: &Shape) {
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
pub(super) fn forked(author: &mut Author<'_>, shape: &Shape, carried: &mut Carried) {
    let part = shape.layers.len().div_ceil(2 * shape.forks + 1);
    for (index, layers) in shape.layers.chunks(part).enumerate() {
        if index % 2 == 1 {
            branches(author, layers, shape.side_streams);
        } else {
            for each in layers {
                layer(author, each, COMPUTE);
            }
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

pub(super) fn graph(author: &mut Author<'_>, shape: &Shape) {
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
