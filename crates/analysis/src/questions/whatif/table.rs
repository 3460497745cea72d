//! A prediction as tables.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::Ns;

use super::{Bottleneck, WhatIfAnswer};

impl Bottleneck {
    fn rows(&self) -> [(&'static str, Ns); 7] {
        [
            ("computation", self.computation_ns),
            ("communication", self.communication_ns),
            ("copies", self.copies_ns),
            ("host", self.host_ns),
            ("launching", self.launching_ns),
            ("synchronisation", self.synchronisation_ns),
            ("not known", self.unknown_ns),
        ]
    }
}

impl Tabular for WhatIfAnswer {
    fn tables(&self) -> Vec<Table> {
        let step = Table::of("prediction", "Step time", std::slice::from_ref(self))
            .int("step_time_ns", Unit::Ns, "As recorded", |a| a.step_time_ns.0)
            .int("predicted_ns", Unit::Ns, "With the changes", |a| a.predicted_ns.0)
            .int(
                "predicted_high_ns",
                Unit::Ns,
                "At most, as far as waiting for absent ranks is not known",
                |a| a.predicted_high_ns.0,
            )
            .int("saved_ns", Unit::Ns, "Difference", |a| a.saved_ns.0)
            .float("saved_pct", Unit::Percent, "Of the recorded step time", |a| a.saved_pct)
            .float("residual_pct", Unit::Percent, "Of a step that the model cannot explain", |a| {
                a.residual_pct
            })
            .build();
        let rows: Vec<(&str, Ns, Ns)> = self
            .bottleneck_before
            .rows()
            .into_iter()
            .zip(self.bottleneck_after.rows())
            .map(|((name, before), (_, after))| (name, before, after))
            .collect();
        let bottleneck = Table::of("bottleneck", "What the critical path consists of", &rows)
            .text("bound_by", "What the time is", |row| row.0.to_owned())
            .int("before_ns", Unit::Ns, "As recorded, over all steps", |row| row.1.0)
            .int("after_ns", Unit::Ns, "With the changes", |row| row.2.0)
            .build();
        let matched = Table::of("matched", "What the patterns found", &self.matched)
            .text("pattern", "The pattern", |m| m.pattern.clone())
            .int("gpu_events", Unit::Count, "GPU events", |m| m.gpu_events as i64)
            .int("gpu_ns", Unit::Ns, "Their time", |m| m.gpu_ns.0)
            .int("host_ns", Unit::Ns, "Host work between launches", |m| m.host_ns.0)
            .build();
        let ranks = Table::of("ranks", "Step time of each rank", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("step_time_ns", Unit::Ns, "As recorded", |r| r.step_time_ns.0)
            .int("predicted_ns", Unit::Ns, "With the changes", |r| r.predicted_ns.0)
            .build();
        let mut tables = vec![step, bottleneck];
        if !self.matched.is_empty() {
            tables.push(matched);
        }
        if self.ranks.len() > 1 {
            tables.push(ranks);
        }
        tables
    }
}
