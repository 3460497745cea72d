//! One rank's part in every collective it took part in: small columns, as thousands of ranks meet in a merge.
//!
//! Newer releases of torch write what a collective is on its kernel, older ones only on the operator
//! `record_param_comms` around the launch, the oldest not at all: then the annotation around the launch
//! (`nccl:all_reduce`), or the kernel's own name, is all there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuscope_trace::lists::IntList;
use gpuscope_trace::{Arg, Kind, Row, StrId, View};
use rustc_hash::FxHashMap;

use super::host;
use super::op::Op;
use super::splits::{Direction, Splits};

/// A process group as one rank knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    /// None without metadata: then collectives are told apart by stream only.
    pub name: Option<String>,
    /// What the group is for, in the words of the job: `tp`, `dp`, `pp`, `ep`, `default_pg`.
    pub description: Option<String>,
    /// Ranks in ascending order; empty if not known.
    pub members: Vec<u32>,
    pub size: Option<i64>,
    /// Keeps groups apart whose members are not known: the list as far as it was written, or the stream.
    pub(crate) mark: String,
}

/// Collectives of one group that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    pub group: u32,
    pub name: String,
    pub op: Op,
    pub dtype: Option<String>,
    pub in_elements: Option<i64>,
    pub out_elements: Option<i64>,
    /// Source and destination, if point to point.
    pub peers: Option<(u32, u32)>,
    /// Whether the trace says what this is; without it the name is the kernel's.
    pub has_metadata: bool,
}

/// Stands for "none" in the columns.
pub(crate) const NONE: i64 = i64::MIN;

/// All parts of a rank, in order of their start.
#[derive(Clone, Debug, Default)]
pub struct RankParts {
    pub rank: u32,
    /// The machine the rank ran on, if the trace says: its ranks share a clock.
    pub host: Option<String>,
    /// Added to a time it gives the time since the epoch.
    pub base_ns: i64,
    pub world_size: Option<i64>,
    pub(crate) groups: Vec<Group>,
    pub(crate) sorts: Vec<Sort>,
    pub(crate) sort: Vec<u32>,
    /// `Seq`, or what `Comms Id` says.
    pub(crate) id: Vec<i64>,
    pub(crate) start: Vec<i64>,
    pub(crate) dur: Vec<i64>,
    pub(crate) step: Vec<i64>,
    /// By group, those that have all-to-alls with sizes of their own.
    pub(crate) splits: BTreeMap<u32, Splits>,
    /// Streams of collectives without metadata, by first use: their numbers differ from rank to rank.
    streams: Vec<i64>,
}

/// What tells two sorts apart within a trace, before any text is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    texts: [Option<StrId>; 5],
    numbers: [Option<i64>; 5],
    stream: Option<i64>,
}

impl RankParts {
    pub(crate) fn of(rank: u32, view: View<'_>) -> Arc<RankParts> {
        let shared = view.derived(|| RankParts::find(rank, view));
        if shared.rank == rank { shared } else { Arc::new(RankParts::find(rank, view)) }
    }

    fn find(rank: u32, view: View<'_>) -> RankParts {
        let metadata = &view.trace.metadata;
        let mut parts = RankParts {
            rank,
            host: host::of(metadata),
            base_ns: metadata.base_time_ns.unwrap_or(0),
            world_size: metadata.distributed.as_ref().and_then(|distributed| distributed.world_size),
            ..RankParts::default()
        };
        let mut sorts: FxHashMap<Key, u32> = FxHashMap::default();
        let mut groups: FxHashMap<Group, u32> = FxHashMap::default();
        let mut cursor = view.steps().cursor();
        for event in view.gpu().filter(|event| event.kind == Kind::Communication) {
            let told = Told::of(view, event.row);
            let key = told.key(view, event.row);
            let new = || parts.sort(&told, view, event.row, key.stream, &mut groups);
            let sort = *sorts.entry(key).or_insert_with(new);
            parts.add_splits(sort, &told, view);
            let issued = view.launch_start(event.row).unwrap_or(event.start);
            parts.sort.push(sort);
            parts.id.push(told.id(view).unwrap_or(NONE));
            parts.start.push(event.start.0);
            parts.dur.push(event.dur().0);
            parts.step.push(cursor.at(issued).map_or(NONE, |step| view.steps()[step].number));
        }
        parts
    }

