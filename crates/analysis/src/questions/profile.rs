//! One recording at a glance: how long it took, on the GPU and on the host, how much memory, which kernels, and what to do.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Ns, View};
use serde::Serialize;

use crate::Question;
use crate::hta::table::{advice, top_kernels};
use crate::hta::{Hta, HtaAnswer, TopKernel};
use crate::memory::{Memory, MemoryAnswer};
use crate::timeline::{RankTimeline, Timeline};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankProfile {
    pub rank: u32,
    /// From the first start to the last end of any duration event.
    pub total_ns: Ns,
    /// Any GPU event running.
    pub gpu_ns: Ns,
    /// Any thread in an operator or a call that does not wait.
    pub cpu_ns: Ns,
    /// Of the device with the highest peak; none if memory was not recorded.
    pub peak_memory_bytes: Option<i64>,
    /// On that device at the end.
    pub allocated_memory_bytes: Option<i64>,
    /// The most that the allocator held there.
    pub reserved_memory_bytes: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileAnswer {
    pub ranks: Vec<RankProfile>,
    pub kernels: Vec<TopKernel>,
    pub bottlenecks: Vec<String>,
    pub recommendations: Vec<String>,
}

impl Tabular for ProfileAnswer {
    fn tables(&self) -> Vec<Table> {
        let ranks = Table::of("ranks", "The recording", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("total_ns", Unit::Ns, "From the first start to the last end", |r| r.total_ns.0)
            .int("gpu_ns", Unit::Ns, "Any GPU event running", |r| r.gpu_ns.0)
            .int("cpu_ns", Unit::Ns, "Any thread in an operator or a call that does not wait", |r| r.cpu_ns.0)
            .int("peak_memory_bytes", Unit::Bytes, "Most that was given out at once", |r| r.peak_memory_bytes)
            .int("allocated_memory_bytes", Unit::Bytes, "Given out at the end", |r| r.allocated_memory_bytes)
            .int("reserved_memory_bytes", Unit::Bytes, "Most that the allocator held", |r| {
                r.reserved_memory_bytes
            })
            .build();
        let kernels = top_kernels("kernels", "Largest kernels", &self.kernels);
        let advice = advice("What holds it up", &self.bottlenecks, &self.recommendations);
        vec![ranks, kernels, advice]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Profile;

#[derive(Debug)]
pub struct RankParts {
    timeline: <Timeline as Question>::Local,
    memory: <Memory as Question>::Local,
    report: <Hta as Question>::Local,
}

impl Question for Profile {
    type Local = RankParts;
    type Answer = ProfileAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankParts {
        RankParts {
            timeline: Timeline::default().local(rank, view),
            memory: Memory { series: false }.local(rank, view),
            report: Hta.local(rank, view),
        }
    }

    fn merge(&self, locals: Vec<RankParts>) -> ProfileAnswer {
        let (mut timelines, mut memories, mut reports) = (Vec::new(), Vec::new(), Vec::new());
        for local in locals {
            timelines.push(local.timeline);
            memories.push(local.memory);
            reports.push(local.report);
        }
        let memory = Memory { series: false }.merge(memories);
        let timeline = Timeline::default().merge(timelines);
        let HtaAnswer { top_kernels, bottlenecks, recommendations, .. } = Hta.merge(reports);
        ProfileAnswer {
            ranks: timeline.ranks.iter().map(|rank| profile(rank, &memory)).collect(),
            kernels: top_kernels,
            bottlenecks,
            recommendations,
        }
    }
}

fn profile(rank: &RankTimeline, memory: &MemoryAnswer) -> RankProfile {
    let devices = memory.devices.iter().filter(|device| device.rank == rank.rank);
    // What the host took is not what people run out of, unless there is nothing else.
    let most = devices.max_by_key(|device| (device.device != "cpu", device.peak.allocated_bytes));
    RankProfile {
        rank: rank.rank,
        total_ns: rank.total_ns,
        gpu_ns: rank.gpu_active_ns,
        cpu_ns: rank.cpu_active_ns,
        peak_memory_bytes: most.map(|device| device.peak.allocated_bytes),
        allocated_memory_bytes: most.map(|device| device.last_bytes),
        reserved_memory_bytes: most.and_then(|device| device.peak_reserved_bytes),
    }
}
