//! The tables of `diff`, those of the GPU before those of the host.

use gpuscope_table::{Table, TableBuilder, Tabular, Unit};
use gpuscope_trace::Ns;

use super::{DiffAnswer, DiffRow, HostRow, PartRow, Place, StepRow, causes};
use crate::shared::gate::{Measure, Metric, Verdict};

impl Tabular for DiffAnswer {
    fn tables(&self) -> Vec<Table> {
        let metrics = self.metrics();
        let times: Vec<&Metric> = metrics.iter().filter(|metric| metric.measure == Measure::Ns).collect();
        let delta = |m: &&Metric| m.a.and_then(|a| Some(m.b?.saturating_sub(a)));
        let summary = Table::of("summary", "Figures of the median rank", &times)
            .text("metric", "The figure, as `breakdown` defines it", |m| m.name.to_owned())
            .int("a_ns", Unit::Ns, "In A", |m| m.a)
            .int("b_ns", Unit::Ns, "In B", |m| m.b)
            .int("delta_ns", Unit::Ns, "B less A", delta)
            .float("change_pct", Unit::Percent, "B less A, of A", |m| {
                m.a.filter(|a| *a != 0).and_then(|a| Some(Ns(delta(m)?).pct_of(Ns(a))))
            })
            .build();
        let mut tables: Vec<Table> = self.gate.iter().map(gate_table).collect();
        tables.push(summary);
        if !self.step_parts.is_empty() {
            tables.push(parts_table(&self.step_parts));
        }
        let has_period = |step: &StepRow| step.a_period_ns.or(step.b_period_ns).is_some();
        if self.steps.iter().any(has_period) {
            tables.push(steps_table(&self.steps));
        }
        tables.push(causes::table(&self.causes, self.per));
        let gpu: Vec<&DiffRow> = self.rows.iter().filter(|row| row.device == Place::Gpu).collect();
        tables.push(changes("gpu", "What changed on the GPU, B less A", &gpu).build());
        tables.push(host_table(&self.host));
        let rows: Vec<&DiffRow> = self.rows.iter().collect();
        let place = |row: &&DiffRow| if row.device == Place::Gpu { "gpu" } else { "cpu" }.to_owned();
        let rows = changes("rows", "What changed by name, B less A", &rows);
        tables.push(rows.text("device", "On the host or on the GPU", place).build().for_files());
        tables
    }

    fn sentence(&self) -> Option<&str> {
        Some(&self.verdict)
    }
}

fn changes<'r>(name: &'static str, title: &str, rows: &'r [&'r DiffRow]) -> TableBuilder<'r, &'r DiffRow> {
    Table::of(name, title, rows)
        .int("delta_ns", Unit::Ns, "Summed time of B less that of A", |r| r.delta_ns.0)
        .text("change", "Added, removed, faster, slower or same", |r| r.change.label().to_owned())
        .int("a_ns", Unit::Ns, "Summed time in A", |r| r.a.sum_ns.0)
        .int("b_ns", Unit::Ns, "Summed time in B", |r| r.b.sum_ns.0)
        .int("a_count", Unit::Count, "How often in A", |r| r.a.count as i64)
        .int("b_count", Unit::Count, "How often in B", |r| r.b.count as i64)
        .text("name", "The event", |r| r.name.clone())
}

fn host_table(rows: &[HostRow]) -> Table {
    Table::of("host", "What changed on the host, without lines of files and addresses, B less A", rows)
        .int("own_delta_ns", Unit::Ns, "Own time of B less that of A: without what was called within", |r| {
            r.own_delta_ns.0
        })
        .text("change", "Added, removed, faster, slower or same, by the whole time", |r| {
            r.row.change.label().to_owned()
        })
        .int("a_own_ns", Unit::Ns, "Own time in A", |r| r.a_own_ns.0)
        .int("b_own_ns", Unit::Ns, "Own time in B", |r| r.b_own_ns.0)
        .int("delta_ns", Unit::Ns, "Whole time of B less that of A", |r| r.row.delta_ns.0)
        .int("a_count", Unit::Count, "How often in A", |r| r.row.a.count as i64)
        .int("b_count", Unit::Count, "How often in B", |r| r.row.b.count as i64)
        .text("name", "The event", |r| r.row.name.clone())
        .build()
}

fn parts_table(parts: &[PartRow]) -> Table {
    Table::of("step_parts", "A step of the median rank, part by part", parts)
        .text("part", "What the GPU did; idle is what the others leave of the step time", |p| {
            p.part.to_owned()
        })
        .int("a_ns", Unit::Ns, "In A", |p| p.a_ns.0)
        .int("b_ns", Unit::Ns, "In B", |p| p.b_ns.0)
        .int("delta_ns", Unit::Ns, "B less A", |p| p.delta_ns.0)
        .build()
}

fn steps_table(steps: &[StepRow]) -> Table {
    let ns = |time: Option<Ns>| time.map(|time| time.0);
    Table::of("steps", "Time from step to step", steps)
        .int("a_step", Unit::None, "The step in A", |s| s.a_step)
        .int("b_step", Unit::None, "The step in B", |s| s.b_step)
        .int("a_period_ns", Unit::Ns, "Its period in A; none for the first", |s| ns(s.a_period_ns))
        .int("b_period_ns", Unit::Ns, "Its period in B", |s| ns(s.b_period_ns))
        .int("delta_ns", Unit::Ns, "B less A", |s| ns(s.delta_ns))
        .build()
}

fn gate_table(gate: &Verdict) -> Table {
    let title = format!("{}: {}", if gate.failed { "Failed" } else { "Passed" }, gate.condition);
    Table::of("gate", title, &gate.clauses)
        .text("holds", "Whether the clause holds", |c| if c.holds { "yes" } else { "no" }.to_owned())
        .text("clause", "A part of the condition", |c| c.clause.clone())
        .text("message", "What the figure did", |c| c.message.clone())
        .build()
}
