//! The table of `flame`: the boxes, indented.

use gpuscope_table::{Table, Tabular, Unit};

use super::{FlameAnswer, FlameNode, RunFlame, Weighed, Weight};

/// Deeper paths are not indented any further.
const MOST_INDENT: u32 = 24;

impl Tabular for RunFlame {
    fn tables(&self) -> Vec<Table> {
        self.answer().tables()
    }
}

impl Tabular for FlameAnswer {
    fn tables(&self) -> Vec<Table> {
        let whole = self.weight.total();
        let (unit, total, own, before) = match self.by {
            Weight::Gpu | Weight::Host => (Unit::Ns, "total_ns", "own_ns", "before_ns"),
            Weight::Bytes => (Unit::Bytes, "total_bytes", "own_bytes", "before_bytes"),
        };
        let share = |node: &FlameNode| {
            let total = node.weight.total() as f64;
            if whole > 0 { total / whole as f64 * 100.0 } else { 0.0 }
        };
        let nodes = Table::of("nodes", "Boxes of the flame graph, in order of time", &self.nodes)
            .int("count", Unit::Count, "Host or GPU events", |n| n.count as i64)
            .int(total, unit, "With what is below", |n| n.weight.total())
            .float("share_pct", Unit::Percent, "Of all", share)
            .int(own, unit, "Without what is below", |n| n.weight.own())
            .when(self.before.is_some(), |table| {
                table.int(before, unit, "With what is below, in the other run", |n| {
                    n.before.map(Weighed::total)
                })
            })
            .text("path", "Indented by what it was called from", |n| {
                format!("{}{}", " ".repeat(n.depth.min(MOST_INDENT) as usize), n.name)
            })
            .build();
        vec![nodes]
    }
}
