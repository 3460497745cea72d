//! Rows as people and scripts see them, from what the calls of a rank add up to.

use std::collections::BTreeMap;

use gpuscope_trace::{Bitmap, GpuEvent, Ns, View};

use super::calls::Calls;
use super::kernels;
use super::kinds::{Kind, Kinds};
use super::mfu::Asked as Utilised;
use super::overlap::Shared;
use super::rates::{OfKind, Rates};
use super::tally::{Tallies, Tally};
use super::unions::Times;
use super::work::{Recorded, Works};
use super::{
    Arguments, By, CategoryRow, Limits, Literal, Mfu, OpRow, Ops, OverlapOfOp, PerStep, RankOps, WorkOfOp,
};

/// The calls of one rank.
pub(super) struct OfRank<'r> {
    pub(super) rank: u32,
    pub(super) view: View<'r>,
    pub(super) calls: &'r Calls,
    pub(super) kinds: &'r Kinds,
    pub(super) times: &'r [Times],
    pub(super) works: &'r Works,
    pub(super) limits: &'r Limits,
}

impl OfRank<'_> {
    pub(super) fn rows(&self, tallies: &Tallies, asked: &Ops) -> Vec<OpRow> {
        let mut rows: Vec<OpRow> = tallies.rows.iter().map(|tally| self.row(tally, asked)).collect();
        if asked.by != By::Arguments {
            for (row, rates) in rows.iter_mut().zip(self.rates(tallies)) {
                row.work = Some(rates.work());
            }
        }
        if asked.kernels {
            let kernels = kernels::of_rows(self.view, self.calls, tallies);
            rows.iter_mut().zip(kernels).for_each(|(row, kernels)| row.kernels = Some(kernels));
        }
        if asked.overlap {
            let shared = Shared::of(self.view);
            let mut overlaps = vec![Ns::ZERO; rows.len()];
            for (call, row) in tallies.of.iter().enumerate() {
                if let Some(row) = row {
                    overlaps[*row as usize] += shared.with(self.view, self.calls.direct(call));
                }
            }
            for (row, overlap_ns) in rows.iter_mut().zip(overlaps) {
                let overlap_pct = overlap_ns.pct_of(row.direct_kernel_ns);
                row.overlap = Some(OverlapOfOp { overlap_ns, overlap_pct });
            }
        }
        rows
    }

    fn row(&self, tally: &Tally, asked: &Ops) -> OpRow {
        let Kind { name, arguments } = self.kinds.list[tally.kind as usize];
        let strings = &self.view.trace.strings;
        let literal = |i: usize| arguments[i].map(|text| Literal::parse(strings.get(text)));
        let launched = self.calls.direct(tally.example as usize).first();
        let kernel = launched.map(|event| self.view.trace.name(event.row));
        let by_arguments = asked.by == By::Arguments;
        let work = self.works.of[tally.kind as usize].as_ref();
        OpRow {
            rank: self.rank,
            name: strings.get(name).to_owned(),
            category: asked.models().category(strings.get(name), kernel).to_owned(),
            arguments: by_arguments.then(|| Arguments {
                input_dims: literal(0),
                input_types: literal(1),
                input_strides: literal(2),
                concrete_inputs: literal(3),
            }),
            recompute: asked.recompute.then_some(tally.recomputed),
            count: tally.count,
            direct_kernel_ns: tally.direct,
            subtree_kernel_ns: tally.subtree,
            pct: tally.direct.pct_of(self.direct()),
            overlap: None,
            work: by_arguments.then(|| WorkOfOp::new(work, tally.count, tally.subtree, self.limits)),
            kernels: None,
        }
    }

    /// By row, over all its calls.
    fn rates(&self, tallies: &Tallies) -> Vec<Rates> {
        let works = self.works.of.iter().map(Option::as_ref);
        let kinds: Vec<_> = works.map(|work| Some(OfKind::new(work?, self.limits))).collect();
        let mut rates = vec![Rates::default(); tallies.rows.len()];
        for (call, row) in tallies.of.iter().enumerate() {
            if let (Some(row), Some(kind)) = (row, &kinds[self.kinds.of[call] as usize]) {
                rates[*row as usize].add(kind, self.times[call].subtree);
            }
        }
        rates
    }

    pub(super) fn mfu(&self, again: &Bitmap, per_step: PerStep) -> Mfu {
        let OfRank { rank, view, calls, kinds, works, limits, .. } = *self;
        Utilised { view, calls, kinds, works, again, limits, per_step }.mfu(rank)
    }

    fn direct(&self) -> Ns {
        self.times.iter().map(|times| times.direct).sum()
    }

    pub(super) fn categories(&self, ops: &[OpRow]) -> Vec<CategoryRow> {
        let mut sums: BTreeMap<&str, (u64, Ns)> = BTreeMap::new();
        for op in ops.iter().filter(|op| op.direct_kernel_ns > Ns::ZERO) {
            let sum = sums.entry(&op.category).or_default();
            sum.0 += op.count;
            sum.1 += op.direct_kernel_ns;
        }
        let all = self.direct();
        let row = |(category, (count, direct)): (&str, (u64, Ns))| CategoryRow {
            rank: self.rank,
            category: category.to_owned(),
            count,
            direct_kernel_ns: direct,
            pct: direct.pct_of(all),
        };
        let mut rows: Vec<CategoryRow> = sums.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.direct_kernel_ns));
        rows
    }

    pub(super) fn about(&self, again: &Bitmap) -> RankOps {
        let direct = self.direct();
        let launching = (0..self.calls.len()).filter(|call| !self.calls.direct(*call).is_empty());
        let recomputed = launching.clone().filter(|call| again.has(self.calls.row(*call)));
        let recompute: Ns = recomputed.map(|call| self.times[call].direct).sum();
        let sum = |events: &mut dyn Iterator<Item = &GpuEvent>| events.map(GpuEvent::dur).sum::<Ns>();
        let recorded = Recorded::of(self.view, self.calls, self.kinds, self.works);
        let unlinked = self.calls.unlinked();
        let unlinked_ns = sum(&mut unlinked.iter());
        RankOps {
            rank: self.rank,
            calls: launching.count() as u64,
            direct_kernel_ns: direct,
            recompute_kernel_ns: recompute,
            recompute_pct: recompute.pct_of(direct),
            unlinked_kernels: unlinked.len() as u64,
            unlinked_kernel_ns: unlinked_ns,
            unlinked_pct: unlinked_ns.pct_of(sum(&mut self.view.gpu())),
            recorded_flops_calls: recorded.calls,
            recorded_flops_differ: recorded.differ,
            rows_left_out: 0,
            left_out_kernel_ns: Ns::ZERO,
            no_roofline: self.limits.trouble().filter(|_| self.works.of.iter().any(Option::is_some)),
        }
    }
}

/// Largest first: by direct time, or by arguments, where a row may be all of what others launched, by the time below.
pub(super) fn sort(ops: &mut [OpRow], by: By) {
    let size = |row: &OpRow| match by {
        By::Arguments => (row.subtree_kernel_ns, row.direct_kernel_ns),
        By::Category | By::Name => (row.direct_kernel_ns, row.subtree_kernel_ns),
    };
    ops.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.name.cmp(&b.name)));
}