    pub fn len(&self) -> usize {
        self.start.len()
    }

    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    fn sort(
        &mut self,
        told: &Told,
        view: View<'_>,
        gpu: Row,
        stream: Option<i64>,
        known: &mut FxHashMap<Group, u32>,
    ) -> u32 {
        let text = |arg| told.text(view, arg).map(str::to_owned);
        let name = match (text(Arg::CollectiveName), told.annotation) {
            (Some(name), _) => name,
            (None, Some(annotation)) => view.trace.strings.get(annotation).to_owned(),
            (None, None) => plain(view.trace.name(gpu)).to_owned(),
        };
        let op = Op::of_name(&name);
        let group = group(told, view).unwrap_or_else(|| self.unnamed(stream));
        let peers = told.peers(view, self.rank, op, &group.members);
        let next = self.groups.len() as u32;
        let group_index = *known.entry(group.clone()).or_insert(next);
        if group_index == next {
            self.groups.push(group);
        }
        self.sorts.push(Sort {
            group: group_index,
            name,
            op,
            dtype: text(Arg::Dtype),
            in_elements: told.int(view, Arg::InMsgNelems),
            out_elements: told.int(view, Arg::OutMsgNelems),
            peers,
            has_metadata: told.row.is_some(),
        });
        self.sorts.len() as u32 - 1
    }

    fn add_splits(&mut self, sort: u32, told: &Told, view: View<'_>) {
        let Sort { op: Op::AllToAllV, group, in_elements, out_elements, ref dtype, .. } =
            self.sorts[sort as usize]
        else {
            return;
        };
        let direction = |elements, splits| Direction { elements, splits: told.text(view, splits) };
        let (sent, got) =
            (direction(in_elements, Arg::InSplitSize), direction(out_elements, Arg::OutSplitSize));
        let members = self.groups[group as usize].members.len();
        self.splits.entry(group).or_default().add(members, dtype.as_deref(), sent, got);
    }

    fn unnamed(&mut self, stream: Option<i64>) -> Group {
        let Some(stream) = stream else { return Group::default() };
        let place = self.streams.iter().position(|other| *other == stream).unwrap_or_else(|| {
            self.streams.push(stream);
            self.streams.len() - 1
        });
        Group { mark: format!("stream {place}"), ..Group::default() }
    }
}

/// Where a trace tells what a communication kernel was.
struct Told {
    /// The kernel itself or the operator around its launch.
    row: Option<Row>,
    /// The name of an annotation around the launch.
    annotation: Option<StrId>,
}

impl Told {
    fn of(view: View<'_>, gpu: Row) -> Told {
        let trace = view.trace;
        let has_metadata = |row: Row| trace.args.text(row, Arg::CollectiveName).is_some();
        if has_metadata(gpu) {
            return Told { row: Some(gpu), annotation: None };
        }
        let mut told = Told { row: None, annotation: None };
        let Some(call) = view.launch(gpu) else { return told };
        for row in view.index.nesting(trace).ancestors(call) {
            if has_metadata(row) {
                told.row = Some(row);
                break;
            }
            if told.annotation.is_none() && trace.name(row).starts_with("nccl:") {
                told.annotation = Some(trace.name_id(row));
            }
        }
        told
    }

    fn key(&self, view: View<'_>, gpu: Row) -> Key {
        let stream = if self.row.is_some() { None } else { view.stream(gpu) };
        let Some(row) = self.row else {
            let name = self.annotation.unwrap_or_else(|| view.trace.name_id(gpu));
            return Key { texts: [Some(name), None, None, None, None], numbers: [None; 5], stream };
        };
        let text = |arg| view.trace.args.text(row, arg);
        let int = |arg| view.trace.args.int(row, arg);
        Key {
            texts: [
                text(Arg::CollectiveName),
                text(Arg::GroupName),
                text(Arg::GroupRanks),
                text(Arg::GroupDescription),
                text(Arg::Dtype),
            ],
            numbers: [
                int(Arg::InMsgNelems),
                int(Arg::OutMsgNelems),
                int(Arg::GroupSize),
                int(Arg::SourceRank),
                int(Arg::DestinationRank),
            ],
            stream,
        }
    }

