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
