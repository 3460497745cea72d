//! The breakdown as tables.

use gpuscope_table::{Table, TableBuilder, Tabular, Unit};
use gpuscope_trace::Ns;

use super::{BreakdownAnswer, RankBreakdown, StepTimes, Times};

impl Tabular for BreakdownAnswer {
    fn tables(&self) -> Vec<Table> {
        let total =
            Table::of("total", "Where GPU time went", &self.ranks)
                .int("rank", Unit::None, "The rank", |r| i64::from(r.rank));
        let total = times_columns(total, |r| &r.total)
            .int("step_time_ns", Unit::Ns, "Median time from step to step", |r| r.step_time_ns.map(|ns| ns.0))
            .build();

        let devices: Vec<_> =
            self.ranks.iter().flat_map(|r| r.devices.iter().map(move |d| (r.rank, d))).collect();
        let devices = Table::of("devices", "By device", &devices)
            .int("rank", Unit::None, "The rank", |(rank, _)| i64::from(*rank))
            .int("device", Unit::None, "The device", |(_, d)| d.device);
        let devices = times_columns(devices, |(_, d)| &d.times).build();

        let steps = steps_table("steps", "By step", &self.steps(|r| &r.steps));
        let mut tables = vec![total, devices, steps];
        let inferred = self.steps(|r| &r.inferred_steps);
        if !inferred.is_empty() {
            tables.push(steps_table("inferred_steps", "By step, as guessed from annotations", &inferred));
        }
        tables
    }
}

impl BreakdownAnswer {
    fn steps<'a>(&'a self, of: impl Fn(&'a RankBreakdown) -> &'a [StepTimes]) -> Vec<(u32, &'a StepTimes)> {
        self.ranks.iter().flat_map(|r| of(r).iter().map(move |step| (r.rank, step))).collect()
    }
}

fn steps_table(name: &'static str, title: &str, rows: &[(u32, &StepTimes)]) -> Table {
    let table = Table::of(name, title, rows)
        .int("rank", Unit::None, "The rank", |(rank, _)| i64::from(*rank))
        .int("step", Unit::None, "The step's number", |(_, s)| s.step)
        .int("period_ns", Unit::Ns, "From the last GPU end of the step before to this one's", |(_, s)| {
            s.period_ns.map(|ns| ns.0)
        })
        .int("wall_ns", Unit::Ns, "Length of the host annotation", |(_, s)| s.wall_ns.0)
        .int("window_ns", Unit::Ns, "From the annotation's start to its end or the last GPU end", |(_, s)| {
            s.window_ns.0
        })
        .int("lead_idle_ns", Unit::Ns, "Of the window, before the first GPU event", |(_, s)| s.lead_idle_ns.0)
        .int("tail_idle_ns", Unit::Ns, "Of the window, after the last GPU event", |(_, s)| s.tail_idle_ns.0);
    times_columns(table, |(_, s)| &s.times).build()
}

/// Each duration is followed by its share of the total where the shares make up 100.
fn times_columns<'r, R>(table: TableBuilder<'r, R>, of: impl Fn(&'r R) -> &'r Times) -> TableBuilder<'r, R> {
    let of = &of;
    let ns = |part: fn(&Times) -> Ns| move |row: &'r R| part(of(row)).0;
    let pct = |part: fn(&Times) -> Ns| move |row: &'r R| part(of(row)).pct_of(of(row).total_ns);
    let micro = table.rows().iter().any(|row| of(row).micro_idle_ns.is_some());
    let idle_parts = |table: TableBuilder<'r, R>| {
        table
            .int("micro_idle_ns", Unit::Ns, "Idle in gaps below the threshold", |row| {
                of(row).micro_idle_ns.map(|ns| ns.0)
            })
            .int("macro_idle_ns", Unit::Ns, "Idle in longer gaps", |row| of(row).macro_idle_ns.map(|ns| ns.0))
    };
    table
        .int("total_ns", Unit::Ns, "First GPU start to last GPU end", ns(|t| t.total_ns))
        .int("computation_ns", Unit::Ns, "A computation or memory set ran", ns(|t| t.computation_ns))
        .float("computation_pct", Unit::Percent, "Computing, of the total", pct(|t| t.computation_ns))
        .int("exposed_comm_ns", Unit::Ns, "Communication that no computation hid", ns(|t| t.exposed_comm_ns))
        .float("exposed_comm_pct", Unit::Percent, "Exposed communication, of it", pct(|t| t.exposed_comm_ns))
        .int("exposed_memcpy_ns", Unit::Ns, "Copies that nothing hid", ns(|t| t.exposed_memcpy_ns))
        .float("exposed_memcpy_pct", Unit::Percent, "Exposed copies, of it", pct(|t| t.exposed_memcpy_ns))
        .int("idle_ns", Unit::Ns, "Nothing ran", ns(|t| t.idle_ns))
        .float("idle_pct", Unit::Percent, "Idle, of the total", pct(|t| t.idle_ns))
        .when(micro, idle_parts)
        .int("busy_ns", Unit::Ns, "Anything ran", ns(|t| t.busy_ns))
        .int("comm_ns", Unit::Ns, "A communication ran, hidden or not", ns(|t| t.comm_ns))
        .int("memcpy_ns", Unit::Ns, "A copy ran, hidden or not", ns(|t| t.memcpy_ns))
        .float(
            "est_sm_efficiency_pct",
            Unit::Percent,
            "Estimated share of multiprocessors that had work while kernels ran",
            |row| of(row).est_sm_efficiency_pct,
        )
        .float("est_occupancy_pct", Unit::Percent, "Estimated occupancy while kernels ran", |row| {
            of(row).est_occupancy_pct
        })
}
