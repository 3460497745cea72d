//! Writes traces anew: cut to a selection, with counters on top, names taken out, or merely in another compression.
//!
//! What to keep and what to add is found in the columns of each rank, as for any question; then its file is read
//! again as a stream and copied element by element. A lone file of which all is kept is never held in memory.

mod counters;
mod destination;
mod path;
mod patterns;

use std::io::Write;

use gpuscope_analysis::{CriticalPath, Patterns};
use gpuscope_files::Files;
use gpuscope_formats::ReadOptions;
use gpuscope_formats::anonymize::Anonymizer;
use gpuscope_formats::rewrite::{DEEPEST, Editor, Element, Overlay, RewriteError, Rewritten, rewrite};
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Bitmap, Code, Phase, Quality, View, kept_elements};
use serde::Serialize;

pub use destination::Destination;

use crate::error::Error;
use crate::run::{InputInfo, Outcome, Run};

/// Something that an analysis can put on top of a trace.
#[derive(Clone, Debug)]
pub enum Addition {
    /// A counter per stream: launched and not yet begun.
    Queue,
    /// A counter per kind of copy: the bandwidth at which bytes move.
    Bandwidth,
    /// Marks on the events of the critical path, and arrows along it.
    CriticalPath(CriticalPath),
    /// Marks on the operators that launch frequent sequences of kernels.
    Patterns(Patterns),
}

impl Addition {
    fn overlay(&self, rank: u32, view: View<'_>) -> Overlay {
        match self {
            Addition::Queue => counters::queue(rank, view),
            Addition::Bandwidth => counters::bandwidth(view),
            Addition::CriticalPath(question) => path::overlay(question, rank, view),
            Addition::Patterns(question) => patterns::overlay(question, rank, view),
        }
    }
}

/// What to change.
#[derive(Clone, Debug, Default)]
pub struct Conversion {
    /// Keep only what the run's selection has.
    pub cut: bool,
    /// One rank was asked for, which a file may share with others.
    pub one_rank: bool,
    pub add: Vec<Addition>,
    /// Replace names that tell who recorded what where.
    pub anonymize: bool,
}

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Converted {
    pub path: String,
    pub rank: u32,
    /// Elements of the event array as read.
    pub events_read: u64,
    pub events_kept: u64,
    pub events_added: u64,
    pub size_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConvertAnswer {
    pub files: Vec<Converted>,
}

impl Tabular for ConvertAnswer {
    fn tables(&self) -> Vec<Table> {
        let files = Table::of("files", "Written", &self.files)
            .int("rank", Unit::None, "The rank", |f| i64::from(f.rank))
            .text("path", "The file", |f| f.path.clone())
            .int("events_read", Unit::Count, "Events of the input", |f| f.events_read as i64)
            .int("events_kept", Unit::Count, "Of these, kept", |f| f.events_kept as i64)
            .int("events_added", Unit::Count, "Events that were added", |f| f.events_added as i64)
            .int("size_bytes", Unit::Bytes, "Size of the file", |f| f.size_bytes as i64)
            .build();
        vec![files]
    }
}

/// What is known of one rank when its file is copied.
#[derive(Default)]
struct Plan {
    /// The elements that stay, if not all do.
    kept: Option<Bitmap>,
    overlays: Vec<Overlay>,
}

/// Copies each rank's trace to where it is to go, unless that is one of the `files` that are read.
pub fn convert(
    run: &Run,
    conversion: &Conversion,
    destination: &mut Destination<'_>,
    files: &Files,
) -> Result<Outcome<ConvertAnswer>, Error> {
    let lone = run.lone_input().filter(|_| !conversion.needs_columns());
    let unread = lone.is_some();
    let Outcome { mut inputs, mut quality, answer: plans } = match lone {
        Some(input) => Outcome { inputs: vec![input], quality: Vec::new(), answer: vec![Plan::default()] },
        None => run.each(|rank, view| conversion.plan(rank, view))?,
    };
    let targets = destination.targets(run, &inputs, files)?;
    // One for all files, so that a name has the same replacement in each.
    let mut anonymizer = conversion.anonymize.then(Anonymizer::default);
    let mut written = Vec::new();
    for ((input, plan), target) in inputs.iter_mut().zip(plans).zip(targets) {
        let mut editors: Vec<Box<dyn Editor + '_>> = Vec::new();
        if let Some(kept) = plan.kept {
            editors.push(Box::new(Kept(kept)));
        }
        if let Some(anonymizer) = &mut anonymizer {
            editors.push(Box::new(anonymizer));
        }
        for overlay in plan.overlays {
            editors.push(Box::new(overlay));
        }
        let (done, bytes) =
            destination.write(&target, |out| copy(run, input, out, &mut editors, target.display()))?;
        if unread {
            input.events = done.elements;
            quality.extend(damage(&done).map(|note| note.of_rank(input.rank)));
        }
        let message = |key: &String| format!("{key}: more than 64 MB long, and not in the output");
        quality.extend(done.emptied.iter().map(|key| Quality::new(Code::TruncatedLists, 1, message(key))));
        if done.too_deep > 0 {
            let message = format!(
                "{}: {} values nested more than {DEEPEST} deep are null in the output",
                input.path, done.too_deep
            );
            quality.push(Quality::new(Code::TruncatedLists, done.too_deep, message).of_rank(input.rank));
        }
        written.push(Converted {
            path: target.display().to_owned(),
            rank: input.rank,
            events_read: done.elements,
            events_kept: done.elements - done.dropped,
            events_added: done.appended,
            size_bytes: bytes,
        });
    }
    Ok(Outcome { inputs, quality, answer: ConvertAnswer { files: written } })
}

impl Conversion {
    /// Whether the text alone does not tell what to do.
    fn needs_columns(&self) -> bool {
        self.cut || self.one_rank || !self.add.is_empty()
    }

    fn plan(&self, rank: u32, view: View<'_>) -> Plan {
        Plan {
            kept: (self.cut || view.trace.is_part).then(|| kept_elements(view.trace, view.selection)),
            overlays: self.add.iter().map(|addition| addition.overlay(rank, view)).collect(),
        }
    }
}

fn copy(
    run: &Run,
    input: &InputInfo,
    out: &mut dyn Write,
    editor: &mut dyn Editor,
    target: &str,
) -> Result<Rewritten, Error> {
    let options = ReadOptions { pipelined: true, ..ReadOptions::default() };
    run.reopen(&input.path, |text| rewrite(text, options, out, editor))?.map_err(|error| match error {
        RewriteError::Read(error) => Error::read(&input.path, error),
        RewriteError::Write(source) => Error::Unwritable { path: target.to_owned(), source },
    })
}

fn damage(done: &Rewritten) -> impl Iterator<Item = Quality> {
    let truncated = done.truncated.then(|| {
        let message = format!("the file breaks off; {} whole events were copied", done.elements);
        Quality::new(Code::Truncated, 1, message)
    });
    let damaged = (done.damaged > 0).then(|| {
        let message = format!("{} damaged places in the event array were left out", done.damaged);
        Quality::new(Code::MalformedEvents, done.damaged, message)
    });
    let corrupt = done.corrupt.as_ref().map(|message| Quality::new(Code::Corrupt, 1, message.clone()));
    truncated.into_iter().chain(damaged).chain(corrupt)
}

/// Keeps some elements, and all metadata.
struct Kept(Bitmap);

impl Editor for Kept {
    fn element(&mut self, element: &mut Element<'_>) {
        if element.phase != Some(Phase::Metadata) && !self.0.has(element.index) {
            element.leave_out();
        }
    }
}
