//! Exit codes, and what ends a command early.

use std::io;
use std::process::ExitCode;

use gpuscope_files::Clash;

/// What the program tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    pub const DONE: Exit = Exit(0);
    /// A check found something.
    pub const FOUND: Exit = Exit(1);
    pub const USAGE: Exit = Exit(2);
    /// An input could not be read.
    pub const UNREADABLE: Exit = Exit(3);
    pub const BUG: Exit = Exit(70);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Job(#[from] gpuscope_job::Error),

    #[error(transparent)]
    Bench(#[from] gpuscope_bench::Error),

    #[error("{message}")]
    Usage { message: String, hint: Option<String> },

    #[error("{path}: {message}")]
    Unreadable { path: String, message: String },

    #[error("{path}: cannot be written: {}", gpuscope_job::plain(source))]
    Unwritable { path: String, source: io::Error },

    #[error("standard output: {}", gpuscope_job::plain(.0))]
    Output(#[from] io::Error),
}

impl From<Clash> for Failure {
    fn from(clash: Clash) -> Failure {
        Failure::usage(clash.to_string(), "give another name")
    }
}

/// Inputs named one by one before the rest is counted.
const NAMED: usize = 10;

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, hint: &str) -> Failure {
        Failure::Usage { message: message.into(), hint: Some(hint.to_owned()) }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            _ if self.is_broken_pipe() => Exit::DONE,
            Failure::Job(error) if error.is_usage() => Exit::USAGE,
            Failure::Bench(error) if error.is_usage() => Exit::USAGE,
            Failure::Job(_) | Failure::Bench(_) | Failure::Unreadable { .. } => Exit::UNREADABLE,
            Failure::Usage { .. } | Failure::Unwritable { .. } | Failure::Output(_) => Exit::USAGE,
        }
    }

    /// Whoever read our output has seen enough.
    fn is_broken_pipe(&self) -> bool {
        match self {
            Failure::Output(source) | Failure::Job(gpuscope_job::Error::Unwritable { source, .. }) => {
                source.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }

    /// One line per thing that went wrong.
    pub(crate) fn messages(&self) -> Vec<String> {
        match self {
            Failure::Job(gpuscope_job::Error::NoneReadable(errors)) if !errors.is_empty() => {
                let mut lines: Vec<String> = errors.iter().take(NAMED).map(ToString::to_string).collect();
                if errors.len() > NAMED {
                    lines.push(format!("{} more inputs cannot be read either", errors.len() - NAMED));
                }
                lines
            }
            _ if self.is_broken_pipe() => Vec::new(),
            other => vec![other.to_string()],
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::Job(error) => error.hint().map(str::to_owned),
            Failure::Bench(error) => error.hint().map(str::to_owned),
            Failure::Usage { hint, .. } => hint.clone(),
            _ => None,
        }
    }
}
