//! What torch.compile did in one process, as its structured log (`TORCH_TRACE`) tells it.

use std::fmt;

use crate::{Ns, Quality, StrId, Strings};

/// One process's log.
#[derive(Debug, Default)]
pub struct CompileLog {
    pub rank: Option<u32>,
    pub torch_version: Option<String>,
    /// In the order in which they began.
    pub compilations: Vec<Compilation>,
    /// When what began and ended, in the order of the log.
    pub marks: Vec<Mark>,
    /// The names of the marks.
    pub names: Strings,
    /// Records of the log, of whatever sort.
    pub records: u64,
    pub quality: Vec<Quality>,
}

/// Which frame was compiled, and for the how many-th time: `[0/1]` in torch's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompileId {
    /// The run of compiled autograd that it belongs to.
    pub autograd: Option<i64>,
    pub frame: Option<i64>,
    pub compile: Option<i64>,
}

impl fmt::Display for CompileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame.zip(self.compile);
        match (self.autograd, frame) {
            (Some(autograd), Some((frame, compile))) => write!(f, "!{autograd}/{frame}/{compile}"),
            (Some(autograd), None) => write!(f, "!{autograd}"),
            (None, Some((frame, compile))) => write!(f, "{frame}/{compile}"),
            (None, None) => f.write_str("-"),
        }
    }
}

/// One frame compiled once, with however many attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compilation {
    pub id: CompileId,
    /// The frame's code: its function and where that begins.
    pub code: Place,
    /// Who called it, outermost first; the frame itself is last.
    pub stack: Vec<Place>,
    /// Analyses of the frame: one more for every restart.
    pub attempts: u32,
    /// Graphs and the code made from them, in order.
    pub pieces: Vec<Piece>,
    pub breaks: Vec<GraphBreak>,
    /// Which guard of which earlier compilation failed, so that this one was needed.
    pub recompile_reasons: Vec<String>,
    pub caches: Vec<(Cache, Lookup)>,
    pub metrics: CompileMetrics,
    /// The log says that it came to its end.
    pub ended: bool,
}

/// A line of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: Option<String>,
    pub line: Option<i64>,
    pub function: Option<String>,
}

/// What a compilation left behind on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Graph {
        kind: GraphKind,
        calls: Calls,
    },
    Code {
        /// Number and direction of the graph that it was made from, if the code says so.
        made_from: Option<(i64, Direction)>,
        /// Launches in it; none if the code is of a sort that cannot be counted.
        kernels: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// As the program was written.
    Dynamo,
    Joint,
    Forward,
    Backward,
    Inference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// The calls of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Operators that compute.
    pub operators: u64,
    /// Operators that only look at memory in another way: they launch nothing, compiled or not.
    pub views: u64,
}

/// Where the compiler could not follow the program and had to leave the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphBreak {
    pub reason: String,
    pub explanation: Option<String>,
    pub hints: Vec<String>,
    pub place: Place,
    /// The program's own frames, outermost first.
    pub stack: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Of inductor's output for a graph.
    FxGraph,
    /// Of the traced and compiled forward and backward graphs.
    Autograd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Hit,
    Miss,
    Bypass,
}

/// What torch itself measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileMetrics {
    pub whole: Option<Ns>,
    /// Part of the whole.
    pub backend: Option<Ns>,
    /// Part of the backend's.
    pub inductor: Option<Ns>,
    /// Part of inductor's.
    pub code_gen: Option<Ns>,
    pub guards: Option<i64>,
    pub fail_type: Option<String>,
    pub fail_reason: Option<String>,
    /// Why the analysis began anew.
    pub restart_reasons: Vec<String>,
}

/// The beginning or the end of something that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub name: StrId,
    pub at: Ns,
    pub edge: Edge,
    /// Whose it is, by place in the log's compilations; helping threads do not say.
    pub compilation: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Begin,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_torch_writes_them() {
        let frame = CompileId { frame: Some(3), compile: Some(1), ..CompileId::default() };
        assert_eq!(frame.to_string(), "3/1");
        assert_eq!(CompileId { autograd: Some(2), ..frame }.to_string(), "!2/3/1");
        assert_eq!(CompileId { autograd: Some(2), ..CompileId::default() }.to_string(), "!2");
        assert_eq!(CompileId::default().to_string(), "-");
    }
}
