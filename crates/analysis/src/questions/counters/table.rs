//! Counters as tables.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::MetricValue;

use super::{CountersAnswer, JoinedRow, OperatorCounters};

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
        vec![ops, ranks, sampled(self), launches(self), joined(&self.joined), rules(self), measured(self)]
    }
}

fn sampled(answer: &CountersAnswer) -> Table {
    Table::of("sampled", "Sampled counters", &answer.sampled)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("count", Unit::Count, "Samples", |r| r.count as i64)
        .float("min", Unit::Ratio, "The lowest", |r| r.min)
        .float("mean", Unit::Ratio, "The mean", |r| r.mean)
        .float("max", Unit::Ratio, "The highest", |r| r.max)
        .text("source", "What it was read from", |r| r.source.clone())
        .text("name", "The counter", |r| r.name.clone())
        .build()
}

fn launches(answer: &CountersAnswer) -> Table {
    Table::of("launches", "Launches measured by Nsight Compute", &answer.launches)
        .int("id", Unit::None, "The launch, as Nsight Compute numbers it", |row| row.id)
        .int("dur_ns", Unit::Ns, "What it took", |row| row.dur_ns.map(|dur| dur.0))
        .float("compute_pct", Unit::Percent, "Of what the multiprocessors can do", |row| row.compute_pct)
        .float("memory_pct", Unit::Percent, "Of what the memory can do", |row| row.memory_pct)
        .float("occupancy_pct", Unit::Percent, "Of the warps that fit, those that were there", |row| {
            row.occupancy_pct
        })
        .int("dram_bytes", Unit::Bytes, "Bytes of GPU memory moved", |row| row.dram_bytes)
        .float("tflops_per_s", Unit::TeraflopsPerSecond, "Floating-point operations it reached", |row| {
            row.tflops_per_s
        })
        .float(
            "flops_per_byte",
            Unit::Ratio,
            "Floating-point operations for each byte of GPU memory",
            |row| row.flops_per_byte,
        )
        .text("kernel", "The kernel", |row| row.kernel.clone())
        .build()
}

fn measured(answer: &CountersAnswer) -> Table {
    Table::of("metrics", "Measured by Nsight Compute", &answer.metrics)
        .int("id", Unit::None, "The launch, as Nsight Compute numbers it", |row| row.id)
        .text("section", "The section of the report", |row| row.section.clone())
        .text("metric", "The metric", |row| match &row.label {
            Some(label) => format!("{} ({label})", row.metric),
            None => row.metric.clone(),
        })
        .text("value", "Its value", |row| match &row.value {
            MetricValue::Int(value) => Some(value.to_string()),
            MetricValue::Number(value) => Some(value.to_string()),
            MetricValue::Text(text) => Some(text.clone()),
            MetricValue::Absent => None,
        })
        .text("unit", "Its unit, as Nsight Compute wrote it", |row| row.unit.clone())
        .text("kernel", "The kernel", |row| row.kernel.clone())
        .build()
}

fn rules(answer: &CountersAnswer) -> Table {
    Table::of("rules", "Advice of Nsight Compute", &answer.rules)
        .int("id", Unit::None, "The launch, as Nsight Compute numbers it", |row| row.id)
        .float(
            "estimated_speedup_pct",
            Unit::Percent,
            "What could be saved of the kernel, as the rule estimates it",
            |row| row.estimated_speedup_pct,
        )
        .text("type", "OPT: something to do; INF: to know", |row| row.sort.clone())
        .text("rule", "The rule", |row| row.rule.clone())
        .text("description", "What it says", |row| row.description.clone())
        .text("kernel", "The kernel", |row| row.kernel.clone())
        .build()
}

pub(crate) fn joined(rows: &[JoinedRow]) -> Table {
    Table::of("joined", "Measured kernels in the trace", rows)
        .int("id", Unit::None, "The launch, as Nsight Compute numbers it", |row| row.id)
        .int("rank", Unit::None, "The rank of the trace", |row| i64::from(row.rank))
        .int("launches", Unit::Count, "Launches of this kernel with this shape in the trace", |row| {
            row.launches as i64
        })
        .int("sum_ns", Unit::Ns, "Their time", |row| row.sum_ns.0)
        .float("pct", Unit::Percent, "Of the rank's GPU time", |row| row.pct)
        .int("dur_ns", Unit::Ns, "What the measured launch took in the trace", |row| {
            row.dur_ns.map(|dur| dur.0)
        })
        .int(
            "estimated_gain_ns",
            Unit::Ns,
            "What could be saved of all launches, if the best rule is right",
            |row| row.estimated_gain_ns.map(|gain| gain.0),
        )
        .text("kernel", "The kernel", |row| row.kernel.clone())
        .build()
}
