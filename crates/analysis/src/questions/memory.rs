//! How much memory was taken, when most, and by whom?
//!
//! `devices` rests on the `[memory]` events of a trace (`profile_memory=True`): what the allocator had given out
//! and what it had reserved, after each allocation and release. The peak is the first moment at which most was
//! given out, with what the allocating thread was doing then. Which allocations lived at that moment follows from
//! replaying all allocations and releases before it by address; what is missing in the sum was there before
//! recording began (parameters and optimizer state above all). An allocation's category is the part of training
//! in which it was made, by the events around it: `optimizer` under `Optimizer.step`, `backward` under autograd,
//! `data_loading` under a data loader, `forward` under any other operator or module, else `other`.
//!
//! `timeline` rests on torch's own `export_memory_timeline`, which knows what each tensor is for. Totals are taken
//! after all changes of one instant; what was there before recording has the time of the first change.

mod category;
mod events;
mod figures;
mod table;
mod timeline;

use gpuscope_trace::{Holds, Ns, Payload, View};
use serde::Serialize;

use crate::Question;

pub use category::{ByCategory, Category};
pub use timeline::{Timeline, TimelinePoint};

/// What a thread was doing when it asked for memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Site {
    pub operator: Option<String>,
    pub module: Option<String>,
    /// Python frames, the outermost first.
    pub stack: Vec<String>,
    pub step: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveAllocation {
    pub bytes: i64,
    pub time_ns: Ns,
    pub category: Category,
    #[serde(flatten)]
    pub site: Site,
}

/// Bytes alive at the peak, by the operator that asked for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperatorMemory {
    pub operator: Option<String>,
    pub count: u64,
    pub bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peak {
    pub time_ns: Ns,
    pub allocated_bytes: i64,
    pub reserved_bytes: Option<i64>,
    /// Reserved and not given out: held by the allocator, of no use to anybody else.
    pub fragmentation_bytes: Option<i64>,
    #[serde(flatten)]
    pub site: Site,
    pub category_bytes: ByCategory<Category, { Category::ALL.len() }>,
    pub operators: Vec<OperatorMemory>,
    /// The largest that were alive, largest first.
    pub largest: Vec<LiveAllocation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPoint {
    pub time_ns: Ns,
    pub allocated_bytes: i64,
    pub reserved_bytes: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceMemory {
    pub rank: u32,
    /// `cuda:0`, `cpu`
    pub device: String,
    /// What the device has, if the trace says so.
    pub capacity_bytes: Option<i64>,
    pub allocations: u64,
    pub releases: u64,
    pub first_bytes: i64,
    pub last_bytes: i64,
    pub peak_reserved_bytes: Option<i64>,
    pub peak: Peak,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<MemoryPoint>>,
}

/// A request that could not be met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutOfMemory {
    pub rank: u32,
    pub device: String,
    pub time_ns: Ns,
    pub requested_bytes: i64,
    pub allocated_bytes: Option<i64>,
    pub reserved_bytes: Option<i64>,
    #[serde(flatten)]
    pub site: Site,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryAnswer {
    pub devices: Vec<DeviceMemory>,
    pub out_of_memory: Vec<OutOfMemory>,
    /// Of several memory timelines, the one with the highest peak.
    pub timeline: Option<Timeline>,
    pub timelines: Vec<Timeline>,
}

impl MemoryAnswer {
    /// Nothing about memory was recorded.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty() && self.timelines.is_empty() && self.out_of_memory.is_empty()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Keep what was taken after every change.
    pub series: bool,
}

impl Question for Memory {
    type Local = MemoryAnswer;
    type Answer = MemoryAnswer;

    fn reads(&self) -> &'static [Holds] {
        &[Holds::Events, Holds::MemoryTimeline]
    }

    fn local(&self, rank: u32, view: View<'_>) -> MemoryAnswer {
        let timeline = match &view.trace.payload {
            Some(Payload::MemoryTimeline(recorded)) => Timeline::of(rank, recorded, self.series),
            _ => None,
        };
        let (devices, out_of_memory) = events::of(rank, view, self.series);
        MemoryAnswer { devices, out_of_memory, timeline: None, timelines: timeline.into_iter().collect() }
    }

    fn merge(&self, locals: Vec<MemoryAnswer>) -> MemoryAnswer {
        let mut all = MemoryAnswer::default();
        for local in locals {
            all.devices.extend(local.devices);
            all.out_of_memory.extend(local.out_of_memory);
            all.timelines.extend(local.timelines);
        }
        let highest = all.timelines.iter().reduce(|a, b| if b.peak_bytes > a.peak_bytes { b } else { a });
        all.timeline = highest.cloned();
        all
    }
}
