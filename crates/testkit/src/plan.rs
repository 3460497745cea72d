//! What to simulate: the size of the job, how it is parallelised, and what goes wrong in it.
//!
//! A plan is plain data, so that a test can say in one expression what it planted and print it when it fails.

use serde::Serialize;

use crate::change::Change;
use crate::fault::Fault;

/// How much a profiler recorded around the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Detail {
    /// Python frames, modules, view operators, shapes, memory and flows: everything switched on.
    Full,
    /// Operators, runtime calls and GPU work only.
    Lean,
    /// As lean, with one linear layer and one activation for a block: for traces of a hundred events.
    Tiny,
}

/// How the ranks share the work of the gradients and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Sharding {
    /// Every rank holds the whole model; gradients are all-reduced in buckets.
    Replicated,
    /// Weights are all-gathered before use and gradients reduce-scattered.
    Sharded,
}

/// How one rank's clock differs from the true time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clock {
    pub rank: u32,
    /// Added to every time of the rank.
    pub offset_ns: i64,
    /// Nanoseconds gained per second since the job's start.
    pub drift_ppb: i64,
}

impl Clock {
    /// The exact clock of a rank.
    pub fn exact(rank: u32) -> Clock {
        Clock { rank, offset_ns: 0, drift_ppb: 0 }
    }

    /// What this clock shows at a true time. Never decreasing, so the order of events survives.
    pub fn shows(&self, true_ns: i64) -> i64 {
        let elapsed = i128::from(true_ns - JOB_START_NS);
        let gained = (elapsed * i128::from(self.drift_ppb)).div_euclid(1_000_000_000);
        true_ns + self.offset_ns + gained as i64
    }
}

/// The true time at which the job starts, counted from `BASE_TIME_NS`: the size of real Kineto times.
pub const JOB_START_NS: i64 = 1_428_625_731_896_179;
/// The `baseTimeNanoseconds` of every written file.
pub const BASE_TIME_NS: i64 = 1_751_410_836_000_000_000;

/// A job to simulate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of its own")]
pub struct Plan {
    pub seed: u64,
    pub ranks: u32,
    pub steps: u32,
    /// The number in the first `ProfilerStep#N`.
    pub first_step: u32,
    /// Transformer blocks of the whole model; each pipeline stage has its share.
    pub layers: u32,
    pub hidden: u64,
    pub batch: u64,
    pub sequence: u64,
    /// Pipeline stages; `ranks` is rounded down to a multiple of it.
    pub stages: u32,
    /// Ranks that share each block and add up its activations; ranks are rounded down to a multiple of it and `stages`.
    pub tensor_parallel: u32,
    /// Whether the ranks of a stage hold different experts and exchange tokens.
    pub experts: bool,
    /// Micro-batches per step and pipeline.
    pub microbatches: u32,
    /// Transformer blocks whose gradients share one all-reduce.
    pub layers_per_bucket: u32,
    /// Bytes of a step's input; 0 for one number per token.
    pub input_bytes: i64,
    pub sharding: Sharding,
    pub detail: Detail,
    /// Whether `cuda_sync` rows are recorded.
    pub sync_rows: bool,
    /// Host time per step that the profiler's own work takes, with a row of category `overhead`; 0 for none.
    pub overhead_ns_per_step: i64,
    /// Whether the forward pass is replayed from a CUDA graph.
    pub cuda_graph: bool,
    /// Whether the host never waits for the GPU, so that its lead grows from step to step.
    pub host_runs_ahead: bool,
    pub clocks: Vec<Clock>,
    pub faults: Vec<Fault>,
    /// What is otherwise than in the job as it was.
    pub changes: Vec<Change>,
}

