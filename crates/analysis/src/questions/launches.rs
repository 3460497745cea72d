//! How long do launches take, and how long does the GPU wait for them?
//!
//! One row per GPU event whose launching call is in the trace: the call's own time on the host, the event's
//! time on the GPU, and the delay from the end of the call to the start of the event (0 if it started before
//! the call returned). An event is *short* if its call, itself within the cutoff, took longer than the event:
//! work too small to be worth its launch. All kernels of a replayed graph share the one call that replayed it.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Arg, Ns, View};
use serde::Serialize;

use crate::Question;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Launch {
    pub correlation: Option<i64>,
    pub name: String,
    /// The call, as the runtime or driver names it.
    pub call: String,
    pub device: i64,
    pub stream: Option<i64>,
    /// When the GPU event began.
    pub start_ns: Ns,
    pub cpu_ns: Ns,
    pub gpu_ns: Ns,
    pub delay_ns: Ns,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaunchSummary {
    pub count: u64,
    pub short_kernels: u64,
    pub runtime_outliers: u64,
    pub delay_outliers: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankLaunches {
    pub rank: u32,
    pub summary: LaunchSummary,
    /// In order of the GPU events' start.
    pub launches: Vec<Launch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaunchesAnswer {
    pub ranks: Vec<RankLaunches>,
}

impl Tabular for LaunchesAnswer {
    fn tables(&self) -> Vec<Table> {
        let summary = Table::of("summary", "Launches", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("count", Unit::Count, "GPU events with a known launch", |r| r.summary.count as i64)
            .int("short_kernels", Unit::Count, "GPU events shorter than their launching call", |r| {
                r.summary.short_kernels as i64
            })
            .int("runtime_outliers", Unit::Count, "Calls longer than the cutoff", |r| {
                r.summary.runtime_outliers as i64
            })
            .int(
                "delay_outliers",
                Unit::Count,
                "GPU events that started later than the cutoff after their call",
                |r| r.summary.delay_outliers as i64,
            )
            .build();
        let all: Vec<(u32, &Launch)> =
            self.ranks.iter().flat_map(|r| r.launches.iter().map(|launch| (r.rank, launch))).collect();
        let launches = Table::of("launches", "Each launch", &all)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.0))
            .int("cpu_ns", Unit::Ns, "Time in the call", |r| r.1.cpu_ns.0)
            .int("gpu_ns", Unit::Ns, "Time on the GPU", |r| r.1.gpu_ns.0)
            .int("delay_ns", Unit::Ns, "From the end of the call to the start on the GPU", |r| r.1.delay_ns.0)
            .int("device", Unit::None, "The device", |r| r.1.device)
            .int("stream", Unit::None, "The stream", |r| r.1.stream)
            .int("correlation", Unit::None, "Joins the call and its GPU work", |r| r.1.correlation)
            .text("call", "The launching call", |r| r.1.call.clone())
            .text("name", "The GPU event", |r| r.1.name.clone())
            .int("start_ns", Unit::TimestampNs, "When the GPU event began", |r| r.1.start_ns.0)
            .build();
        vec![summary, launches]
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Launches {
    /// Calls longer than this are outliers, and say nothing about short kernels.
    pub runtime_cutoff: Ns,
    pub delay_cutoff: Ns,
}

impl Default for Launches {
    fn default() -> Self {
        Launches { runtime_cutoff: Ns::from_us(50), delay_cutoff: Ns::from_us(100) }
    }
}

impl Question for Launches {
    type Local = RankLaunches;
    type Answer = LaunchesAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankLaunches {
        let trace = view.trace;
        let mut found = RankLaunches { rank, ..RankLaunches::default() };
        for event in view.gpu() {
            let Some(call) = view.launch(event.row) else { continue };
            let Some((call_start, call_end)) = trace.span(call) else { continue };
            let launch = Launch {
                correlation: trace.args.int(event.row, Arg::Correlation),
                name: trace.name(event.row).to_owned(),
                call: trace.name(call).to_owned(),
                device: view.device(event.row),
                stream: view.stream(event.row),
                start_ns: event.start,
                cpu_ns: call_end - call_start,
                gpu_ns: event.dur(),
                delay_ns: (event.start - call_end).max(Ns::ZERO),
            };
            let (cpu, gpu) = (launch.cpu_ns, launch.gpu_ns);
            found.summary.count += 1;
            found.summary.short_kernels += u64::from(cpu <= self.runtime_cutoff && gpu < cpu);
            found.summary.runtime_outliers += u64::from(cpu > self.runtime_cutoff);
            found.summary.delay_outliers += u64::from(launch.delay_ns > self.delay_cutoff);
            found.launches.push(launch);
        }
        found
    }

    fn merge(&self, locals: Vec<RankLaunches>) -> LaunchesAnswer {
        LaunchesAnswer { ranks: locals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    #[test]
    fn a_graph_launch_counts_for_each_of_its_kernels() {
        let loaded = trace()
            .call(1, 100..110)
            .kernel("graph a", 7, 105..106, 1)
            .kernel("graph b", 7, 300..350, 1)
            .kernel("unlaunched", 7, 400..450, None)
            .build();
        let answer = loaded.ask(&Launches { runtime_cutoff: Ns(10), delay_cutoff: Ns(100) });
        let rank = &answer.ranks[0];
        let rows: Vec<_> =
            rank.launches.iter().map(|l| (l.name.as_str(), l.cpu_ns.0, l.gpu_ns.0, l.delay_ns.0)).collect();
        assert_eq!(rows, [("graph a", 10, 1, 0), ("graph b", 10, 50, 190)]);
        assert_eq!(
            rank.summary,
            LaunchSummary { count: 2, short_kernels: 1, runtime_outliers: 0, delay_outliers: 1 }
        );
    }
}
