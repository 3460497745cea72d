//! `gpuscope check`: everything that is wrong with the data, and an exit code for scripts.

use gpuscope_analysis::Question;
use gpuscope_job::{JobOptions, Outcome, worst};
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Holds, Quality, Severity, View};
use serde::Serialize;

use super::{ask, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

#[derive(Debug, Default, Serialize)]
struct Findings {
    errors: usize,
    warnings: usize,
    infos: usize,
    entries: Vec<Quality>,
}

impl Findings {
    fn new(quality: &[Quality]) -> Findings {
        let count = |severity| quality.iter().filter(|note| note.severity == severity).count();
        Findings {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            entries: quality.to_vec(),
        }
    }
}

impl Tabular for Findings {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("entries", "Quality of the data", &self.entries)
            .text("severity", "info, warning or error", |note| name(note.severity))
            .text("code", "The stable name of the finding", |note| name(note.code))
            .int("rank", Unit::None, "The rank it concerns", |note| note.rank.map(i64::from))
            .int("count", Unit::Count, "How often", |note| note.count as i64)
            .text("message", "In words", |note| note.message.clone())
            .build();
        vec![table]
    }
}

/// The name as JSON has it, so that tables and JSON cannot differ.
fn name(value: impl Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    value.as_str().map(str::to_owned)
}

/// Asks nothing of the ranks: reading them is the check.
struct Nothing;

impl Question for Nothing {
    type Local = ();
    type Answer = Findings;

    fn reads(&self) -> &'static [Holds] {
        Holds::ALL
    }

    fn local(&self, _rank: u32, _view: View<'_>) {}

    fn merge(&self, _locals: Vec<()>) -> Findings {
        Findings::default()
    }
}

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let options = JobOptions { keep_host_only: true, ..options(asked, console)? };
    let Outcome { inputs, quality, .. } = ask(&Nothing, asked, options, console)?;
    let exit = if worst(&quality) == Some(Severity::Error) { Exit::FOUND } else { Exit::DONE };
    let answer = Findings::new(&quality);
    output.write("check", &Outcome { inputs, quality, answer }, console)?;
    Ok(exit)
}