impl Plan {
    /// Eight ranks that train well: the GPU always has work queued, gradients are reduced while the backward pass runs.
    pub fn healthy() -> Plan {
        Plan {
            seed: 1,
            ranks: 8,
            steps: 6,
            first_step: 10,
            layers: 12,
            hidden: 4096,
            batch: 2,
            sequence: 2048,
            stages: 1,
            tensor_parallel: 1,
            experts: false,
            microbatches: 4,
            layers_per_bucket: 1,
            input_bytes: 0,
            sharding: Sharding::Replicated,
            detail: Detail::Full,
            sync_rows: false,
            overhead_ns_per_step: 0,
            cuda_graph: false,
            host_runs_ahead: false,
            clocks: Vec::new(),
            faults: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// As healthy, with a model so small that the host is only a little ahead of the GPU: what holds the host up shows
    /// at once.
    pub fn light() -> Plan {
        Plan { hidden: 2048, batch: 1, sequence: 2048, ..Plan::healthy() }
    }

    /// Two ranks, three steps, two blocks: small enough for brute force.
    pub fn small() -> Plan {
        Plan { ranks: 2, steps: 3, layers: 2, ..Plan::healthy() }
    }

    #[must_use]
    pub fn seed(mut self, seed: u64) -> Plan {
        self.seed = seed;
        self
    }

    #[must_use]
    pub fn ranks(mut self, ranks: u32) -> Plan {
        self.ranks = ranks.max(1);
        self
    }

    #[must_use]
    pub fn steps(mut self, steps: u32) -> Plan {
        self.steps = steps;
        self
    }

    #[must_use]
    pub fn layers(mut self, layers: u32) -> Plan {
        self.layers = layers.max(1);
        self
    }

    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Plan {
        self.detail = detail;
        self
    }

    /// Splits the model over pipeline stages whose sends and receives wait for each other.
    #[must_use]
    pub fn pipeline(mut self, stages: u32, microbatches: u32) -> Plan {
        self.stages = stages.max(1);
        self.microbatches = microbatches.max(1);
        self
    }

    /// Splits every block over so many ranks, which add up their activations twice in each direction. Nothing can run
    /// meanwhile; the truth says as `exposed_tensor_parallel` what that costs.
    #[must_use]
    pub fn tensor_parallel(mut self, size: u32) -> Plan {
        self.tensor_parallel = size.max(1);
        self
    }

    /// Shards the weights: all-gathers before use, reduce-scatters of the gradients.
    #[must_use]
    pub fn sharded(mut self) -> Plan {
        self.sharding = Sharding::Sharded;
        self
    }

    /// Records `cuda_sync` rows: which call waited for which, so that every start of GPU work can be explained. Without
    /// them there are only the runtime calls, which do not name their streams.
    #[must_use]
    pub fn with_sync_rows(mut self) -> Plan {
        self.sync_rows = true;
        self
    }

    /// The profiler's own work takes host time in every step, and says so.
    #[must_use]
    pub fn with_profiler_overhead(mut self, ns_per_step: i64) -> Plan {
        self.overhead_ns_per_step = ns_per_step;
        self
    }

    /// Replays the forward pass from a CUDA graph.
    #[must_use]
    pub fn with_cuda_graph(mut self) -> Plan {
        self.cuda_graph = true;
        self
    }

    /// The host never waits for the GPU: its lead grows with every step.
    #[must_use]
    pub fn with_host_running_ahead(mut self) -> Plan {
        self.host_runs_ahead = true;
        self
    }

    /// Gives one rank a clock that is off and drifts.
    #[must_use]
    pub fn with_clock(mut self, rank: u32, offset_ns: i64, drift_ppb: i64) -> Plan {
        self.clocks.retain(|clock| clock.rank != rank);
        self.clocks.push(Clock { rank, offset_ns, drift_ppb });
        self
    }

    /// The clock of a rank.
    pub fn clock_of(&self, rank: u32) -> Clock {
        self.clocks.iter().copied().find(|clock| clock.rank == rank).unwrap_or(Clock::exact(rank))
    }

    /// Whether the rank's file is written by `write_job`.
    pub fn has_file(&self, rank: u32) -> bool {
        !self
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::MissingFile { rank: missing } if *missing == rank))
    }

    pub(crate) fn stage_count(&self) -> u32 {
        self.stages.clamp(1, self.ranks.max(1))
    }

    /// Ranks that hold the same stage.
    pub(crate) fn replicas(&self) -> u32 {
        let tensor = self.tensor_size();
        (self.ranks / self.stage_count() / tensor).max(1) * tensor
    }

    /// Ranks that share each block.
    pub(crate) fn tensor_size(&self) -> u32 {
        self.tensor_parallel.clamp(1, (self.ranks / self.stage_count()).max(1))
    }

    /// The ranks simulated: every stage has the same number.
    pub(crate) fn world(&self) -> u32 {
        self.replicas() * self.stage_count()
    }

    pub(crate) fn stage_of(&self, rank: u32) -> u32 {
        rank / self.replicas()
    }

    pub(crate) fn layers_of_stage(&self, stage: u32) -> std::ops::Range<u32> {
        let stages = self.stage_count();
        (self.layers * stage / stages)..(self.layers * (stage + 1) / stages)
    }
}
