//! What can keep a run from being answered. Every message names the input and says what was expected there.

use std::io;
use std::sync::Arc;

use gpuscope_formats::ReadError;
use gpuscope_trace::Holds;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {}", plain(.source))]
    Io { path: String, source: io::Error },

    #[error("{path}: {source}")]
    NotATrace { path: String, source: ReadError },

    #[error("{path}: {source}")]
    TooLarge { path: String, source: ReadError },

    /// A format that is known and not read.
    #[error("{path}: this is {title}; {instead}")]
    NotRead { path: String, title: &'static str, instead: String },

    #[error("{path}: {source}")]
    Damaged { path: String, source: ReadError },

    #[error("{path}: {source}")]
    NotALog { path: String, source: ReadError },

    /// Nothing that the question is about.
    #[error("{path}: expected {}, found {title}", wanted(.reads))]
    OtherContents { path: String, title: &'static str, holds: Holds, reads: &'static [Holds] },

    #[error("{path}: expected {expected}")]
    Archive { path: String, expected: String },

    #[error("{path}: expected at least one trace in this folder, found {found}")]
    NoTraces { path: String, found: String },

    #[error("{path}: expected at least one log of torch.compile in this folder, found {found}")]
    NoLogs { path: String, found: String },

    #[error("{pattern}: no file matches this pattern")]
    NoMatch { pattern: String },

    #[error("{pattern}: expected a file, a folder or a pattern; {reason}")]
    Pattern { pattern: String, reason: String },

    #[error("{path}: expected a file, a folder or a pipe, found a device")]
    Device { path: String },

    /// Nothing at all could be read; one error per input.
    #[error("{}", first(.0))]
    NoneReadable(Vec<Arc<Error>>),

    #[error("--rank {wanted}: no input is of that rank; there {present}")]
    NoSuchRank { wanted: u32, present: String },

    #[error("--step {wanted}: no such step; {present}")]
    NoSuchStep { wanted: String, present: String },

    #[error("--rank-regex {pattern}: {reason}")]
    RankRegex { pattern: String, reason: String },

    #[error("--select-capture {wanted}: no such capture; there {present}")]
    NoSuchCapture { wanted: String, present: String },

    #[error("{path}: cannot be written: {}", plain(.source))]
    Unwritable { path: String, source: io::Error },

    #[error(transparent)]
    Clash(#[from] gpuscope_files::Clash),

    #[error("{path}: the inputs are in this folder, and the next reading would take both")]
    AmongInputs { path: String },

    /// Whoever asked no longer wants the answer.
    #[error("stopped")]
    Stopped,

    #[error("{count} ranks do not fit in one file")]
    SeveralRanks { count: usize },
}

impl Error {
    pub(crate) fn io(path: &str, source: io::Error) -> Error {
        Error::Io { path: path.to_owned(), source }
    }

    pub(crate) fn read(path: &str, source: ReadError) -> Error {
        match source {
            ReadError::Io(source) => Error::io(path, source),
            source @ ReadError::NotATrace { .. } => Error::NotATrace { path: path.to_owned(), source },
            source @ ReadError::TooLarge { .. } => Error::TooLarge { path: path.to_owned(), source },
            ReadError::NotRead { title, instead } => {
                let instead = instead.replace("FILE", path);
                Error::NotRead { path: path.to_owned(), title, instead }
            }
            source @ ReadError::Damaged { .. } => Error::Damaged { path: path.to_owned(), source },
            source @ ReadError::NotALog => Error::NotALog { path: path.to_owned(), source },
        }
    }

    /// Whether the request was wrong rather than the data.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::NoSuchRank { .. }
                | Error::NoSuchStep { .. }
                | Error::RankRegex { .. }
                | Error::NoSuchCapture { .. }
                | Error::Unwritable { .. }
                | Error::Clash(_)
                | Error::AmongInputs { .. }
                | Error::SeveralRanks { .. }
        )
    }

    /// The way out, where there is a usual one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("paths are taken from the current folder; quote a glob to have it matched here")
            }
            Error::Io { .. }
            | Error::NoSuchRank { .. }
            | Error::NoSuchStep { .. }
            | Error::NoSuchCapture { .. }
            | Error::Unwritable { .. }
            | Error::NotRead { .. }
            | Error::Damaged { .. }
            | Error::Stopped => None,
            Error::Clash(_) => Some("give another name"),
            Error::TooLarge { .. } => Some(
                "--memory allows more, such as --memory 32G; what is that large may also be no trace at all",
            ),
            Error::AmongInputs { .. } => Some("give a folder of its own: -o converted/"),
            Error::SeveralRanks { .. } => Some("give a folder (-o converted/), or one rank (--rank 0)"),
            Error::NotATrace { .. } | Error::Archive { .. } => Some(
                "gpuscope reads traces of the PyTorch profiler and JAX (JSON), exports of Nsight Systems (SQLite) and \
                 pages of Nsight Compute (CSV), plain, gzip or zstd",
            ),
            Error::NotALog { .. }
            | Error::NoLogs { .. }
            | Error::OtherContents { reads: [Holds::CompileLog], .. } => {
                Some("torch writes such logs into a folder: TORCH_TRACE=logs python train.py")
            }
            Error::OtherContents { holds, .. } => Some(match holds {
                Holds::Events => "`gpuscope analyze` reads it",
                Holds::MemoryTimeline => "`gpuscope memory` reads it",
                Holds::CompileLog => "`gpuscope compile` reads it",
                Holds::Metrics => "`gpuscope counters` reads it",
                Holds::KernelSums => "`gpuscope kernels` reads it",
            }),
            Error::NoTraces { .. } | Error::NoMatch { .. } | Error::Pattern { .. } | Error::Device { .. } => {
                Some("give a trace, a folder of traces (one per rank), or `-` for standard input")
            }
            Error::NoneReadable(errors) => errors.first().and_then(|error| error.hint()),
            Error::RankRegex { .. } => Some("the first group is the rank: --rank-regex 'worker(\\d+)'"),
        }
    }
}

/// `a trace or a memory timeline`
fn wanted(reads: &[Holds]) -> String {
    let name = |holds: &Holds| match holds {
        Holds::Events => "a trace",
        Holds::MemoryTimeline => "a memory timeline",
        Holds::CompileLog => "a log of torch.compile",
        Holds::Metrics => "metrics of Nsight Compute",
        Holds::KernelSums => "statistics of nsys",
    };
    reads.iter().map(name).collect::<Vec<_>>().join(" or ")
}

/// The words of an I/O error without the number of the system's code.
pub fn plain(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let text = source.to_string();
            text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
        }
    }
}

fn first(errors: &[Arc<Error>]) -> String {
    match errors {
        [] => "there is nothing to read".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more inputs that cannot be read)", rest.len()),
    }
}
