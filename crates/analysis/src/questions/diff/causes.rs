//! Which operators does the change of GPU time come from?
//!
//! GPU work is put down to the innermost operator that both runs have on the same path of operators, so that a
//! convolution is compared with a convolution whatever library ran it. Work below none counts by its own outermost
//! operator, which only one run has; work that no operator launched by its kernel, without template arguments and
//! parameters. Every nanosecond of GPU time belongs to one cause.

use std::collections::BTreeMap;

use gpuscope_table::{Table, Unit};
use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::recorded::Recorded;
use super::{Place, Side, Total, Totals};
use crate::diff_tree::{Overlay, Part, PathSide, RunTree, Why, merged};
use crate::shared::text::time;
use crate::stacks::{NodeId, NodeKind, ROOT, Weights};

/// How many causes a person reads, and what share of all that changed they should make up.
const MOST: usize = 4;
const ENOUGH: f64 = 0.8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    Operator,
    Kernel,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    pub name: String,
    pub kind: CauseKind,
    /// In the whole run.
    pub a: Total,
    pub b: Total,
    pub a_gflops: Option<f64>,
    pub b_gflops: Option<f64>,
    /// B less A, of what is compared: see [`Per`].
    pub delta_ns: Ns,
    /// Of all changes added up, whichever way they go.
    pub share_pct: f64,
    pub why: Why,
}

/// How many times each run has what is compared: steps times ranks, or ranks where a run has no steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Per {
    pub a: u64,
    pub b: u64,
    /// It is a step.
    pub step: bool,
}

impl Default for Per {
    fn default() -> Per {
        Per { a: 1, b: 1, step: false }
    }
}

impl Per {
    pub(super) fn of(a: &Recorded, b: &Recorded) -> Per {
        let step = a.step.is_some() && b.step.is_some();
        let times = |side: &Recorded| side.ranks.max(1) * if step { side.steps.max(1) } else { 1 };
        Per { a: times(a), b: times(b), step }
    }

    pub(super) fn in_a(self, sum: Ns) -> Ns {
        Ns(sum.0 / i64::try_from(self.a).unwrap_or(i64::MAX))
    }

    pub(super) fn in_b(self, sum: Ns) -> Ns {
        Ns(sum.0 / i64::try_from(self.b).unwrap_or(i64::MAX))
    }
}

impl Cause {
    pub(super) fn between(a: &Side, b: &Side, per: Per) -> Vec<Cause> {
        let sums = match (&a.recorded.tree, &b.recorded.tree) {
            (Some(a), Some(b)) => of_operators(a, b),
            _ => of_kernels(&a.totals, &b.totals),
        };
        let of = |((kind, name), [a, b]): ((CauseKind, String), [PathSide; 2])| Cause {
            name,
            kind,
            a: Total { count: a.count, sum_ns: a.gpu_ns, own_ns: Ns::ZERO },
            b: Total { count: b.count, sum_ns: b.gpu_ns, own_ns: Ns::ZERO },
            a_gflops: a.gflops,
            b_gflops: b.gflops,
            delta_ns: per.in_b(b.gpu_ns) - per.in_a(a.gpu_ns),
            share_pct: 0.0,
            why: Why::between_per(&a, &b, [per.a, per.b]),
        };
        let mut causes: Vec<Cause> = sums.into_iter().map(of).collect();
        let all = all_changes(&causes);
        for cause in &mut causes {
            cause.share_pct = Ns(cause.size()).pct_of(all);
        }
        // Stable, so that equal ones stay by name.
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.size()));
        causes
    }

    fn size(&self) -> i64 {
        self.delta_ns.0.saturating_abs()
    }

    /// The few that make up most of what changed.
    pub(super) fn foremost(causes: &[Cause]) -> &[Cause] {
        let enough = all_changes(causes).as_f64() * ENOUGH;
        let mut sum = 0.0;
        let is_needed = |cause: &&Cause| {
            let needed = sum < enough && cause.delta_ns != Ns::ZERO;
            sum += cause.size() as f64;
            needed
        };
        let needed = causes.iter().take(MOST).take_while(is_needed).count();
        &causes[..needed]
    }
}

/// Whichever way they go.
pub(super) fn all_changes(causes: &[Cause]) -> Ns {
    causes.iter().map(|cause| Ns(cause.size())).sum()
}

type Sums = BTreeMap<(CauseKind, String), [PathSide; 2]>;

