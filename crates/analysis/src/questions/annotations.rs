//! How long did the stretches take that somebody named?
//!
//! Annotations by name: those of the host (`record_function`, profiler steps included) or their shadows on the
//! GPU, which last from the first GPU event launched inside to the last.
//!
//! If asked for, also which kernels ran under which annotation; see [`kernels`].

pub mod kernels;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Arg, Class, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::shared::durations::Durations;

pub use kernels::AnnotatedKernel;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnnotationRow {
    pub rank: u32,
    pub name: String,
    /// Whether this is the annotation's shadow on the GPU.
    pub gpu: bool,
    pub count: u64,
    pub sum_ns: Ns,
    pub mean_ns: f64,
    pub min_ns: Ns,
    pub max_ns: Ns,
    pub std_ns: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnnotationsAnswer {
    pub rows: Vec<AnnotationRow>,
    /// If asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Vec<AnnotatedKernel>>,
}

impl Tabular for AnnotationsAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows = Table::of("rows", "Annotations", &self.rows)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .text("on", "Host or GPU", |r| if r.gpu { "GPU" } else { "host" }.to_owned())
            .int("count", Unit::Count, "How often", |r| r.count as i64)
            .int("sum_ns", Unit::Ns, "Time in all", |r| r.sum_ns.0)
            .float("mean_ns", Unit::Ns, "Mean time", |r| r.mean_ns)
            .int("min_ns", Unit::Ns, "Shortest", |r| r.min_ns.0)
            .int("max_ns", Unit::Ns, "Longest", |r| r.max_ns.0)
            .float("std_ns", Unit::Ns, "Sample standard deviation", |r| r.std_ns)
            .text("name", "The annotation", |r| r.name.clone())
            .build();
        std::iter::once(rows).chain(self.kernels.as_deref().map(kernels::table)).collect()
    }
}

/// Whose annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    #[default]
    Host,
    Gpu,
    Both,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    pub whose: Whose,
    /// Also which kernels ran under them.
    pub kernels: bool,
}

impl Question for Annotations {
    type Local = AnnotationsAnswer;
    type Answer = AnnotationsAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> AnnotationsAnswer {
        let trace = view.trace;
        let mut found: FxHashMap<(bool, StrId), Durations> = FxHashMap::default();
        let mut add = |row, gpu, name| {
            if let Some((start, end)) = trace.span(row) {
                found.entry((gpu, name)).or_default().add(end - start);
            }
        };
        for row in trace.rows().filter(|row| view.selection.has(*row)) {
            match trace.class(row) {
                Class::Annotation if self.whose != Whose::Gpu => add(row, false, trace.name_id(row)),
                Class::GpuAnnotation if self.whose != Whose::Host => add(row, true, trace.name_id(row)),
                _ => {}
            }
        }
        // Operators that were recorded as NVTX ranges are annotations, too, by the whole text of the range.
        if self.whose != Whose::Gpu {
            let operators = trace.args.texts(Arg::NvtxText).filter(|(row, _)| view.selection.has(*row));
            operators.for_each(|(row, text)| add(row, false, text));
        }
        let mut rows: Vec<AnnotationRow> = found
            .into_iter()
            .map(|((gpu, name), durations)| AnnotationRow {
                rank,
                name: trace.strings.get(name).to_owned(),
                gpu,
                count: durations.count,
                sum_ns: durations.sum_ns(),
                mean_ns: durations.mean(),
                min_ns: durations.min,
                max_ns: durations.max,
                std_ns: durations.deviation(),
            })
            .collect();
        rows.sort_by(|a, b| (b.sum_ns, &a.name, a.gpu).cmp(&(a.sum_ns, &b.name, b.gpu)));
        AnnotationsAnswer { rows, kernels: self.kernels.then(|| kernels::of(rank, view, self.whose)) }
    }

    fn merge(&self, locals: Vec<AnnotationsAnswer>) -> AnnotationsAnswer {
        let (rows, kernels): (Vec<_>, Vec<_>) =
            locals.into_iter().map(|local| (local.rows, local.kernels.unwrap_or_default())).unzip();
        AnnotationsAnswer {
            rows: rows.into_iter().flatten().collect(),
            kernels: self.kernels.then(|| kernels.into_iter().flatten().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    #[test]
    fn host_and_gpu_annotations_are_told_apart() {
        let loaded = trace()
            .host("user_annotation", "forward", 0..10)
            .host("user_annotation", "forward", 20..50)
            .host("gpu_user_annotation", "forward", 5..60)
            .host("cpu_op", "aten::mm", 0..5)
            .build();
        let rows = |whose: Whose| -> Vec<(bool, u64, i64)> {
            let answer = loaded.ask(&Annotations { whose, kernels: false });
            answer.rows.iter().map(|row| (row.gpu, row.count, row.sum_ns.0)).collect()
        };
        assert_eq!(rows(Whose::Host), [(false, 2, 40)]);
        assert_eq!(rows(Whose::Gpu), [(true, 1, 55)]);
        assert_eq!(rows(Whose::Both), [(true, 1, 55), (false, 2, 40)]);
    }
}
