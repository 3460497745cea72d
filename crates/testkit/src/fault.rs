//! What can be planted, and how it is named in the truth.

use serde::Serialize;

/// Why the host kept the GPU waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum StallCause {
    /// `torch.cuda.synchronize` style: `cudaStreamSynchronize`, then host work.
    StreamSynchronize,
    /// `tensor.item()`: a copy to the host and a synchronisation, then host work.
    Item,
    /// The allocator gives memory back and asks for more: `cudaFree` and `cudaMalloc`.
    Malloc,
    /// Python's garbage collector.
    GarbageCollection,
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
    /// The host is held up before every block of one forward pass.
    HostBound { rank: u32, step: u32, cause: StallCause, ns_per_block: i64 },
    /// The data loader takes longer at the start of one step.
    DataLoaderStall { rank: u32, step: u32, ns: i64 },
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
            Fault::HostBound { cause, .. } => match cause {
                StallCause::StreamSynchronize => "host_bound_stream_synchronize",
                StallCause::Item => "host_bound_item",
                StallCause::Malloc => "host_bound_malloc",
                StallCause::GarbageCollection => "host_bound_garbage_collection",
            },
            Fault::DataLoaderStall { .. } => "data_loader_stall",
            Fault::AllocationSpike { .. } => "allocation_spike",
            Fault::UnlinkedKernels { .. } => "unlinked_kernels",
            Fault::ZeroLength { .. } => "zero_length",
        }
    }

    /// The rank it concerns; none if all.
    pub fn rank(&self) -> Option<u32> {
        match *self {
            Fault::ExposedAllReduce => None,
            Fault::SlowCompute { rank, .. }
            | Fault::SlowHost { rank, .. }
            | Fault::MissingFile { rank }
            | Fault::HostBound { rank, .. }
            | Fault::DataLoaderStall { rank, .. }
            | Fault::AllocationSpike { rank, .. }
            | Fault::UnlinkedKernels { rank, .. }
            | Fault::ZeroLength { rank, .. } => Some(rank),
        }
    }

    /// The `ProfilerStep#` number it concerns; none if all.
    pub fn step(&self) -> Option<u32> {
        match *self {
            Fault::HostBound { step, .. }
            | Fault::DataLoaderStall { step, .. }
            | Fault::AllocationSpike { step, .. } => Some(step),
            _ => None,
        }
    }

    /// Whether it changes when things happen, and not only what is recorded of them.
    pub(crate) fn costs_time(&self) -> bool {
        matches!(
            self,
            Fault::SlowCompute { .. }
                | Fault::SlowHost { .. }
                | Fault::ExposedAllReduce
                | Fault::HostBound { .. }
                | Fault::DataLoaderStall { .. }
        )
    }
}
