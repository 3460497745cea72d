//! Tables of what communication cost: by the purpose of groups, rank by rank, stage by stage.

use gpuscope_table::{Table, TableBuilder, Unit};

use crate::collectives::{GroupRankRow, GroupRow, GroupTimes, StageRow};

pub(super) fn groups(rows: &[GroupRow]) -> Table {
    let table = Table::of("groups", "By what groups are for, over all ranks", rows)
        .text(
            "group",
            "Tensor (tp), data (dp), pipeline (pp), expert (ep), context (cp) parallel, else its name",
            |g| g.group.clone(),
        )
        .text("role_from", "What tells that: the job's description, the operations, or the members", |g| {
            g.role_from.label().to_owned()
        })
        .int("group_size", Unit::None, "Ranks in each", |g| g.group_size)
        .int("collectives", Unit::Count, "How many there were", |g| g.collectives as i64);
    let incomplete = rows.iter().any(|g| g.incomplete > 0);
    let spans = rows.iter().any(|g| g.span.is_some());
    times(table, |g| &g.times)
        .when(spans, |table| {
            table.text("span", "Within a machine (intra) or between machines (inter)", |g| {
                g.span.map(|span| span.label().to_owned())
            })
        })
        .when(incomplete, |table| {
            table.int("incomplete", Unit::Count, "Those that lack the trace of some rank", |g| {
                g.incomplete as i64
            })
        })
        .int("process_groups", Unit::Count, "Process groups of this purpose", |g| g.process_groups as i64)
        .int("ranks", Unit::Count, "Ranks that are here", |g| g.ranks as i64)
        .int("most_exposed_rank", Unit::None, "The rank with the most exposed time", |g| {
            g.most_exposed_rank.map(i64::from)
        })
        .build()
}

pub(super) fn group_ranks(rows: &[GroupRankRow]) -> Table {
    let table = Table::of("group_ranks", "The same, rank by rank", rows)
        .text("group", "The purpose of the groups", |g| g.group.clone())
        .int("rank", Unit::None, "The rank", |g| i64::from(g.rank))
        .int("collectives", Unit::Count, "Those it took part in", |g| g.collectives as i64);
    times(table, |g| &g.times).build()
}

fn times<R>(table: TableBuilder<'_, R>, times: impl Fn(&R) -> &GroupTimes) -> TableBuilder<'_, R> {
    table
        .int("exposed_ns", Unit::Ns, "Time in which one ran and no computation did", |r| {
            times(r).exposed_ns.0
        })
        .int("wait_ns", Unit::Ns, "Waiting for other ranks; needs no clock", |r| times(r).wait_ns.0)
        .int("transfer_ns", Unit::Ns, "Time with all ranks there", |r| times(r).transfer_ns.0)
        .int("comm_ns", Unit::Ns, "Waiting and transfer", |r| times(r).comm_ns.0)
}

pub(super) fn stages(rows: &[StageRow]) -> Table {
    Table::of("stages", "Pipeline bubbles: what stages wait for each other", rows)
        .int("stage", Unit::None, "The stage, from 0", |s| i64::from(s.stage))
        .int("ranks", Unit::Count, "Ranks of it that are here", |s| s.ranks.len() as i64)
        .int("transfers", Unit::Count, "Sends and receives", |s| s.transfers as i64)
        .int("wait_ns", Unit::Ns, "Waiting in them, over all ranks", |s| s.wait_ns.0)
        .float("wait_pct", Unit::Percent, "Of the time from the ranks' first GPU work to their last", |s| {
            s.wait_pct
        })
        .int("wait_receiving_ns", Unit::Ns, "Waiting to receive", |s| s.wait_receiving_ns.0)
        .int("wait_sending_ns", Unit::Ns, "Waiting until somebody took it", |s| s.wait_sending_ns.0)
        .int("transfer_ns", Unit::Ns, "Time with both ends there", |s| s.transfer_ns.0)
        .int("incomplete", Unit::Count, "Transfers whose other end is not here", |s| s.incomplete as i64)
        .build()
}
