//! Collectives that are alike, taken together: the same operation on the same data, in one group or in all of them.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::matched::Matched;
use super::nodes::Span;
use super::op::{Op, gb_per_s};
use super::parts::Sort;
use super::rows::CollectiveRow;
use super::text::Text;
use crate::shared::median::median;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub name: Text,
    /// The group, its description and size: null where several groups with other ones are taken together.
    pub group: Option<Text>,
    pub group_description: Option<Text>,
    pub group_size: Option<i64>,
    pub span: Option<Span>,
    pub dtype: Option<Text>,
    pub size_bytes: Option<i64>,
    pub count: u64,
    /// Those of which some ranks' traces are missing.
    pub incomplete: u64,
    /// Transfer, summed.
    pub transfer_ns: Ns,
    pub mean_transfer_ns: Ns,
    pub median_transfer_ns: Ns,
    pub min_transfer_ns: Ns,
    pub max_transfer_ns: Ns,
    /// What a rank waited for others, the mean over ranks, summed; needs no clock.
    pub wait_ns: Ns,
    /// Last start less first, on one clock.
    pub mean_skew_ns: Ns,
    pub median_skew_ns: Ns,
    pub max_skew_ns: Ns,
    /// Bandwidths over all of the transfer.
    pub algo_gb_per_s: Option<f64>,
    pub bus_gb_per_s: Option<f64>,
    /// Those of the slowest and the fastest.
    pub min_bus_gb_per_s: Option<f64>,
    pub max_bus_gb_per_s: Option<f64>,
    /// The rank that came last most often, if more often than the others together.
    pub last_rank: Option<u32>,
    pub arrived_last: u64,
}

/// Which collectives are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    InOneGroup,
    OverGroups,
}

#[derive(Default)]
struct Sums {
    /// Places in the rows.
    rows: Vec<usize>,
    wait: Ns,
    last: FxHashMap<u32, u64>,
}

pub(super) fn of(matched: &Matched, rows: &[CollectiveRow], together: Together) -> Vec<Summary> {
    let alike = alike(matched, together);
    let mut sums: Vec<Sums> = Vec::new();
    for (i, (row, collective)) in rows.iter().zip(matched.iter()).enumerate() {
        let number = alike[collective.parts()[0].sort as usize] as usize;
        if number >= sums.len() {
            sums.resize_with(number + 1, Sums::default);
        }
        let own = &mut sums[number];
        own.rows.push(i);
        let waited: Ns = row.ranks.iter().map(|rank| rank.wait_low_ns).sum();
        own.wait += Ns(waited.0 / row.ranks.len().max(1) as i64);
        if let Some(last) = row.last_rank {
            *own.last.entry(last).or_default() += 1;
        }
    }
    let mut summary: Vec<Summary> = sums.iter().filter_map(|sums| sums.summary(rows, matched)).collect();
    summary.sort_by(|a, b| {
        let time = |row: &Summary| row.transfer_ns + row.wait_ns;
        time(b)
            .cmp(&time(a))
            .then_with(|| (&a.name, &a.group, a.size_bytes).cmp(&(&b.name, &b.group, b.size_bytes)))
    });
    summary
}

/// Group, name, type and size.
type Alike<'a> = (Option<u32>, &'a str, Option<&'a str>, Option<i64>);

/// One number for sorts that are alike but for what every rank has its own of.
fn alike<'a>(matched: &'a Matched, together: Together) -> Vec<u32> {
    let mut known: FxHashMap<Alike<'_>, u32> = FxHashMap::default();
    let number = |sort: &'a Sort| {
        let Sort { group, name, op, dtype, in_elements, out_elements, .. } = sort;
        // The sizes of these differ from call to call and from rank to rank.
        let elements = op.message(*in_elements, *out_elements).filter(|_| *op != Op::AllToAllV);
        let group = (together == Together::InOneGroup).then_some(*group);
        let next = known.len() as u32;
        *known.entry((group, name.as_str(), dtype.as_deref(), elements)).or_insert(next)
    };
    matched.sorts.iter().map(number).collect()
}

