//! The report as tables: shares by rank, the largest kernels, what to do, and where idle time comes from.

use gpuscope_table::{Table, Tabular, Unit};

use super::{HtaAnswer, RankShares, Shares, TopKernel};

impl Tabular for HtaAnswer {
    fn tables(&self) -> Vec<Table> {
        let mut rows: Vec<(Option<&RankShares>, &Shares)> =
            self.ranks.iter().map(|rank| (Some(rank), &rank.shares)).collect();
        let title = if rows.len() > 1 {
            rows.push((None, &self.mean));
            "Shares of each rank's time, and their mean"
        } else {
            "Shares of the rank's time"
        };
        let ranks = Table::of("ranks", title, &rows)
            .int("rank", Unit::None, "The rank; none for the mean", |r| r.0.map(|rank| i64::from(rank.rank)))
            .int("window_ns", Unit::Ns, "First GPU start to last GPU end", |r| {
                r.0.map(|rank| rank.window_ns.0)
            })
            .int("step_time_ns", Unit::Ns, "Median time from step to step", |r| {
                r.0.and_then(|rank| rank.step_time_ns).map(|ns| ns.0)
            })
            .float("compute_time_pct", Unit::Percent, "Computing", |r| r.1.compute_time_pct)
            .float("communication_time_pct", Unit::Percent, "Communication that nothing hid", |r| {
                r.1.communication_time_pct
            })
            .float("memcpy_time_pct", Unit::Percent, "Copies that nothing hid", |r| r.1.memcpy_time_pct)
            .float("gpu_idle_time_pct", Unit::Percent, "Idle", |r| r.1.gpu_idle_time_pct)
            .float("communication_total_pct", Unit::Percent, "Communication, hidden or not", |r| {
                r.1.communication_total_pct
            })
            .build();
        let kernels = top_kernels("top_kernels", "Largest kernels of all ranks", &self.top_kernels);
        let advice = advice("What holds the job up", &self.bottlenecks, &self.recommendations);
        let mut tables = vec![ranks, advice, kernels];
        tables.extend(self.kernels.tables().into_iter().filter(|table| table.name == "types"));
        tables.extend(
            self.idle.tables().into_iter().filter(|table| ["devices", "host_causes"].contains(&table.name)),
        );
        tables
    }
}

/// Names stand at the end: they may be long.
pub(crate) fn top_kernels(name: &'static str, title: &str, kernels: &[TopKernel]) -> Table {
    Table::of(name, title, kernels)
        .int("time_ns", Unit::Ns, "Summed time", |k| k.time_ns.0)
        .float("pct", Unit::Percent, "Of the summed time of all kernels", |k| k.pct)
        .int("count", Unit::Count, "Launches", |k| k.count as i64)
        .text("kernel_type", "Computation, communication or memory traffic", |k| k.kernel_type.to_owned())
        .text("name", "The kernel", |k| k.name.clone())
        .build()
}

/// Each finding with what to do about it, a line for each: sentences do not fit beside one another.
pub(crate) fn advice(title: &str, bottlenecks: &[String], recommendations: &[String]) -> Table {
    let pairs = bottlenecks.iter().zip(recommendations);
    let lines: Vec<(&str, &String)> =
        pairs.flat_map(|(what, to_do)| [("found", what), ("do", to_do)]).collect();
    Table::of("bottlenecks", title, &lines)
        .text("what", "What was found, or what to do about it", |line| line.0.to_owned())
        .text("text", "In words", |line| line.1.clone())
        .build()
}
