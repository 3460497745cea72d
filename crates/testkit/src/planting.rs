//! What goes wrong in a plan: one method per fault, so that a test reads as what it planted.

use crate::fault::{Extent, Fault, StallCause};
use crate::plan::Plan;

impl Plan {
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Plan {
        self.faults.push(fault);
        self
    }

    /// One rank whose compute kernels take `percent` of their normal time.
    #[must_use]
    pub fn with_straggler(self, rank: u32, percent: u32) -> Plan {
        self.with_fault(Fault::SlowCompute { rank, percent })
    }

    /// One rank whose host work takes `percent` of its normal time.
    #[must_use]
    pub fn with_slow_host(self, rank: u32, percent: u32) -> Plan {
        self.with_fault(Fault::SlowHost { rank, percent })
    }

    /// A straggler whose own file is missing from the job.
    #[must_use]
    pub fn with_missing_straggler(self, rank: u32, percent: u32) -> Plan {
        self.with_straggler(rank, percent).with_fault(Fault::MissingFile { rank })
    }

    /// A slow rank in the first of two pipeline stages: the rank it feeds is late among its own replicas through no
    /// fault of its own.
    #[must_use]
    pub fn with_inherited_lateness(self, percent: u32) -> Plan {
        let microbatches = self.microbatches;
        self.pipeline(2, microbatches).with_straggler(0, percent)
    }

    /// All gradients are reduced after the backward pass instead of during it.
    #[must_use]
    pub fn with_exposed_all_reduce(self) -> Plan {
        self.with_fault(Fault::ExposedAllReduce)
    }

    /// Before every block of one step's forward pass the host is held up.
    #[must_use]
    pub fn with_host_bound_step(self, rank: u32, step: u32, cause: StallCause, ns_per_block: i64) -> Plan {
        self.with_fault(Fault::HostBound { at: Extent::at(rank, step), cause, ns_per_block })
    }

    /// Before every block of every forward pass on every rank the host is held up.
    #[must_use]
    pub fn with_host_stalls(self, cause: StallCause, ns_per_block: i64) -> Plan {
        self.with_fault(Fault::HostBound { at: Extent::EVERYWHERE, cause, ns_per_block })
    }

    /// The data loader takes `ns` longer at the start of one step.
    #[must_use]
    pub fn with_data_loader_stall(self, rank: u32, step: u32, ns: i64) -> Plan {
        self.with_fault(Fault::DataLoaderStall { at: Extent::at(rank, step), ns })
    }

    /// The data loader takes `ns` longer at the start of every step on every rank.
    #[must_use]
    pub fn with_slow_data_loader(self, ns: i64) -> Plan {
        self.with_fault(Fault::DataLoaderStall { at: Extent::EVERYWHERE, ns })
    }

    /// So many tiny element-wise kernels before every block of every forward pass: worth fusing or capturing. The
    /// host takes three times as long for one as the GPU; about 300 use up its lead in a [`Plan::light`] job.
    #[must_use]
    pub fn with_small_kernels(self, per_block: u32) -> Plan {
        self.with_fault(Fault::SmallKernels { at: Extent::EVERYWHERE, per_block })
    }

    /// Every step copies an input of so many bytes from memory that is not pinned.
    #[must_use]
    pub fn with_unpinned_input(mut self, bytes: i64) -> Plan {
        self.input_bytes = bytes;
        self.with_fault(Fault::UnpinnedInput { at: Extent::EVERYWHERE })
    }

    /// Attention runs on a quarter of the multiprocessors and takes `percent` of its normal time.
    #[must_use]
    pub fn with_low_occupancy(self, percent: u32) -> Plan {
        self.with_fault(Fault::LowOccupancy { at: Extent::EVERYWHERE, percent })
    }

    /// A rank needs all of its device's memory but so much.
    #[must_use]
    pub fn with_memory_near_limit(self, rank: u32, free_bytes: i64) -> Plan {
        self.with_fault(Fault::MemoryNearLimit { at: Extent::rank(rank), free_bytes })
    }

    /// Memory is reserved in pieces too small to be of use, so that before every block a request has to be repeated.
    #[must_use]
    pub fn with_fragmentation(self, rank: u32, retry_ns: i64) -> Plan {
        self.with_fault(Fault::Fragmentation { at: Extent::rank(rank), retry_ns })
    }

    /// Every block's forward pass runs again in the backward pass.
    #[must_use]
    pub fn with_recomputation(self) -> Plan {
        self.with_fault(Fault::Recomputation)
    }

    /// Each step computes `percent` longer than the one before.
    #[must_use]
    pub fn with_drift(self, percent: u32) -> Plan {
        self.with_fault(Fault::Drift { percent })
    }

    /// One rank's clocks are lowered at some step: from then on compute kernels take `percent` of their normal time.
    #[must_use]
    pub fn with_throttling(self, rank: u32, from_step: u32, percent: u32) -> Plan {
        self.with_fault(Fault::Throttled { rank, from_step, percent })
    }

    /// One large allocation lives through the forward pass of one step.
    #[must_use]
    pub fn with_allocation_spike(self, rank: u32, step: u32, bytes: i64) -> Plan {
        self.with_fault(Fault::AllocationSpike { rank, step, bytes })
    }

    /// That many of a thousand launches of a rank were not recorded.
    #[must_use]
    pub fn with_unlinked_kernels(self, rank: u32, per_mille: u32) -> Plan {
        self.with_fault(Fault::UnlinkedKernels { rank, per_mille })
    }

    /// Kernels and operators of length zero in every step of a rank.
    #[must_use]
    pub fn with_zero_length_events(self, rank: u32, per_step: u32) -> Plan {
        self.with_fault(Fault::ZeroLength { rank, per_step })
    }
}
