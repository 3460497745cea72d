//! What a host does in a step of each kind of job.

use super::author::{Author, COMPUTE, COPIES, SIDE};
use super::inference::{forked, graph, inference};
use super::kind::JobKind;
use super::names::LOADER;
use super::program::{Direction, Span, Target};
use super::shape::{Shape, Wait};
use super::training::training;

/// What is carried from one step to the next.
#[derive(Debug, Default)]
pub(super) struct Carried {
    end_of_step: Option<usize>,
    input_is_there: Option<usize>,
    /// The computing stream is done with the input before.
    input_was_used: Option<usize>,
    pub(super) lagging: Option<usize>,
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
                training(author, shape);
            }
            JobKind::Inference | JobKind::Copies => inference(author, shape),
            JobKind::Streams => forked(author, shape, carried),
            JobKind::Graphs => graph(author, shape),
        }
        output(author, shape);
        memory(author, shape);
        if shape.wait == Wait::EventSynchronize {
            carried.end_of_step = Some(author.record(if shape.input.ahead { COPIES } else { COMPUTE }));
        }
        if shape.input.ahead {
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
        if shape.input.in_two {
            author.wait(SIDE + 1, event);
        }
    }
    let stream = if shape.input.ahead { COPIES } else { COMPUTE };
    copy_input(author, shape, shape.input.bytes, stream);
    if shape.input.in_two {
        copy_input(author, shape, shape.input.bytes / 3, SIDE + 1);
        author.follow(stream, SIDE + 1);
    }
    if shape.input.ahead {
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
            author.copy(Direction::HostToDevice, shape.input.memory, bytes, stream);
            author.work(1_000);
        });
        author.work(1_000);
    });
}

fn output(author: &mut Author<'_>, shape: &Shape) {
    if shape.output.bytes == 0 {
        return;
    }
    let stream = match (shape.output.apart, shape.input.ahead) {
        (true, _) => SIDE,
        (false, true) => COPIES,
        (false, false) => COMPUTE,
    };
    if stream != COMPUTE {
        author.follow(stream, COMPUTE);
    }
    author.operator("aten::copy_", |author| {
        author.work(4_000);
        author.copy(Direction::DeviceToHost, shape.output.memory, shape.output.bytes, stream);
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
