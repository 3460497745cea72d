//! Who answers: the server knows no question by itself, and is handed someone who does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gpuscope_analysis::timeline::Atlas;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::Question;

/// Files that are one run, as the server knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As people and addresses name it.
    pub name: String,
    /// Another one for other content.
    pub version: String,
    pub paths: Vec<String>,
}

/// What a question is put as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The envelope.
    Json,
    /// The first table.
    Csv,
    /// The first table, as a stream for Arrow.
    Arrow,
    /// A page to look at, whole in itself.
    Page,
    /// All tables row by row, as JSON that is cut where a reader has room for no more.
    Rows,
}

/// One question, put to one run or two.
#[derive(Clone, Debug)]
pub struct Asked {
    pub runs: Vec<Source>,
    pub question: String,
    pub options: Map<String, Value>,
    pub form: Form,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: ProblemKind,
    /// What is wrong, a line for each thing.
    pub messages: Vec<String>,
    /// The way out.
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The question cannot be put like this.
    Refused,
    /// Not for whoever asks.
    Forbidden,
    /// Whoever asks has not shown who they are.
    Unknown,
    /// There is no such thing.
    Missing,
    /// Not by this method.
    NotAllowed,
    /// In none of the forms that are wanted.
    NotAcceptable,
    /// More than is taken.
    TooLarge,
    /// What was sent is not said to be what is taken.
    WrongType,
    /// The files cannot be read, or hold nothing for it.
    Unreadable,
    /// Nobody waited for it any more.
    Stopped,
    /// Too much is going on.
    Busy,
    /// A bug of ours.
    Bug,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { kind, messages: vec![message.into()], hint: Some(hint.into()) }
    }
}

/// How far work is, and whether it is still wanted; shared by who works and who waits.
#[derive(Debug, Default)]
pub struct Watch {
    pub stop: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    /// Bytes read, of all there are.
    pub fn read(&self, done: u64, total: u64) {
        self.done.fetch_max(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What is known of a run at a glance; kept, so that a folder opens at once the next time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    pub verdict: String,
    pub ranks: u64,
    pub steps: u64,
    pub events: u64,
    /// Such as `8 × H100`.
    pub gpus: String,
    /// Of the GPUs, each once.
    #[serde(default)]
    pub models: Vec<String>,
    /// Median, and what each step took.
    pub step_ns: Option<i64>,
    pub each_step_ns: Vec<f64>,
    /// The six numbers, as they are shown: label, value, note.
    pub numbers: Vec<(String, String, String)>,
    pub gpu_busy_pct: Option<f64>,
    pub mfu_pct: Option<f64>,
    pub exposed_communication_pct: Option<f64>,
    pub findings: Vec<Found>,
    /// Questions that the data has no answer to, and how to record it.
    #[serde(default)]
    pub lacks: Vec<(String, String)>,
    /// Remarks on the data, by severity.
    pub errors: u64,
    pub warnings: u64,
    /// What is damaged or missing of the files, so that the numbers rest on a part.
    #[serde(default)]
    pub damage: Vec<String>,
    /// The one question that it has an answer to, if it holds no events.
    #[serde(default)]
    pub view: Option<String>,
    /// The six numbers to compare with those of another run.
    #[serde(default)]
    pub measured: Vec<Measured>,
}

/// A number of the first screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub label: String,
    pub value: Option<f64>,
    pub unit: Scale,
    /// Why there is none.
    pub note: String,
}

/// What a number counts, so that two are shown alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    #[default]
    Ns,
    Percent,
    Bytes,
}

/// One thing that would help.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub id: String,
    pub title: String,
    pub gain_ns: Option<i64>,
    pub gain_pct: Option<f64>,
}

/// The command line, for servers.
pub trait Asker: Send + Sync + 'static {
    fn questions(&self) -> &[Question];

    fn ask(&self, asked: &Asked, watch: &Arc<Watch>) -> Result<Vec<u8>, Problem>;

    fn overview(&self, run: &Source, watch: &Arc<Watch>) -> Result<Overview, Problem>;

    /// What a file that is no run is, and why it is not read; none if it is nothing of ours.
    fn unread(&self, file: &Path) -> Option<String>;

    /// Every event of a run to look at, or of one of its ranks.
    fn atlas(&self, run: &Source, rank: Option<u32>, watch: &Arc<Watch>) -> Result<Atlas, Problem>;
}
