//! Collectives as tables.

mod costs;
mod late;
mod operations;

use gpuscope_table::{Table, Tabular, Unit};

use super::CollectivesAnswer;
use crate::model::clocks::RankClock;

impl Tabular for CollectivesAnswer {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![operations::summary(&self.summary)];
        if !self.collectives.is_empty() {
            tables.extend([
                operations::over_groups(&self.operations),
                operations::spread(&self.summary),
                costs::groups(&self.groups),
                costs::group_ranks(&self.group_ranks),
                costs::stages(&self.stages),
                late::table(&self.late),
                operations::all_to_all_v(&self.all_to_all_v),
                operations::heat_map(&self.all_to_all_v),
            ]);
        }
        if self.clocks.len() > 1 {
            tables.push(clocks_table(&self.clocks));
        }
        tables.push(self.rows_table());
        tables
    }
}

/// Whose clock is how far off.
pub(crate) fn clocks_table(clocks: &[RankClock]) -> Table {
    Table::of("clocks", "Clocks", clocks)
        .int("rank", Unit::None, "The rank", |c| i64::from(c.rank))
        .text("host", "The machine it ran on", |c| c.host.clone())
        .int("reference_rank", Unit::None, "The rank whose clock aligned times are on", |c| {
            i64::from(c.reference_rank)
        })
        .int("offset_ns", Unit::Ns, "How far ahead of the reference it is in the middle of the run", |c| {
            c.offset_ns.0
        })
        .int("half_width_ns", Unit::Ns, "How far off that may be", |c| c.half_width_ns.0)
        .int("drift_ppb", Unit::Count, "Nanoseconds it gains on the reference in a second", |c| c.drift_ppb)
        .build()
}

impl CollectivesAnswer {
    fn rows_table(&self) -> Table {
        Table::of("collectives", "Each collective", &self.collectives)
            .int("start_ns", Unit::TimestampNs, "The earliest start, as written", |c| c.start_ns.0)
            .text("name", "The operation", |c| c.name.to_string())
            .text("group", "The process group, by what it is for or else by name", |c| {
                c.group_description.as_deref().or(c.group.as_deref()).map(str::to_owned)
            })
            .text("process_group", "The name of the process group", |c| c.group.as_deref().map(str::to_owned))
            .for_files()
            .int("size_bytes", Unit::Bytes, "The message", |c| c.size_bytes)
            .int("latency_ns", Unit::Ns, "The transfer: the shortest duration", |c| c.latency_ns.0)
            .float("bus_gb_per_s", Unit::GigabytesPerSecond, "What each link carried", |c| c.bus_gb_per_s)
            .int("last_rank", Unit::None, "The rank that came last", |c| c.last_rank.map(i64::from))
            .int("behind_ns", Unit::Ns, "How far behind the one before it", |c| c.behind_ns.map(|ns| ns.0))
            .int("ranks", Unit::Count, "Ranks that are there", |c| c.ranks.len() as i64)
            .int("step", Unit::None, "The step that launched it", |c| c.step)
            .int("source_rank", Unit::None, "Who sent", |c| c.source_rank.map(i64::from))
            .int("destination_rank", Unit::None, "Who received", |c| c.destination_rank.map(i64::from))
            .build()
    }
}
