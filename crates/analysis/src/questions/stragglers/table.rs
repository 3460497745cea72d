//! Stragglers as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::StragglersAnswer;
use crate::collectives::clocks_table;

impl Tabular for StragglersAnswer {
    fn tables(&self) -> Vec<Table> {
        let ranks = Table::of("ranks", "Who came late", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("own_lateness_ns", Unit::Ns, "Behind the rank before it, less what was inherited", |r| {
                r.own_lateness_ns.0
            })
            .float("own_lateness_pct", Unit::Percent, "Own lateness, of the run", |r| r.own_lateness_pct)
            .int("inherited_ns", Unit::Ns, "Late because it had itself waited elsewhere", |r| {
                r.inherited_ns.0
            })
            .int("wait_ns", Unit::Ns, "What it waited for others, clocks as they are", |r| r.wait_ns.0)
            .int("others_wait_ns", Unit::Ns, "What each other rank waited for it, on average", |r| {
                r.others_wait_ns.0
            })
            .float("others_wait_pct", Unit::Percent, "That, of the others' time", |r| r.others_wait_pct)
            .int("last", Unit::Count, "How often it was last for certain", |r| r.last as i64)
            .int("collectives", Unit::Count, "Collectives it shares with others here", |r| {
                r.collectives as i64
            })
            .text("pattern", "Late all the time or now and then", |r| {
                r.pattern.as_ref().map(|p| if p.persistent { "persistent" } else { "transient" }.to_owned())
            })
            .text("cause", "What was slower than on the median rank", |r| {
                r.cause.as_ref().map(|cause| cause.why.label().to_owned())
            })
            .int("inherited_from", Unit::None, "Whom it had waited for", |r| r.inherited_from.map(i64::from))
            .build();
        let notes = Table::of("notes", "In words", &self.notes)
            .text("message", "What the figures mean", String::clone)
            .build();
        let mut tables = vec![ranks, notes];
        if self.clocks.iter().any(|clock| clock.offset_ns.0 != 0) {
            tables.push(clocks_table(&self.clocks));
        }
        tables
    }
}
