//! What can be planted, and how it is named in the truth.

use serde::Serialize;

/// Why the host kept the GPU waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum StallCause {
    /// `stream.synchronize()`: the host sits in `cudaStreamSynchronize`.
    StreamSynchronize,
    /// `torch.cuda.synchronize()`: the host sits in `cudaDeviceSynchronize`.
    DeviceSynchronize,
    /// `tensor.item()`: a copy to the host and a wait for it, both inside `aten::item`.
    Item,
    /// A copy from pageable memory in `cudaMemcpy`, which returns once it is done. The GPU is not idle but copying.
    BlockingCopy,
    /// The allocator gives memory back and asks for more: `cudaFree`, which waits for the device, and `cudaMalloc`.
    Malloc,
    /// Python's garbage collector.
    GarbageCollection,
    /// `torch.compile` compiles again.
    Recompilation,
    /// Long Python functions with a small kernel now and then.
    Python,
}

impl StallCause {
    pub const ALL: [StallCause; 8] = [
        StallCause::StreamSynchronize,
        StallCause::DeviceSynchronize,
        StallCause::Item,
        StallCause::BlockingCopy,
        StallCause::Malloc,
        StallCause::GarbageCollection,
        StallCause::Recompilation,
        StallCause::Python,
    ];

    fn code(self) -> &'static str {
        match self {
            StallCause::StreamSynchronize => "host_bound_stream_synchronize",
            StallCause::DeviceSynchronize => "host_bound_device_synchronize",
            StallCause::Item => "host_bound_item",
            StallCause::BlockingCopy => "host_bound_blocking_copy",
            StallCause::Malloc => "host_bound_malloc",
            StallCause::GarbageCollection => "host_bound_garbage_collection",
            StallCause::Recompilation => "host_bound_recompilation",
            StallCause::Python => "host_bound_python",
        }
    }
}

/// Which rank and which `ProfilerStep#` a fault touches; none means all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Extent {
    pub rank: Option<u32>,
    pub step: Option<u32>,
}

impl Extent {
    pub const EVERYWHERE: Extent = Extent { rank: None, step: None };

    /// One step of one rank.
    pub fn at(rank: u32, step: u32) -> Extent {
        Extent { rank: Some(rank), step: Some(step) }
    }

    /// Every step of one rank.
    pub fn rank(rank: u32) -> Extent {
        Extent { rank: Some(rank), step: None }
    }

    pub fn covers(&self, rank: u32, step: u32) -> bool {
        self.rank.is_none_or(|only| only == rank) && self.step.is_none_or(|only| only == step)
    }
}

/// One thing planted in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Fault {
    /// Compute kernels of a rank take `percent` of their normal time.
    SlowCompute { rank: u32, percent: u32 },
    /// Host work of a rank takes `percent` of its normal time.
    SlowHost { rank: u32, percent: u32 },
    /// The rank's file is not among those written.
    MissingFile { rank: u32 },
    /// Gradients are reduced after the backward pass.
    ExposedAllReduce,
    /// The host is held up before every block of the forward pass.
    HostBound { at: Extent, cause: StallCause, ns_per_block: i64 },
    /// The data loader takes longer at the start of a step.
    DataLoaderStall { at: Extent, ns: i64 },
    /// So many element-wise kernels of 2 to 3 µs, launched one by one, before every block of the forward pass.
    SmallKernels { at: Extent, per_block: u32 },
    /// The input is copied from pageable memory on the compute stream. Without the fault: from pinned memory, on a
    /// stream of its own.
    UnpinnedInput { at: Extent },
    /// Forward attention has fewer blocks than the device has multiprocessors and takes `percent` of its normal time.
    LowOccupancy { at: Extent, percent: u32 },
    /// Of the device's memory only so much is not reserved, and what is reserved is needed.
    MemoryNearLimit { at: Extent, free_bytes: i64 },
    /// Nearly all memory is reserved, much less is allocated, and before every block of the forward pass a request
    /// fails and is repeated after cached blocks have been given back.
    Fragmentation { at: Extent, retry_ns: i64 },
    /// Activation checkpointing: every block's forward pass runs again in the backward pass.
    Recomputation,
    /// In each step compute kernels take longer, by `percent` of their normal time, than in the step before.
    Drift { percent: u32 },
    /// From some step on compute kernels of a rank take `percent` of their normal time: its clocks were lowered.
    Throttled { rank: u32, from_step: u32, percent: u32 },
    /// A large block is allocated before and freed after one forward pass.
    AllocationSpike { rank: u32, step: u32, bytes: i64 },
    /// Launches of a rank are missing from its file.
    UnlinkedKernels { rank: u32, per_mille: u32 },
    /// Events of length zero.
    ZeroLength { rank: u32, per_step: u32 },
}

impl Fault {
    /// A short name, the same in every truth.
    pub fn code(&self) -> &'static str {
        match self {
            Fault::SlowCompute { .. } => "slow_compute",
            Fault::SlowHost { .. } => "slow_host",
            Fault::MissingFile { .. } => "missing_file",
            Fault::ExposedAllReduce => "exposed_all_reduce",
            Fault::HostBound { cause, .. } => cause.code(),
            Fault::DataLoaderStall { .. } => "data_loader_stall",
            Fault::SmallKernels { .. } => "small_kernels",
            Fault::UnpinnedInput { .. } => "unpinned_input",
            Fault::LowOccupancy { .. } => "low_occupancy",
            Fault::MemoryNearLimit { .. } => "memory_near_limit",
            Fault::Fragmentation { .. } => "fragmentation",
            Fault::Recomputation => "recomputation",
            Fault::Drift { .. } => "drift",
            Fault::Throttled { .. } => "throttled",
            Fault::AllocationSpike { .. } => "allocation_spike",
            Fault::UnlinkedKernels { .. } => "unlinked_kernels",
            Fault::ZeroLength { .. } => "zero_length",
        }
    }

    /// Where it is.
    pub fn extent(&self) -> Extent {
        match *self {
            Fault::ExposedAllReduce | Fault::Recomputation | Fault::Drift { .. } => Extent::EVERYWHERE,
            Fault::HostBound { at, .. }
            | Fault::DataLoaderStall { at, .. }
            | Fault::SmallKernels { at, .. }
            | Fault::UnpinnedInput { at }
            | Fault::LowOccupancy { at, .. }
            | Fault::MemoryNearLimit { at, .. }
            | Fault::Fragmentation { at, .. } => at,
            Fault::AllocationSpike { rank, step, .. } => Extent::at(rank, step),
            Fault::SlowCompute { rank, .. }
            | Fault::SlowHost { rank, .. }
            | Fault::Throttled { rank, .. }
            | Fault::MissingFile { rank }
            | Fault::UnlinkedKernels { rank, .. }
            | Fault::ZeroLength { rank, .. } => Extent::rank(rank),
        }
    }

    /// The rank it concerns; none if all.
    pub fn rank(&self) -> Option<u32> {
        self.extent().rank
    }

    /// The `ProfilerStep#` number it concerns; none if all.
    pub fn step(&self) -> Option<u32> {
        self.extent().step
    }

    /// Whether it changes when things happen, and not only what is recorded of them.
    pub(crate) fn costs_time(&self) -> bool {
        !matches!(
            self,
            Fault::MissingFile { .. }
                | Fault::AllocationSpike { .. }
                | Fault::MemoryNearLimit { .. }
                | Fault::UnlinkedKernels { .. }
                | Fault::ZeroLength { .. }
        )
    }
}