impl Sums {
    /// None if no collective is led by a part of this sort.
    fn summary(&self, rows: &[CollectiveRow], matched: &Matched) -> Option<Summary> {
        let example = &rows[*self.rows.first()?];
        let op = matched.get(self.rows[0]).op();
        let own = || self.rows.iter().map(|i| &rows[*i]);
        let has_size = |_: &i64| op != Op::AllToAllV;
        let moved = own().map(|row| row.size_bytes.filter(has_size)).collect::<Option<Vec<i64>>>();
        let moved = moved.and_then(|sizes| sizes.into_iter().try_fold(0i64, i64::checked_add));
        let transfer = Spread::of(own().map(|row| row.latency_ns));
        let skew = Spread::of(own().map(CollectiveRow::aligned_skew));
        let factor = same(own().map(|row| row.members(op).and_then(|members| op.bus_factor(members))));
        let bus = || own().filter(|_| op != Op::AllToAllV).filter_map(|row| row.bus_gb_per_s);
        let algo = gb_per_s(moved, transfer.sum);
        let last = self.last.iter().max_by_key(|(rank, count)| (**count, std::cmp::Reverse(**rank)));
        let last = last.filter(|(_, count)| 2 * **count > self.rows.len() as u64);
        Some(Summary {
            name: example.name.clone(),
            group: same(own().map(|row| row.group.clone())),
            group_description: same(own().map(|row| row.group_description.clone())),
            group_size: same(own().map(|row| row.group_size)),
            span: same(own().map(|row| row.span)),
            dtype: example.dtype.clone(),
            size_bytes: example.size_bytes.filter(has_size),
            count: self.rows.len() as u64,
            incomplete: own().filter(|row| !row.complete).count() as u64,
            transfer_ns: transfer.sum,
            mean_transfer_ns: transfer.mean,
            median_transfer_ns: transfer.median,
            min_transfer_ns: transfer.min,
            max_transfer_ns: transfer.max,
            wait_ns: self.wait,
            mean_skew_ns: skew.mean,
            median_skew_ns: skew.median,
            max_skew_ns: skew.max,
            algo_gb_per_s: algo,
            bus_gb_per_s: algo.zip(factor).map(|(algo, factor)| algo * factor),
            min_bus_gb_per_s: bus().reduce(f64::min),
            max_bus_gb_per_s: bus().reduce(f64::max),
            last_rank: last.map(|(rank, _)| *rank),
            arrived_last: last.map_or(0, |(_, count)| *count),
        })
    }
}

/// A value that all have; none if they differ or have none.
pub(super) fn same<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spread {
    sum: Ns,
    mean: Ns,
    /// The mean of the two in the middle, if there are two.
    median: Ns,
    min: Ns,
    max: Ns,
}

impl Spread {
    fn of(values: impl Iterator<Item = Ns>) -> Spread {
        let mut values: Vec<Ns> = values.collect();
        values.sort_unstable();
        let (Some(min), Some(max)) = (values.first(), values.last()) else { return Spread::default() };
        let exact: i128 = values.iter().map(|value| i128::from(value.0)).sum();
        Spread {
            sum: values.iter().copied().sum(),
            mean: Ns((exact / values.len() as i128) as i64),
            min: *min,
            max: *max,
            median: median(values).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_the_values_in_any_order() {
        let spread = Spread::of([5, 1, 9, 3].map(Ns).into_iter());
        let expected = Spread { sum: Ns(18), mean: Ns(4), median: Ns(4), min: Ns(1), max: Ns(9) };
        assert_eq!(spread, expected);
        assert_eq!(Spread::of([7, 2, 3].map(Ns).into_iter()).median, Ns(3));
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }

    #[test]
    fn what_differs_is_not_said() {
        assert_eq!(same([Some(1), Some(1)].into_iter()), Some(1));
        assert_eq!(same([Some(1), Some(2)].into_iter()), None);
        assert_eq!(same([Some(1), None].into_iter()), None);
    }
}