fn of_operators(a: &RunTree, b: &RunTree) -> Sums {
    let both = Overlay::new(a, b);
    let trie = &both.trie;
    let nodes = trie.nodes();
    // What the work of each node is put down to; the root for nothing yet.
    let mut named: Vec<NodeId> = vec![ROOT; nodes.len()];
    let mut is_common: Vec<bool> = vec![true; nodes.len()];
    let mut sums: Sums = BTreeMap::new();
    let mut kernels: FxHashMap<((CauseKind, String), &str), [Weights; 2]> = FxHashMap::default();
    for node in 1..nodes.len() {
        let id = node as NodeId;
        let parent = nodes[node].parent as usize;
        let kind = trie.kind(id);
        let on_both = both.sides.iter().all(|side| side[node].is_some());
        is_common[node] = is_common[parent] && on_both && kind == NodeKind::Operator;
        let is_first = named[parent] == ROOT && kind != NodeKind::Unlinked;
        named[node] = if is_common[node] || is_first { id } else { named[parent] };
        if kind == NodeKind::Kernel {
            let key = cause_of(trie.kind(named[node]), trie.text(named[node]));
            let sum = kernels.entry((key, trie.text(id))).or_default();
            for (sum, side) in sum.iter_mut().zip(&both.sides) {
                sum.add(side[node].unwrap_or_default());
            }
        }
    }
    for ((cause, kernel), works) in kernels {
        let sides = sums.entry(cause).or_default();
        for (side, work) in sides.iter_mut().zip(works).filter(|(_, work)| work.count > 0) {
            let mut part = PathSide::of(work);
            part.parts.push(Part { name: kernel.to_owned(), gpu_ns: work.gpu });
            side.add(&part);
        }
    }
    for side in sums.values_mut().flatten() {
        side.parts = merged(std::mem::take(&mut side.parts));
    }
    sums
}

fn of_kernels(a: &Totals, b: &Totals) -> Sums {
    let mut sums: Sums = BTreeMap::new();
    for (i, totals) in [a, b].into_iter().enumerate() {
        for ((name, _), total) in totals.iter().filter(|((_, place), _)| *place == Place::Gpu) {
            let side = &mut sums.entry(cause_of(NodeKind::Kernel, name)).or_default()[i];
            side.count += total.count;
            side.gpu_ns += total.sum_ns;
            side.parts.push(Part { name: name.clone(), gpu_ns: total.sum_ns });
        }
    }
    sums
}

fn cause_of(kind: NodeKind, name: &str) -> (CauseKind, String) {
    match kind {
        NodeKind::Kernel => (CauseKind::Kernel, family(name).to_owned()),
        _ => (CauseKind::Operator, name.to_owned()),
    }
}

/// `void at::native::reduce_kernel<512, 1>(Params)` is `at::native::reduce_kernel`; `Memcpy HtoD (Pinned -> Device)`
/// stays, as there is a space before what looks like parameters.
fn family(kernel: &str) -> &str {
    let name = kernel.strip_prefix("void ").unwrap_or(kernel);
    let is_end = |(at, c): &(usize, char)| {
        matches!(c, '<' | '(') && *at > 0 && !matches!(name.as_bytes()[at - 1], b' ' | b':')
    };
    name.char_indices().find(is_end).map_or(name, |(at, _)| &name[..at])
}

pub(super) fn table(causes: &[Cause], per: Per) -> Table {
    let of_step = if per.step { " of a step" } else { "" };
    let all = time(all_changes(causes));
    let title =
        format!("What changed the GPU time{of_step}, B less A; shares of {all}, all changes up and down");
    let changed: Vec<&Cause> = causes.iter().filter(|cause| cause.delta_ns != Ns::ZERO).collect();
    Table::of("causes", title, &changed)
        .int(
            "delta_ns",
            Unit::Ns,
            "GPU time of B less that of A: of a step, where both have steps, and of one rank",
            |c| c.delta_ns.0,
        )
        .float("share_pct", Unit::Percent, "Of all changes added up, whichever way they go", |c| c.share_pct)
        .text("why", "New or gone, more or less to do, done at another speed, or by other kernels", |c| {
            c.why.label().to_owned()
        })
        .int("a_ns", Unit::Ns, "GPU time in A", move |c| per.in_a(c.a.sum_ns).0)
        .int("b_ns", Unit::Ns, "GPU time in B", move |c| per.in_b(c.b.sum_ns).0)
        .int("a_count", Unit::Count, "GPU events in the whole of A", |c| c.a.count as i64)
        .int("b_count", Unit::Count, "GPU events in the whole of B", |c| c.b.count as i64)
        .text(
            "name",
            "The innermost operator that both runs have; else an operator or a kernel of one run",
            |c| c.name.clone(),
        )
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_one_template_are_one_family() {
        for (name, expected) in [
            ("void at::native::reduce_kernel<512, 1>(Params)", "at::native::reduce_kernel"),
            ("void (anonymous namespace)::softmax<float>(int)", "(anonymous namespace)::softmax"),
            ("ncclDevKernel_AllReduce_Sum_f32(Args)", "ncclDevKernel_AllReduce_Sum_f32"),
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
            ("at::native::<unnamed>::fill<int>(int)", "at::native::<unnamed>::fill"),
            ("gemm", "gemm"),
            ("", ""),
        ] {
            assert_eq!(family(name), expected);
        }
    }
}
