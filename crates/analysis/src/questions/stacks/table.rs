//! The tables of `stacks`.

use gpuscope_table::{Table, Tabular, Unit};

use super::pick::passes_on;
use super::{NodeKind, RankStacks, StackNode, StacksAnswer, Weight};

/// Deeper paths are not indented any further.
const MOST_INDENT: u32 = 24;

impl Tabular for StacksAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows: Vec<Row<'_>> = self.ranks.iter().flat_map(telling).collect();
        vec![nodes(&rows, self.by, self.ranks.len() > 1), ranks(&self.ranks)]
    }
}

/// A node, its rank and its indentation.
struct Row<'a> {
    rank: u32,
    node: &'a StackNode,
    depth: u32,
}

/// Without Python frames that only pass on to a single other one: wrappers, of which there are many.
fn telling(rank: &RankStacks) -> impl Iterator<Item = Row<'_>> {
    let mut children = vec![0_u32; rank.nodes.len()];
    for parent in rank.nodes.iter().filter_map(|node| node.parent) {
        children[parent as usize] += 1;
    }
    let mut depths: Vec<u32> = Vec::with_capacity(rank.nodes.len());
    rank.nodes.iter().enumerate().filter_map(move |(i, node)| {
        let depth = node.parent.map_or(0, |parent| depths[parent as usize]);
        let passes_on = passes_on(node.kind, children[i], node.own);
        depths.push(depth + u32::from(!passes_on));
        (!passes_on).then_some(Row { rank: rank.rank, node, depth })
    })
}

fn nodes(rows: &[Row<'_>], by: Weight, several: bool) -> Table {
    Table::of("nodes", "Call paths, heaviest first, without frames that only pass on", rows)
        .when(several, |table| table.int("rank", Unit::None, "The rank", |r| i64::from(r.rank)))
        .int("count", Unit::Count, "Host or GPU events", |r| r.node.count as i64)
        .int("gpu_ns", Unit::Ns, "GPU time of all that was launched below", |r| r.node.gpu_ns.0)
        .int("direct_gpu_ns", Unit::Ns, "GPU time of what it launched itself", |r| r.node.direct_gpu_ns.0)
        .int("host_ns", Unit::Ns, "Host time", |r| r.node.host_ns.0)
        .when(by == Weight::Host, |table| {
            table.int("host_self_ns", Unit::Ns, "Host time without what is below", |r| r.node.host_self_ns.0)
        })
        .when(by == Weight::Bytes, |table| {
            table.int("bytes", Unit::Bytes, "Moved by copies and sets", |r| r.node.bytes)
        })
        .text("path", "Indented by what it was called from", |r| indented(r))
        .build()
}

fn ranks(ranks: &[RankStacks]) -> Table {
    Table::of("ranks", "GPU time without a call path", ranks)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("gpu_ns", Unit::Ns, "GPU events, added up", |r| r.gpu_ns.0)
        .int("unlinked_ns", Unit::Ns, "Of these, without a launching call", |r| r.unlinked_ns.0)
        .float("unlinked_pct", Unit::Percent, "Of these, without a launching call", |r| r.unlinked_pct)
        .build()
}

fn indented(row: &Row<'_>) -> String {
    let indent = " ".repeat(row.depth.min(MOST_INDENT) as usize);
    let mark = if row.node.kind == NodeKind::Kernel { "» " } else { "" };
    format!("{indent}{mark}{}", row.node.name)
}
