//! The path as tables: by what bounds it, and by name.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::Ns;

use super::{Bound, Bounds, CriticalPathAnswer};

impl Bounds {
    fn rows(&self) -> [(Bound, Ns); 9] {
        [
            (Bound::GpuCompute, self.gpu_compute_ns),
            (Bound::GpuComm, self.gpu_comm_ns),
            (Bound::GpuMemcpy, self.gpu_memcpy_ns),
            (Bound::Cpu, self.cpu_ns),
            (Bound::DataLoading, self.data_loading_ns),
            (Bound::Sync, self.sync_ns),
            (Bound::KernelLaunch, self.kernel_launch_ns),
            (Bound::KernelKernel, self.kernel_kernel_ns),
            (Bound::Unknown, self.unknown_ns),
        ]
    }
}

/// A window that differs from the step time by more than this share says how they go together, in per cent.
const APART_PCT: f64 = 5.0;

impl CriticalPathAnswer {
    /// How long the window is, and how that goes together with the step time where they differ.
    fn beside_step_time(&self) -> String {
        let Some(step_time) = self.step_time_ns else { return String::new() };
        let (long, usual) =
            (crate::shared::text::time(self.makespan_ns), crate::shared::text::time(step_time));
        if (self.makespan_ns - step_time).pct_of(step_time).abs() <= APART_PCT {
            return format!(": the median step, {long}");
        }
        if self.between_two_steps {
            return format!(": {long}, the longer of two around the step time of {usual}");
        }
        let overlap = if self.makespan_ns > step_time { "steps overlap, and " } else { "" };
        format!(": the median step, {long}; {overlap}one ends every {usual}")
    }
}

impl Tabular for CriticalPathAnswer {
    fn tables(&self) -> Vec<Table> {
        let weighed = self.bound_by.rows();
        let rows: Vec<(Bound, Ns, Ns)> =
            self.makespan_by.rows().iter().zip(weighed).map(|(own, hta)| (own.0, own.1, hta.1)).collect();
        let title =
            format!("Critical path of {}, rank {}{}", self.window, self.rank, self.beside_step_time());
        let bounds = Table::of("bounds", &title, &rows)
            .text("bound_by", "What the path spends its time on", |row| row.0.label().to_owned())
            .int("time_ns", Unit::Ns, "Time on the path; all rows make up the window", |row| row.1.0)
            .float("share_pct", Unit::Percent, "Of the window", |row| row.1.pct_of(self.makespan_ns))
            .int("hta_ns", Unit::Ns, "As HTA weighs its longest path", |row| row.2.0)
            .build();
        let top = Table::of("top", "Longest on the path", &self.top)
            .text("name", "What ran, or what waited", |share| share.name.clone().unwrap_or_default())
            .text("bound_by", "What the time is", |share| share.bound_by.label().to_owned())
            .int("count", Unit::Count, "Stretches", |share| share.count as i64)
            .int("sum_ns", Unit::Ns, "Time on the path", |share| share.sum_ns.0)
            .float("share_pct", Unit::Percent, "Of the window", |share| share.sum_ns.pct_of(self.makespan_ns))
            .build();
        vec![bounds, top]
    }
}
