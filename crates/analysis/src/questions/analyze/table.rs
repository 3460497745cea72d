//! The report: what to do first, then all answers it rests on.

use gpuscope_table::{Table, Tabular, Unit};

use super::{AnalyzeAnswer, Serving};
use crate::counters::joined;

impl Tabular for AnalyzeAnswer {
    fn tables(&self) -> Vec<Table> {
        let step = Table::of("step", &self.verdict, std::slice::from_ref(&self.step))
            .int("median_ns", Unit::Ns, "Step time: the median rank's", |s| s.median_ns.map(|ns| ns.0))
            .int("p99_ns", Unit::Ns, "99 of 100 steps are shorter", |s| s.p99_ns.map(|ns| ns.0))
            .int("steps", Unit::Count, "Steps recorded", |s| s.steps as i64)
            .float("spread_pct", Unit::Percent, "Slowest rank's step time above the fastest's", |s| {
                s.spread_pct
            })
            .float("computation_pct", Unit::Percent, "Of the GPUs' time", |s| s.computation_pct)
            .float("exposed_comm_pct", Unit::Percent, "Of the GPUs' time", |s| s.exposed_comm_pct)
            .float("exposed_memcpy_pct", Unit::Percent, "Of the GPUs' time", |s| s.exposed_memcpy_pct)
            .float("idle_pct", Unit::Percent, "Of the GPUs' time", |s| s.idle_pct)
            .build();
        let findings = Table::of("findings", "What to do", &self.findings)
            .text("id", "The same in every report", |f| f.id.to_owned())
            .text("finding", "What is slow", |f| f.title.clone())
            .int("gain_ns", Unit::Ns, "What a step would take less without it", |f| f.gain_ns.map(|ns| ns.0))
            .float("gain_pct", Unit::Percent, "Of a step", |f| f.gain_pct)
            .text("evidence", "What shows it", |f| f.evidence.text.clone())
            .text("advice", "What to do about it", |f| f.advice.to_owned())
            .text("confidence", "How sure that is", |f| f.confidence.label().to_owned())
            .text("caveat", "Why it is not surer", |f| f.caveat.clone())
            .text("command", "Shows more", |f| f.command.clone())
            .build();
        let kernels = Table::of("top_kernels", "Kernels that take most time, all ranks", &self.top_kernels)
            .text("name", "The kernel", |k| k.name.clone())
            .text("operator", "The operator that launches most of it", |k| k.operator.clone())
            .int("count", Unit::Count, "Launches", |k| k.count as i64)
            .int("sum_ns", Unit::Ns, "Summed time", |k| k.sum_ns.0)
            .float("pct", Unit::Percent, "Of the time of all GPU events", |k| k.pct)
            .build();
        let collectives = Table::of("top_collectives", "Collectives that hide least", &self.top_collectives)
            .text("name", "The collective", |c| c.name.clone())
            .text("group", "Its group", |c| c.group.clone())
            .int("size_bytes", Unit::Bytes, "Size of the message", |c| c.size_bytes)
            .int("count", Unit::Count, "How many", |c| c.count as i64)
            .int("exposed_ns", Unit::Ns, "Not hidden behind computation, mean over ranks", |c| c.exposed_ns.0)
            .float("bus_gb_per_s", Unit::GigabytesPerSecond, "Bus bandwidth", |c| c.bus_gb_per_s)
            .int("last_rank", Unit::None, "The rank that came last most often", |c| {
                c.last_rank.map(i64::from)
            })
            .build();
        let mut tables = vec![step, findings, kernels, collectives];
        if !self.measured.is_empty() {
            tables.push(joined(&self.measured));
        }
        if let Some(serving) = &self.inference {
            tables.insert(1, phases(serving));
        }
        let rest: [&dyn Tabular; 7] = [
            &self.breakdown,
            &self.idle,
            &self.critical_path,
            &self.collectives,
            &self.stragglers,
            &self.memory,
            &self.kernels,
        ];
        tables.extend(rest.into_iter().flat_map(Tabular::tables));
        // Collectives and stragglers both tell the clocks.
        let mut seen = std::collections::BTreeSet::new();
        tables.retain(|table| seen.insert(table.name));
        tables
    }
}

fn phases(serving: &Serving) -> Table {
    Table::of("serving", "Steps of the inference server", &serving.phases)
        .text("phase", "Prefill reads prompts, decode produces tokens, mixed does both", |p| {
            p.phase.label().to_owned()
        })
        .int("steps", Unit::Count, "Steps, all ranks", |p| p.steps as i64)
        .int(
            "median_ns",
            Unit::Ns,
            "From the end of the step before to the end of this one, median: of decode steps the time per output token",
            |p| p.median_ns.0,
        )
        .float("mean_requests", Unit::Ratio, "Requests in the batch, mean", |p| p.mean_requests)
        .float("gpu_busy_pct", Unit::Percent, "Share of their time in which the GPU works", |p| p.gpu_busy_pct)
        .float("replayed_pct", Unit::Percent, "GPU events that a graph replayed", |p| p.replayed_pct)
        .build()
}
