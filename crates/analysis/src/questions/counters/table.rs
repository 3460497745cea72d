//! Counters as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::{CountersAnswer, OperatorCounters};

impl Tabular for CountersAnswer {
    fn tables(&self) -> Vec<Table> {
        let readings: Vec<(&OperatorCounters, &String, f64)> = self
            .ops
            .iter()
            .flat_map(|op| op.readings.0.iter().map(move |(name, value)| (op, name, *value)))
            // What an operator does not do is no news.
            .filter(|(_, _, value)| *value != 0.0)
            .collect();
        let ops = Table::of("ops", "Counters by operator", &readings)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.0.rank))
            .int("count", Unit::Count, "Kernels of the operator", |r| r.0.count as i64)
            .float("value", Unit::Ratio, "The counter over all of them", |r| r.2)
            .text("name", "The innermost operator", |r| r.0.name.clone())
            .text("counter", "The counter", |r| r.1.clone())
            .build();
        let ranks = Table::of("ranks", "Ranges with counters", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("ranges", Unit::Count, "Ranges with counters", |r| r.ranges as i64)
            .int("launches", Unit::Count, "Kernel launches", |r| r.launches as i64)
            .text("linked", "Whether each range has its launch", |r| {
                if r.linked { "yes" } else { "no" }.to_owned()
            })
            .build();
        vec![ops, ranks]
    }
}
