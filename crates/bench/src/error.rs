//! What can go wrong with measured runs and their history. Every message names the file.

use std::io;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}")]
    Unreadable { path: String, source: io::Error },

    #[error("{path}: expected measured benchmarks as `gpuscope bench run` writes them; {source}")]
    NotMeasured { path: String, source: serde_json::Error },

    #[error("{path}: `{key}`: expected {what}")]
    Unsound { path: String, key: String, what: &'static str },

    #[error("{path}: expected a history of gpuscope; {reason}")]
    NotAHistory { path: String, reason: String },

    #[error("{path}: written by a newer gpuscope (version {found} of the history; this one knows {known})")]
    Newer { path: String, found: i64, known: i64 },

    #[error("{path}: {source}")]
    Database { path: String, source: rusqlite::Error },

    #[error("{wanted}: several commits begin like this: {found}")]
    Ambiguous { wanted: String, found: String },

    #[error("{wanted}: no run of that number, id, label or commit; there {present}")]
    NoSuchRun { wanted: String, present: String },
}

impl Error {
    pub(crate) fn not_measured(path: &Path, source: serde_json::Error) -> Error {
        Error::NotMeasured { path: path.display().to_string(), source }
    }

    /// The way out.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NotMeasured { .. } | Error::Unsound { .. } => {
                Some("gpuscope bench run writes such files; `history add` also takes traces")
            }
            Error::NotAHistory { .. } => Some("name another file with --db"),
            Error::Newer { .. } => Some("update gpuscope, or name another file with --db"),
            Error::NoSuchRun { .. } | Error::Ambiguous { .. } => Some("gpuscope history list names them"),
            Error::Unreadable { .. } | Error::Database { .. } => None,
        }
    }

    pub fn is_usage(&self) -> bool {
        matches!(self, Error::NoSuchRun { .. } | Error::Ambiguous { .. })
    }
}
