//! `gpuscope check`: everything that is wrong with the data, and an exit code for scripts.

use gpuscope_analysis::Question;
use gpuscope_job::{JobOptions, Outcome, Run, worst};
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Quality, Severity, View};
use serde::Serialize;

use super::options;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

#[derive(Debug, Default, Serialize)]
struct Entries {
    errors: usize,
    warnings: usize,
    infos: usize,
    entries: Vec<Quality>,
}

impl Entries {
    fn new(quality: &[Quality]) -> Entries {
        let count = |severity| quality.iter().filter(|note| note.severity == severity).count();
        Entries {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            entries: quality.to_vec(),
        }
    }
}

impl Tabular for Entries {
    fn tables(&self) -> Vec<Table> {
        let name = |value: &dyn erased::Named| value.name();
        let table = Table::of("entries", "Quality of the data", &self.entries)
            .text("severity", "info, warning or error", |note| name(&note.severity))
            .text("code", "The stable name of the finding", |note| name(&note.code))
            .int("rank", Unit::None, "The rank it concerns", |note| note.rank.map(i64::from))
            .int("count", Unit::Count, "How often", |note| note.count as i64)
            .text("message", "In words", |note| note.message.clone())
            .build();
        vec![table]
    }
}

/// Stable names come from serialisation, so that tables and JSON cannot differ.
mod erased {
    use serde::Serialize;

    pub(super) trait Named {
        fn name(&self) -> String;
    }

    impl<T: Serialize> Named for T {
        fn name(&self) -> String {
            match serde_json::to_value(self) {
                Ok(serde_json::Value::String(name)) => name,
                _ => String::new(),
            }
        }
    }
}

/// Asks nothing of the ranks: reading them is the check.
struct Nothing;

impl Question for Nothing {
    type Local = ();
    type Answer = Entries;

    fn local(&self, _rank: u32, _view: View<'_>) {}

    fn merge(&self, _locals: Vec<()>) -> Entries {
        Entries::default()
    }
}

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, &asked.traces)?;
    let options = JobOptions { keep_host_only: true, ..options(asked, console)? };
    let Outcome { inputs, quality, .. } = Run::open(&asked.traces, options)?.ask(&Nothing)?;
    let exit = if worst(&quality) == Some(Severity::Error) { Exit::FOUND } else { Exit::DONE };
    let answer = Entries::new(&quality);
    output.write("check", &Outcome { inputs, quality, answer }, console)?;
    Ok(exit)
}
