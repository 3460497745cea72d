//! Collectives that are alike, taken together: the same operation on the same data in the same group.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::matched::Matched;
use super::op::{Op, gb_per_s};
use super::parts::Sort;
use super::rows::CollectiveRow;
use super::text::Text;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub name: Text,
    pub group: Option<Text>,
    pub group_description: Option<Text>,
    pub group_size: Option<i64>,
    pub dtype: Option<Text>,
    pub size_bytes: Option<i64>,
    pub count: u64,
    /// Those of which some ranks' traces are missing.
    pub incomplete: u64,
    /// Transfer, summed.
    pub transfer_ns: Ns,
    pub max_transfer_ns: Ns,
    /// What a rank waited for others, the mean over ranks, summed; needs no clock.
    pub wait_ns: Ns,
    /// Bus bandwidth over all of the transfer.
    pub bus_gb_per_s: Option<f64>,
    /// The rank that came last most often, if more often than the others together.
    pub last_rank: Option<u32>,
    pub arrived_last: u64,
}

#[derive(Default)]
struct Sums {
    count: u64,
    incomplete: u64,
    transfer: Ns,
    longest: Ns,
    wait: Ns,
    last: FxHashMap<u32, u64>,
    /// The first collective.
    example: usize,
}

pub(super) fn of(matched: &Matched, rows: &[CollectiveRow]) -> Vec<Summary> {
    let mut sums: FxHashMap<u32, Sums> = FxHashMap::default();
    let alike = alike(matched);
    for (i, (row, collective)) in rows.iter().zip(matched.iter()).enumerate() {
        let own = sums.entry(alike[collective.parts()[0].sort as usize]).or_default();
        if own.count == 0 {
            own.example = i;
        }
        own.count += 1;
        own.incomplete += u64::from(!row.complete);
        own.transfer += row.latency_ns;
        own.longest = own.longest.max(row.latency_ns);
        let waited: Ns = row.ranks.iter().map(|rank| rank.wait_low_ns).sum();
        own.wait += Ns(waited.0 / row.ranks.len().max(1) as i64);
        if let Some(last) = row.last_rank {
            *own.last.entry(last).or_default() += 1;
        }
    }
    let mut summary: Vec<Summary> = sums.into_values().map(|sums| sums.summary(rows, matched)).collect();
    summary.sort_by(|a, b| {
        let time = |row: &Summary| row.transfer_ns + row.wait_ns;
        time(b)
            .cmp(&time(a))
            .then_with(|| (&a.name, &a.group, a.size_bytes).cmp(&(&b.name, &b.group, b.size_bytes)))
    });
    summary
}

/// Group, name, type and size.
type Alike<'a> = (u32, &'a str, Option<&'a str>, Option<i64>);

/// One number for sorts of one group that are alike but for what every rank has its own of.
fn alike<'a>(matched: &'a Matched) -> Vec<u32> {
    let mut known: FxHashMap<Alike<'_>, u32> = FxHashMap::default();
    let number = |sort: &'a Sort| {
        let Sort { group, name, op, dtype, in_elements, out_elements, .. } = sort;
        // The sizes of these differ from call to call and from rank to rank.
        let elements = op.message(*in_elements, *out_elements).filter(|_| *op != Op::AllToAllV);
        let next = known.len() as u32;
        *known.entry((*group, name.as_str(), dtype.as_deref(), elements)).or_insert(next)
    };
    matched.sorts.iter().map(number).collect()
}

impl Sums {
    fn summary(self, rows: &[CollectiveRow], matched: &Matched) -> Summary {
        let example = &rows[self.example];
        let op = matched.get(self.example).op();
        let size = example.size_bytes.filter(|_| op != Op::AllToAllV);
        let members = if op.is_point_to_point() { Some(2) } else { example.group_size };
        let moved = size.and_then(|size| size.checked_mul(self.count as i64));
        let bus = gb_per_s(moved, self.transfer).zip(members.and_then(|members| op.bus_factor(members)));
        let last = self.last.iter().max_by_key(|(rank, count)| (**count, std::cmp::Reverse(**rank)));
        let last = last.filter(|(_, count)| 2 * **count > self.count);
        Summary {
            name: example.name.clone(),
            group: example.group.clone(),
            group_description: example.group_description.clone(),
            group_size: example.group_size,
            dtype: example.dtype.clone(),
            size_bytes: size,
            count: self.count,
            incomplete: self.incomplete,
            transfer_ns: self.transfer,
            max_transfer_ns: self.longest,
            wait_ns: self.wait,
            bus_gb_per_s: bus.map(|(algo, factor)| algo * factor),
            last_rank: last.map(|(rank, _)| *rank),
            arrived_last: last.map_or(0, |(_, count)| *count),
        }
    }
}
