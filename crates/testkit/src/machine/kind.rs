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
}

pub const JOB_KINDS: [JobKind; 7] = [
    JobKind::Training,
    JobKind::Inference,
    JobKind::GpuBound,
    JobKind::Copies,
    JobKind::Streams,
    JobKind::Distributed,
    JobKind::Graphs,
];

impl JobKind {
    pub fn label(self) -> &'static str {
        match self {
            JobKind::Training => "training",
            JobKind::Inference => "inference, host-bound",
            JobKind::GpuBound => "queue full",
            JobKind::Copies => "copies",
            JobKind::Streams => "several streams",
            JobKind::Distributed => "several ranks",
            JobKind::Graphs => "CUDA graphs",
        }
    }
}
