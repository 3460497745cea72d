//! On which machine each rank runs, and whether a group stays within one: links inside a machine are far faster than
//! those between machines.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::matched::Matched;
use super::parts::Group;

/// How machines are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodesFrom {
    /// The user said how many GPUs a machine has.
    GpusPerNode,
    /// Every trace names its host.
    HostNames,
    /// As many GPUs as the traces describe, and ranks placed one after another.
    DeviceProperties,
    #[default]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    IntraNode,
    InterNode,
}

impl Span {
    pub fn label(self) -> &'static str {
        match self {
            Span::IntraNode => "intra",
            Span::InterNode => "inter",
        }
    }
}

/// Which ranks share a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nodes {
    pub from: NodesFrom,
    /// Where ranks are placed by number.
    pub gpus_per_node: Option<u32>,
    /// Machines of the ranks that are there.
    pub count: Option<u64>,
    #[serde(skip)]
    by_name: FxHashMap<u32, u32>,
}

impl Nodes {
    /// `described` are the numbers of devices that the ranks' traces describe.
    pub(super) fn of(matched: &Matched, told: Option<u32>, described: impl Iterator<Item = usize>) -> Nodes {
        if let Some(gpus) = told {
            return Nodes::by_number(matched, NodesFrom::GpusPerNode, gpus);
        }
        let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
        let named = matched.ranks.iter().map(|member| {
            let next = numbers.len() as u32;
            Some((member.rank, *numbers.entry(member.host.as_deref()?).or_insert(next)))
        });
        if let Some(by_name) = named.collect::<Option<FxHashMap<u32, u32>>>().filter(|map| !map.is_empty()) {
            let count = Some(numbers.len() as u64);
            return Nodes { from: NodesFrom::HostNames, count, by_name, ..Nodes::default() };
        }
        // A process that sees only its own GPU says nothing about the machine.
        let described = described.max().filter(|devices| *devices > 1);
        match described.and_then(|devices| u32::try_from(devices).ok()) {
            Some(gpus) => Nodes::by_number(matched, NodesFrom::DeviceProperties, gpus),
            None => Nodes::default(),
        }
    }

    fn by_number(matched: &Matched, from: NodesFrom, gpus: u32) -> Nodes {
        let gpus = gpus.max(1);
        let mut nodes: Vec<u32> = matched.ranks.iter().map(|member| member.rank / gpus).collect();
        // In order of the ranks.
        nodes.dedup();
        Nodes { from, gpus_per_node: Some(gpus), count: Some(nodes.len() as u64), ..Nodes::default() }
    }

    fn node(&self, rank: u32) -> Option<u32> {
        self.gpus_per_node.map_or_else(|| self.by_name.get(&rank).copied(), |gpus| Some(rank / gpus))
    }

    /// Whether these ranks are all on one machine; none if it cannot be told.
    pub(super) fn span(&self, ranks: impl IntoIterator<Item = u32>) -> Option<Span> {
        let mut ranks = ranks.into_iter();
        let first = self.node(ranks.next()?)?;
        let mut unknown = false;
        for rank in ranks {
            match self.node(rank) {
                Some(node) if node != first => return Some(Span::InterNode),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(Span::IntraNode)
    }

    /// Whether all of a group is on one machine.
    pub(super) fn span_of(&self, group: &Group) -> Option<Span> {
        self.span(group.members.iter().copied())
    }
}
