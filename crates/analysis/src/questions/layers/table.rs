//! The tables of `layers`.

use gpuscope_table::{Table, Tabular, Unit};

use super::{Layer, LayersAnswer, RankLayers};

impl Tabular for LayersAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows: Vec<(u32, &Layer)> = self
            .ranks
            .iter()
            .flat_map(|rank| rank.layers.iter().map(move |layer| (rank.rank, layer)))
            .collect();
        let several = self.ranks.len() > 1;
        vec![layers(&rows, several), calls(&rows, several), ranks(&self.ranks)]
    }
}

fn layers(rows: &[(u32, &Layer)], several: bool) -> Table {
    let has_comm = rows.iter().any(|(_, layer)| layer.comm_ns.0 > 0);
    Table::of("layers", "GPU time of modules", rows)
        .when(several, |table| table.int("rank", Unit::None, "The rank", |r| i64::from(r.0)))
        .text("pass", "Forward, backward, or forward again", |r| r.1.pass.label().to_owned())
        .int("calls", Unit::Count, "Calls with work in this pass", |r| r.1.calls as i64)
        .int("total_ns", Unit::Ns, "Compute of the module and those inside", |r| r.1.total_ns.0)
        .int("own_ns", Unit::Ns, "Compute of the module itself", |r| r.1.own_ns.0)
        .when(has_comm, |table| {
            table.int("comm_ns", Unit::Ns, "Communication of the module and those inside", |r| r.1.comm_ns.0)
        })
        .float("per_step_ns", Unit::Ns, "Compute by the number of steps", |r| r.1.per_step_ns)
        .float("pct", Unit::Percent, "Of all compute time of the rank", |r| r.1.pct)
        .text("module", "The module, indented by what it is called from", |r| {
            indented(r.1.depth, &r.1.module)
        })
        .build()
}

fn calls(rows: &[(u32, &Layer)], several: bool) -> Table {
    Table::of("calls", "GPU time of single calls", rows)
        .when(several, |table| table.int("rank", Unit::None, "The rank", |r| i64::from(r.0)))
        .text("pass", "Forward, backward, or forward again", |r| r.1.pass.label().to_owned())
        .float("mean_ns", Unit::Ns, "Mean of a call", |r| r.1.spread.mean_ns)
        .int("min_ns", Unit::Ns, "Least of a call", |r| r.1.spread.min_ns.0)
        .float("q1_ns", Unit::Ns, "A quarter of the calls took less", |r| r.1.spread.q1_ns)
        .float("median_ns", Unit::Ns, "Half of the calls took less", |r| r.1.spread.median_ns)
        .float("q3_ns", Unit::Ns, "Three quarters of the calls took less", |r| r.1.spread.q3_ns)
        .int("max_ns", Unit::Ns, "Most of a call", |r| r.1.spread.max_ns.0)
        .text("module", "The module", |r| r.1.module.clone())
        .build()
}

fn ranks(ranks: &[RankLayers]) -> Table {
    Table::of("ranks", "GPU time without a module", ranks)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("compute_ns", Unit::Ns, "All GPU time but communication", |r| r.compute_ns.0)
        .int("without_module_ns", Unit::Ns, "Of this, of no module", |r| r.without_module_ns.0)
        .float("without_module_pct", Unit::Percent, "Of this, of no module", |r| r.without_module_pct)
        .int("comm_ns", Unit::Ns, "Communication", |r| r.comm_ns.0)
        .int("comm_without_module_ns", Unit::Ns, "Of this, of no module", |r| r.comm_without_module_ns.0)
        .int("replayed_ns", Unit::Ns, "GPU time of replayed graphs", |r| r.replayed_ns.0)
        .build()
}

pub(crate) fn indented(depth: u32, module: &str) -> String {
    // Deep enough to see, and no deeper than a terminal is wide.
    let indent = "  ".repeat(depth.min(12) as usize);
    format!("{indent}{module}")
}
