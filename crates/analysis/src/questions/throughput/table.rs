//! The tables of `throughput`.

use gpuscope_table::{Table, Tabular, Unit};

use super::{LayerRate, RankThroughput, StepRates, ThroughputAnswer};
use crate::layers::indented;
use crate::shared::spread::Quartiles;

impl Tabular for ThroughputAnswer {
    fn tables(&self) -> Vec<Table> {
        let several = self.ranks.len() > 1;
        let mut tables =
            vec![layers(&self.layers, several), calls(&self.layers, several), steps(&self.steps)];
        let rates: Vec<Rate<'_>> = self.steps.iter().flat_map(rates).collect();
        if !rates.is_empty() {
            tables.push(per_second(&rates));
        }
        tables.push(ranks(&self.ranks));
        tables
    }
}

fn layers(rows: &[LayerRate], several: bool) -> Table {
    Table::of("layers", "Operations per second of modules", rows)
        .when(several, |table| table.int("rank", Unit::None, "The rank", |r| i64::from(r.rank)))
        .text("pass", "Forward, backward, or forward again", |r| r.pass.label().to_owned())
        .int("calls", Unit::Count, "Calls with GPU work in this pass", |r| r.calls as i64)
        .float("tflops_per_s", Unit::TeraflopsPerSecond, "Operations by compute time", |r| r.tflops_per_s)
        .float("gflops", Unit::Gigaflops, "Operations of matrix units in all calls", |r| r.gflops)
        .int("compute_ns", Unit::Ns, "Compute of the module and those inside", |r| r.compute_ns.0)
        .float("known_pct", Unit::Percent, "Of this, in operators with known work", |r| r.known_pct)
        .text("module", "The module, indented by what it is called from", |r| indented(r.depth, &r.module))
        .build()
}

fn calls(rows: &[LayerRate], several: bool) -> Table {
    let rows: Vec<(&LayerRate, Quartiles)> =
        rows.iter().filter_map(|row| Some((row, row.call_tflops_per_s?))).collect();
    let unit = Unit::TeraflopsPerSecond;
    Table::of("calls", "Operations per second of single calls", &rows)
        .when(several, |table| table.int("rank", Unit::None, "The rank", |r| i64::from(r.0.rank)))
        .text("pass", "Forward, backward, or forward again", |r| r.0.pass.label().to_owned())
        .int("count", Unit::Count, "Calls with operations in this pass", |r| r.1.count as i64)
        .float("mean_tflops_per_s", unit, "Mean of a call", |r| r.1.mean)
        .float("min_tflops_per_s", unit, "Least of a call", |r| r.1.min)
        .float("q1_tflops_per_s", unit, "A quarter of the calls had less", |r| r.1.q1)
        .float("median_tflops_per_s", unit, "Half of the calls had less", |r| r.1.median)
        .float("q3_tflops_per_s", unit, "Three quarters of the calls had less", |r| r.1.q3)
        .float("max_tflops_per_s", unit, "Most of a call", |r| r.1.max)
        .text("module", "The module", |r| r.0.module.clone())
        .build()
}

fn steps(rows: &[StepRates]) -> Table {
    Table::of("steps", "Length of steps", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("steps", Unit::Count, "Steps that count; none if all of the trace is taken as one", |r| {
            Some(r.steps as i64).filter(|steps| *steps > 0)
        })
        .float("mean_ns", Unit::Ns, "Mean of a step", |r| r.spread.mean_ns)
        .int("min_ns", Unit::Ns, "Least of a step", |r| r.spread.min_ns.0)
        .float("q1_ns", Unit::Ns, "A quarter of the steps took less", |r| r.spread.q1_ns)
        .float("median_ns", Unit::Ns, "Half of the steps took less", |r| r.spread.median_ns)
        .float("q3_ns", Unit::Ns, "Three quarters of the steps took less", |r| r.spread.q3_ns)
        .int("max_ns", Unit::Ns, "Most of a step", |r| r.spread.max_ns.0)
        .build()
}

type Rate<'a> = (u32, &'static str, &'a Quartiles);

fn rates(steps: &StepRates) -> impl Iterator<Item = Rate<'_>> {
    let both = [("tokens", &steps.tokens_per_s), ("samples", &steps.samples_per_s)];
    both.into_iter().filter_map(|(what, rates)| Some((steps.rank, what, rates.as_ref()?)))
}

fn per_second(rows: &[Rate<'_>]) -> Table {
    Table::of("per_second", "Per second, of one rank", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0))
        .text("what", "Tokens or samples", |r| r.1.to_owned())
        .float("mean", Unit::Count, "Mean of a step", |r| r.2.mean)
        .float("min", Unit::Count, "Least of a step", |r| r.2.min)
        .float("q1", Unit::Count, "A quarter of the steps had less", |r| r.2.q1)
        .float("median", Unit::Count, "Half of the steps had less", |r| r.2.median)
        .float("q3", Unit::Count, "Three quarters of the steps had less", |r| r.2.q3)
        .float("max", Unit::Count, "Most of a step", |r| r.2.max)
        .build()
}

fn ranks(ranks: &[RankThroughput]) -> Table {
    Table::of("ranks", "What modules and work models know of", ranks)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("compute_ns", Unit::Ns, "All GPU time but communication", |r| r.compute_ns.0)
        .float("known_pct", Unit::Percent, "Of this, in operators with known work", |r| r.known_pct)
        .float("gflops", Unit::Gigaflops, "Operations of matrix units", |r| r.gflops)
        .int("without_module_ns", Unit::Ns, "Compute of no module", |r| r.without_module_ns.0)
        .float("without_module_gflops", Unit::Gigaflops, "Operations of no module", |r| {
            r.without_module_gflops
        })
        .build()
}