    fn text<'a>(&self, view: View<'a>, arg: Arg) -> Option<&'a str> {
        let text = view.trace.args.text(self.row?, arg)?;
        Some(view.trace.strings.get(text)).filter(|text| !text.is_empty())
    }

    fn int(&self, view: View<'_>, arg: Arg) -> Option<i64> {
        view.trace.args.int(self.row?, arg)
    }

    /// What is the same on all ranks of one collective and of no other in its group.
    fn id(&self, view: View<'_>) -> Option<i64> {
        self.int(view, Arg::CollectiveSeq).or_else(|| {
            let text = self.text(view, Arg::CommsId)?;
            Some(text.parse::<u64>().map_or_else(|_| hash(text), |number| number as i64))
        })
    }

    /// A send names its destination, a receive its source; the rank itself is at the other end.
    fn peers(&self, view: View<'_>, rank: u32, op: Op, members: &[u32]) -> Option<(u32, u32)> {
        let peer = |arg| self.int(view, arg).and_then(|peer| u32::try_from(peer).ok());
        let (from, to) = (peer(Arg::SourceRank), peer(Arg::DestinationRank));
        match op {
            Op::Send => Some((from.unwrap_or(rank), to.or_else(|| other_of_two(rank, members))?)),
            Op::Recv => Some((from.or_else(|| other_of_two(rank, members))?, to.unwrap_or(rank))),
            _ => None,
        }
    }
}

fn other_of_two(rank: u32, members: &[u32]) -> Option<u32> {
    match members {
        [a, b] if *a == rank => Some(*b),
        [a, b] if *b == rank => Some(*a),
        _ => None,
    }
}

/// None if the trace tells neither the group's name nor its ranks.
fn group(told: &Told, view: View<'_>) -> Option<Group> {
    let (name, written) = (told.text(view, Arg::GroupName), told.text(view, Arg::GroupRanks));
    if name.is_none() && written.is_none() {
        return None;
    }
    let size = told.int(view, Arg::GroupSize);
    let configured = || {
        let groups = &view.trace.metadata.distributed.as_ref()?.groups;
        groups
            .iter()
            .find(|group| Some(group.name.as_str()) == name && !group.ranks_cut && !group.ranks.is_empty())
    };
    let members = written
        .and_then(IntList::parse)
        .filter(|list| !list.cut && !list.values.is_empty())
        .map(|list| list.values)
        .or_else(|| configured().map(|group| group.ranks.clone()))
        .or_else(|| strided(told, view, size))
        .map(ascending)
        .unwrap_or_default();
    let mark = if members.is_empty() { written.unwrap_or_default().to_owned() } else { String::new() };
    let description =
        told.text(view, Arg::GroupDescription).filter(|text| *text != "undefined").map(str::to_owned);
    Some(Group { name: name.map(str::to_owned), description, members, size, mark })
}

/// The members as first rank and stride; more than this is no honest group.
const MOST_MEMBERS: i64 = 1 << 20;

fn strided(told: &Told, view: View<'_>, size: Option<i64>) -> Option<Vec<i64>> {
    let (first, stride) = (told.int(view, Arg::GlobalRankStart)?, told.int(view, Arg::GlobalRankStride)?);
    let size = size.filter(|size| (1..=MOST_MEMBERS).contains(size))?;
    (first >= 0 && (1..=MOST_MEMBERS).contains(&stride))
        .then(|| (0..size).map(|i| first.saturating_add(i * stride)).collect())
}

fn ascending(ranks: Vec<i64>) -> Vec<u32> {
    let mut ranks: Vec<u32> = ranks.into_iter().filter_map(|rank| u32::try_from(rank).ok()).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

const UNNAMED: &str = "(anonymous namespace)::";

/// A kernel's name without its return type and parameters.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let unnamed = name.find(['(', '<']).and_then(|at| name[at..].strip_prefix(UNNAMED));
    unnamed.unwrap_or(name).split(['(', '<']).next().filter(|name| !name.is_empty()).unwrap_or(name)
}

/// The same for the same text in every run.
fn hash(text: &str) -> i64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_told_in_any_order_and_only_once() {
        assert_eq!(ascending(vec![3, -1, 0, 3, i64::MAX]), [0, 3]);
        assert_eq!(other_of_two(4, &[0, 4]), Some(0));
        assert_eq!(other_of_two(4, &[0, 4, 8]), None);
    }
}
