//! The kernels that take most time over all ranks, and the operators that launch them.

use std::collections::BTreeMap;

use gpuscope_trace::{Class, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::shared::owner::{Among, Owners};

/// Kernels listed.
const TOP: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopKernel {
    pub name: String,
    /// The operator that launches most of it.
    pub operator: Option<String>,
    pub count: u64,
    pub sum_ns: Ns,
    /// Of the time of all GPU events.
    pub pct: f64,
}

/// Of one rank, by kernel and operator.
#[derive(Debug, Default)]
pub(super) struct RankTop(Vec<(String, Option<String>, u64, Ns)>);

impl RankTop {
    pub(super) fn of(view: View<'_>) -> RankTop {
        let trace = view.trace;
        let is_operator = |row| trace.class(row) == Class::Operator;
        let mut owners = Owners::new(view.index.nesting(trace), trace.len(), Among::Innermost, is_operator);
        let mut sums: FxHashMap<(StrId, Option<StrId>), (u64, Ns)> = FxHashMap::default();
        for event in view.gpu() {
            let operator = view.launch(event.row).and_then(|call| owners.of(call));
            let key = (trace.name_id(event.row), operator.map(|row| trace.name_id(row)));
            let (count, sum) = sums.entry(key).or_default();
            (*count, *sum) = (*count + 1, *sum + event.dur());
        }
        let text = |name: StrId| trace.strings.get(name).to_owned();
        let row = |((name, operator), (count, sum)): ((StrId, Option<StrId>), (u64, Ns))| {
            (text(name), operator.map(text), count, sum)
        };
        RankTop(sums.into_iter().map(row).collect())
    }
}

/// All launches of one kernel.
#[derive(Default)]
struct Launches {
    count: u64,
    sum: Ns,
    by_operator: BTreeMap<Option<String>, Ns>,
}

pub(super) fn merge(ranks: Vec<RankTop>) -> Vec<TopKernel> {
    let mut kernels: BTreeMap<String, Launches> = BTreeMap::new();
    let mut all = Ns::ZERO;
    for (name, operator, count, sum) in ranks.into_iter().flat_map(|rank| rank.0) {
        let kernel = kernels.entry(name).or_default();
        kernel.count += count;
        kernel.sum += sum;
        *kernel.by_operator.entry(operator).or_default() += sum;
        all += sum;
    }
    let mut top: Vec<TopKernel> = kernels
        .into_iter()
        .map(|(name, Launches { count, sum, by_operator })| TopKernel {
            name,
            operator: by_operator
                .into_iter()
                .max_by_key(|(_, time)| *time)
                .and_then(|(operator, _)| operator),
            count,
            sum_ns: sum,
            pct: sum.pct_of(all),
        })
        .collect();
    top.sort_by(|a, b| b.sum_ns.cmp(&a.sum_ns).then_with(|| a.name.cmp(&b.name)));
    top.truncate(TOP);
    top
}
