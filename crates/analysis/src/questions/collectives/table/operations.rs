//! Tables of what was sent, and how fast.

use gpuscope_table::{Table, TableBuilder, Unit};

use crate::collectives::all_to_all_v::{AllToAllV, Link};
use crate::collectives::{Span, Summary};

pub(super) fn summary(rows: &[Summary]) -> Table {
    let table = Table::of("summary", "Collectives that are alike", rows)
        .text("name", "The operation", |s| s.name.to_string())
        .text("group", "The process group, by what it is for or else by name", purpose);
    figures(table)
}

pub(super) fn over_groups(rows: &[Summary]) -> Table {
    let table = Table::of("operations", "Collectives that are alike, over all groups", rows).text(
        "name",
        "The operation",
        |s| s.name.to_string(),
    );
    figures(table)
}

fn figures(table: TableBuilder<'_, Summary>) -> Table {
    let incomplete = table.rows().iter().any(|s| s.incomplete > 0);
    let spans = table.rows().iter().any(|s| s.span.is_some());
    table
        .int("group_size", Unit::None, "Ranks in the group", |s| s.group_size)
        .int("size_bytes", Unit::Bytes, "The message", |s| s.size_bytes)
        .int("count", Unit::Count, "How many there were", |s| s.count as i64)
        .int("transfer_ns", Unit::Ns, "Time with all ranks there, summed", |s| s.transfer_ns.0)
        .int("wait_ns", Unit::Ns, "What a rank waited for others, mean over ranks, summed", |s| s.wait_ns.0)
        .float("bus_gb_per_s", Unit::GigabytesPerSecond, "What each link carried", |s| s.bus_gb_per_s)
        .int("last_rank", Unit::None, "The rank that came last in most of them", |s| {
            s.last_rank.map(i64::from)
        })
        .when(incomplete, |table| {
            table.int("incomplete", Unit::Count, "Those that lack the trace of some rank", |s| {
                s.incomplete as i64
            })
        })
        .when(spans, |table| {
            table.text("span", "Within a machine (intra) or between machines (inter)", |s| {
                s.span.map(|span: Span| span.label().to_owned())
            })
        })
        .text("dtype", "The type of the data", |s| s.dtype.as_deref().map(str::to_owned))
        .build()
}

/// How far single collectives are from the mean of those that are alike.
pub(super) fn spread(rows: &[Summary]) -> Table {
    Table::of("spread", "How transfers, skews and bandwidths of those that are alike spread", rows)
        .text("name", "The operation", |s| s.name.to_string())
        .text("group", "The process group, by what it is for or else by name", purpose)
        .int("size_bytes", Unit::Bytes, "The message", |s| s.size_bytes)
        .int("min_transfer_ns", Unit::Ns, "The shortest transfer", |s| s.min_transfer_ns.0)
        .int("median_transfer_ns", Unit::Ns, "The transfer, median", |s| s.median_transfer_ns.0)
        .int("mean_transfer_ns", Unit::Ns, "The transfer, mean", |s| s.mean_transfer_ns.0)
        .int("max_transfer_ns", Unit::Ns, "The longest transfer", |s| s.max_transfer_ns.0)
        .int("median_skew_ns", Unit::Ns, "Last start less first, median", |s| s.median_skew_ns.0)
        .int("max_skew_ns", Unit::Ns, "Last start less first, the most", |s| s.max_skew_ns.0)
        .float("algo_gb_per_s", Unit::GigabytesPerSecond, "The message over the transfer", |s| {
            s.algo_gb_per_s
        })
        .float("min_bus_gb_per_s", Unit::GigabytesPerSecond, "Bus bandwidth of the slowest", |s| {
            s.min_bus_gb_per_s
        })
        .float("max_bus_gb_per_s", Unit::GigabytesPerSecond, "Bus bandwidth of the fastest", |s| {
            s.max_bus_gb_per_s
        })
        .int("mean_skew_ns", Unit::Ns, "Last start less first, mean", |s| s.mean_skew_ns.0)
        .build()
}

fn purpose(row: &Summary) -> Option<String> {
    row.group_description.as_deref().or(row.group.as_deref()).map(str::to_owned)
}

pub(super) fn all_to_all_v(rows: &[AllToAllV]) -> Table {
    Table::of("all_to_all_v", "All-to-alls with sizes of their own", rows)
        .text("group", "The process group, by what it is for or else by name", |a| {
            a.group_description.clone().or_else(|| a.group.clone())
        })
        .int("members", Unit::Count, "Ranks in the group", |a| a.members.len() as i64)
        .int("count", Unit::Count, "How many there were", |a| a.count as i64)
        .int("incomplete", Unit::Count, "Those that lack the trace of some rank", |a| a.incomplete as i64)
        .int("total_bytes", Unit::Bytes, "What the ranks here sent, all together", |a| a.total_bytes)
        .float(
            "imbalance_mean",
            Unit::Ratio,
            "The rank that sends most over the mean, mean over calls",
            |a| a.imbalance_mean,
        )
        .float("imbalance_max", Unit::Ratio, "The same for the most uneven call", |a| a.imbalance_max)
        .int("wall_ns", Unit::Ns, "From the first start to the last end, summed", |a| a.wall_ns.0)
        .float("gb_per_s", Unit::GigabytesPerSecond, "Bytes of all ranks over that time", |a| a.gb_per_s)
        .int("parts", Unit::Count, "Parts of ranks that are here", |a| a.parts as i64)
        .int("parts_with_sizes", Unit::Count, "Of these, those whose sizes the trace tells", |a| {
            a.parts_with_sizes as i64
        })
        .build()
}

/// Who sends how much to whom, the most first.
pub(super) fn heat_map(groups: &[AllToAllV]) -> Table {
    let mut links: Vec<(&AllToAllV, Link)> =
        groups.iter().flat_map(|group| group.links().map(move |link| (group, link))).collect();
    // Stable, so that equal ones stay by rank.
    links.sort_by_key(|(_, link)| std::cmp::Reverse(link.bytes));
    Table::of("all_to_all_v_links", "Who sends how much to whom in them", &links)
        .int("source_rank", Unit::None, "Who sent", |(_, link)| i64::from(link.source))
        .int("destination_rank", Unit::None, "Who received", |(_, link)| i64::from(link.destination))
        .int("sent_bytes", Unit::Bytes, "How much, over all calls", |(_, link)| link.bytes)
        .text("group", "The process group, by what it is for or else by name", |(group, _)| {
            group.group_description.clone().or_else(|| group.group.clone())
        })
        .build()
}
