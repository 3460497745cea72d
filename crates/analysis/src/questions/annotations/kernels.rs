//! Which kernels ran under which annotation?
//!
//! Of the host: the innermost annotation on the launching thread around the call that launched the kernel. Of the
//! GPU: of the annotations on the kernel's own stream that hold its start, the last to begin. Each kernel belongs
//! to one annotation of either sort or to none, so the rows of each sort make up all GPU time.

use gpuscope_table::{Table, Unit};
use gpuscope_trace::{Class, GpuEvent, Ns, Row, StrId, ThreadId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Whose;
use crate::shared::owner::{Among, Owners};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnnotatedKernel {
    pub rank: u32,
    /// Whether this is an annotation's shadow on the GPU.
    pub gpu: bool,
    /// None for kernels that ran under no annotation.
    pub annotation: Option<String>,
    pub kernel: String,
    pub count: u64,
    pub sum_ns: Ns,
}

pub(super) fn table(rows: &[AnnotatedKernel]) -> Table {
    Table::of("kernels", "Kernels under annotations", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("on", "Host or GPU", |r| if r.gpu { "GPU" } else { "host" }.to_owned())
        .int("count", Unit::Count, "How many of this kernel", |r| r.count as i64)
        .int("sum_ns", Unit::Ns, "Their time in all", |r| r.sum_ns.0)
        .text("annotation", "The innermost annotation", |r| r.annotation.clone())
        .text("kernel", "The kernel", |r| r.kernel.clone())
        .build()
}

pub(super) fn of(rank: u32, view: View<'_>, whose: Whose) -> Vec<AnnotatedKernel> {
    let mut rows = Vec::new();
    if whose != Whose::Gpu {
        let is_annotation = |row: Row| view.trace.class(row) == Class::Annotation;
        let nesting = view.index.nesting(view.trace);
        let mut annotations = Owners::new(nesting, view.trace.len(), Among::Innermost, is_annotation);
        rows.extend(totals(rank, view, false, |event| annotations.of(view.launch(event.row)?)));
    }
    if whose != Whose::Host {
        let mut streams = Streams::of(view);
        rows.extend(totals(rank, view, true, |event| {
            streams.annotation_at(view.trace.track(event.row).thread, event.start)
        }));
    }
    rows
}

/// Kernels by annotation and name, largest first.
fn totals(
    rank: u32,
    view: View<'_>,
    gpu: bool,
    mut annotation_of: impl FnMut(&GpuEvent) -> Option<Row>,
) -> Vec<AnnotatedKernel> {
    let trace = view.trace;
    let mut totals: FxHashMap<(Option<StrId>, StrId), (u64, Ns)> = FxHashMap::default();
    for event in view.gpu() {
        let annotation = annotation_of(event).map(|row| trace.name_id(row));
        let (count, sum) = totals.entry((annotation, trace.name_id(event.row))).or_default();
        (*count, *sum) = (*count + 1, *sum + event.dur());
    }
    let mut rows: Vec<AnnotatedKernel> = totals
        .into_iter()
        .map(|((annotation, kernel), (count, sum_ns))| AnnotatedKernel {
            rank,
            gpu,
            annotation: annotation.map(|name| trace.strings.get(name).to_owned()),
            kernel: trace.strings.get(kernel).to_owned(),
            count,
            sum_ns,
        })
        .collect();
    rows.sort_by(|a, b| (b.sum_ns, &a.annotation, &a.kernel).cmp(&(a.sum_ns, &b.annotation, &b.kernel)));
    rows
}

/// The GPU annotations of each stream, on the way through time.
struct Streams {
    by_thread: FxHashMap<ThreadId, Stream>,
}

#[derive(Default)]
struct Stream {
    /// By start, longer ones first.
    annotations: Vec<(Ns, Ns, Row)>,
    next: usize,
    /// Begun, the last to begin at the end.
    open: Vec<(Ns, Row)>,
}

impl Streams {
    fn of(view: View<'_>) -> Streams {
        let trace = view.trace;
        let mut by_thread: FxHashMap<ThreadId, Stream> = FxHashMap::default();
        for row in trace.rows().filter(|row| trace.class(*row) == Class::GpuAnnotation) {
            if let Some((start, end)) = trace.span(row) {
                by_thread.entry(trace.track(row).thread).or_default().annotations.push((start, end, row));
            }
        }
        for stream in by_thread.values_mut() {
            stream.annotations.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
        }
        Streams { by_thread }
    }

    /// The annotation at a time, which must not be before any asked for earlier.
    fn annotation_at(&mut self, thread: ThreadId, time: Ns) -> Option<Row> {
        let stream = self.by_thread.get_mut(&thread)?;
        while let Some((_, end, row)) =
            stream.annotations.get(stream.next).filter(|(start, ..)| *start <= time)
        {
            stream.open.push((*end, *row));
            stream.next += 1;
        }
        while stream.open.pop_if(|(end, _)| *end <= time).is_some() {}
        stream.open.last().map(|(_, row)| *row)
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Id, Phase};
    use proptest::prelude::*;

    use super::*;
    use crate::Annotations;
    use crate::testing::{Sample, trace};

    fn shadow(sample: Sample, name: &str, stream: i64, start: i64, end: i64) -> Sample {
        sample.event(Phase::Complete, "gpu_user_annotation", name, Some(start), Some(end - start), |record| {
            (record.pid, record.tid, record.stream) = (Id::Int(0), Id::Int(stream), Id::Int(stream));
        })
    }

    type Found = Vec<(bool, Option<String>, String, i64)>;

    fn found(sample: Sample) -> Found {
        let answer = sample.build().ask(&Annotations { whose: Whose::Both, kernels: true });
        let rows = answer.kernels.unwrap();
        rows.into_iter().map(|r| (r.gpu, r.annotation, r.kernel, r.sum_ns.0)).collect()
    }

    #[test]
    fn the_innermost_annotation_has_the_kernel() {
        let sample = trace()
            .host("user_annotation", "forward", 0..100)
            .host("user_annotation", "block", 10..50)
            .host("cpu_op", "aten::mm", 15..30)
            .call(1, 20..22)
            .call(2, 60..62)
            .call(3, 200..202)
            .kernel("a", 7, 30..40, 1)
            .kernel("b", 7, 70..90, 2)
            .kernel("c", 7, 210..215, 3);
        let sample = shadow(sample, "forward", 7, 30, 90);
        let sample = shadow(sample, "block", 7, 30, 40);
        let name = |text: &str| Some(text.to_owned());
        assert_eq!(
            found(sample),
            [
                (false, name("forward"), "b".to_owned(), 20),
                (false, name("block"), "a".to_owned(), 10),
                (false, None, "c".to_owned(), 5),
                (true, name("forward"), "b".to_owned(), 20),
                (true, name("block"), "a".to_owned(), 10),
                (true, None, "c".to_owned(), 5),
            ]
        );
    }

    proptest! {
        #[test]
        fn on_the_gpu_it_is_the_last_to_begin_of_those_that_hold_the_start(
            shadows in proptest::collection::vec((0..2i64, 0..30i64, 0..15i64), 0..8),
            kernels in proptest::collection::vec((0..2i64, 0..30i64, 1..5i64), 1..8),
        ) {
            let mut sample = trace();
            for (i, (stream, start, length)) in shadows.iter().enumerate() {
                sample = shadow(sample, &format!("shadow {i}"), *stream, *start, start + length);
            }
            for (i, (stream, start, length)) in kernels.iter().enumerate() {
                sample = sample.kernel(&format!("kernel {i}"), *stream, *start..start + length, None);
            }
            let mut expected: Found = Vec::new();
            for (i, (stream, start, length)) in kernels.iter().enumerate() {
                let holding = shadows.iter().enumerate().filter(|(_, (on, from, length))| {
                    on == stream && from <= start && *start < from + length
                });
                // Of those that begin together the shorter, then the later in the file.
                let last = holding.max_by_key(|(i, (_, from, length))| (*from, -*length, *i));
                let annotation = last.map(|(i, _)| format!("shadow {i}"));
                expected.push((true, annotation, format!("kernel {i}"), *length));
            }
            let mut got = found(sample);
            got.retain(|row| row.0);
            got.sort();
            expected.sort();
            prop_assert_eq!(got, expected);
        }
    }
}
