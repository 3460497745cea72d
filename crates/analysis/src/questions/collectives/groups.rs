//! What communication cost, by what its groups are for: per rank, and over all of them.
//!
//! A part's time is waiting (beyond the shortest part of its collective) and transfer. `exposed_ns` is the time in which
//! a collective of the group ran on the device and no computation did, as in `breakdown`.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;
use serde::Serialize;

use super::matched::Matched;
use super::nodes::{Nodes, Span};
use super::role::{Role, RoleFrom};
use super::sketch::Sketch;
use super::summary::same;

/// Time of one rank, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GroupTimes {
    /// In collectives, waiting and transfer.
    pub comm_ns: Ns,
    pub exposed_ns: Ns,
    pub wait_ns: Ns,
    pub transfer_ns: Ns,
}

impl std::ops::AddAssign for GroupTimes {
    fn add_assign(&mut self, other: GroupTimes) {
        self.comm_ns += other.comm_ns;
        self.exposed_ns += other.exposed_ns;
        self.wait_ns += other.wait_ns;
        self.transfer_ns += other.transfer_ns;
    }
}

/// All groups of one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupRow {
    /// The role, else the description, else the name.
    pub group: String,
    pub role: Option<Role>,
    pub role_from: RoleFrom,
    /// Process groups of this purpose.
    pub process_groups: u64,
    /// Null if they differ.
    pub group_size: Option<i64>,
    /// Null if they differ or it cannot be told.
    pub span: Option<Span>,
    pub ranks: u64,
    pub collectives: u64,
    /// Those that lack the trace of some rank: their waiting is a lower bound, their transfer an upper one.
    pub incomplete: u64,
    /// Summed over ranks.
    #[serde(flatten)]
    pub times: GroupTimes,
    /// The rank with the most exposed time.
    pub most_exposed_rank: Option<u32>,
}

/// The part of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupRankRow {
    pub group: String,
    pub rank: u32,
    pub collectives: u64,
    #[serde(flatten)]
    pub times: GroupTimes,
}

#[derive(Default)]
struct Sums {
    groups: Vec<u32>,
    collectives: u64,
    incomplete: u64,
    /// By place in [`Matched::ranks`].
    ranks: BTreeMap<u32, (u64, GroupTimes)>,
}

pub(super) fn of(
    matched: &Matched,
    sketches: &[Sketch],
    roles: &[(Option<Role>, RoleFrom)],
    nodes: &Nodes,
) -> (Vec<GroupRow>, Vec<GroupRankRow>) {
    let labels: Vec<String> = (0..matched.groups.len()).map(|group| label(matched, group, roles)).collect();
    let mut sums: BTreeMap<(&str, RoleFrom), Sums> = BTreeMap::new();
    for (group, label) in labels.iter().enumerate() {
        sums.entry((label, roles[group].1)).or_default().groups.push(group as u32);
    }
    for collective in matched.iter() {
        let group = collective.sort().group as usize;
        let own = sums.entry((&labels[group], roles[group].1)).or_default();
        own.collectives += 1;
        own.incomplete += u64::from(!collective.complete());
        let latency = collective.latency();
        for part in collective.parts() {
            let (count, times) = own.ranks.entry(part.member).or_default();
            *count += 1;
            times.comm_ns += part.dur;
            times.wait_ns += part.dur - latency;
            times.transfer_ns += latency;
        }
    }
    for (member, (sketch, groups)) in (0..).zip(sketches.iter().zip(&matched.groups_of_rank)) {
        for (exposed, group) in sketch.exposed_of_group.iter().zip(groups) {
            let group = *group as usize;
            let own = sums.entry((&labels[group], roles[group].1)).or_default();
            own.ranks.entry(member).or_default().1.exposed_ns += *exposed;
        }
    }
    let mut rows: Vec<(GroupRow, Vec<GroupRankRow>)> =
        sums.into_iter().map(|((label, from), sums)| sums.rows(label, from, matched, roles, nodes)).collect();
    // Stable, so that equal ones stay by label.
    rows.sort_by_key(|(row, _)| std::cmp::Reverse((row.times.exposed_ns, row.times.comm_ns)));
    let (rows, ranks): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    (rows, ranks.into_iter().flatten().collect())
}

fn label(matched: &Matched, group: usize, roles: &[(Option<Role>, RoleFrom)]) -> String {
    let known = &matched.groups[group];
    let named = || known.description.clone().or_else(|| known.name.clone());
    roles[group].0.map(|role| role.label().to_owned()).or_else(named).unwrap_or_else(|| "unnamed".to_owned())
}

impl Sums {
    fn rows(
        self,
        label: &str,
        role_from: RoleFrom,
        matched: &Matched,
        roles: &[(Option<Role>, RoleFrom)],
        nodes: &Nodes,
    ) -> (GroupRow, Vec<GroupRankRow>) {
        let mut times = GroupTimes::default();
        for (_, own) in self.ranks.values() {
            times += *own;
        }
        let groups = || self.groups.iter().map(|group| &matched.groups[*group as usize]);
        let sizes = groups().map(|group| group.size.or(Some(group.members.len() as i64).filter(|n| *n > 0)));
        let most = self
            .ranks
            .iter()
            .max_by_key(|(member, (_, times))| (times.exposed_ns, std::cmp::Reverse(**member)));
        let rank = |member: u32| matched.ranks[member as usize].rank;
        let row = GroupRow {
            group: label.to_owned(),
            role: self.groups.first().and_then(|group| roles[*group as usize].0),
            role_from,
            process_groups: self.groups.len() as u64,
            group_size: same(sizes),
            span: same(groups().map(|group| nodes.span_of(group))),
            ranks: self.ranks.len() as u64,
            collectives: self.collectives,
            incomplete: self.incomplete,
            times,
            most_exposed_rank: most
                .filter(|(_, (_, t))| t.exposed_ns > Ns::ZERO)
                .map(|(member, _)| rank(*member)),
        };
        let of_rank = |(member, (collectives, times)): (&u32, &(u64, GroupTimes))| GroupRankRow {
            group: label.to_owned(),
            rank: rank(*member),
            collectives: *collectives,
            times: *times,
        };
        let ranks = self.ranks.iter().map(of_rank).collect();
        (row, ranks)
    }
}
