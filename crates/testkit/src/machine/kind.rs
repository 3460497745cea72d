//! The kinds of jobs there are.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobKind {
    Training,
    /// Small kernels: the host is what takes time.
    Inference,
    /// The host is so far ahead that its launches block.
    GpuBound,
    Copies,
    Streams,
    Distributed,
    Graphs,
    /// Several ranks, of which only one was recorded.
    OneRank,
}

pub const JOB_KINDS: [JobKind; 8] = [
    JobKind::Training,
    JobKind::Inference,
    JobKind::GpuBound,
    JobKind::Copies,
    JobKind::Streams,
    JobKind::Distributed,
    JobKind::Graphs,
    JobKind::OneRank,
];

impl JobKind {
    pub(super) fn has_several_ranks(self) -> bool {
        matches!(self, JobKind::Distributed | JobKind::OneRank)
    }

    pub fn label(self) -> &'static str {
        match self {
            JobKind::Training => "training",
            JobKind::Inference => "inference, host-bound",
            JobKind::GpuBound => "queue full",
            JobKind::Copies => "copies",
            JobKind::Streams => "several streams",
            JobKind::Distributed => "several ranks",
            JobKind::Graphs => "CUDA graphs",
            JobKind::OneRank => "one rank of several",
        }
    }
}
