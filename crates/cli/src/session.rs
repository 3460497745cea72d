//! The command line for programs: traces that are open already, and answers as tables and figures rather than as text.
//! Arguments are those that people type, so that an option means the same everywhere.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use gpuscope_figure::Figure;
use gpuscope_files::Files;
use gpuscope_job::{InputInfo, JobOptions, Run};
use gpuscope_table::Table;
use gpuscope_trace::Quality;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use crate::{Console, Terminal, commands, tame};

/// Traces that stay in memory from one question to the next.
#[derive(Clone, Debug)]
pub struct OpenRun {
    name: String,
    run: Arc<Run>,
}

impl OpenRun {
    /// Finds the traces; they are read with the first question. `flags` are those of reading: `--rank-regex`,
    /// `--select-capture`, `--classify`, `--step-marker`, `--memory`.
    pub fn open(traces: &[String], flags: &[String]) -> Result<OpenRun, Refusal> {
        OpenRun::open_with(traces, flags, &mut std::io::empty())
    }

    /// A trace as the text of a file, under the name that messages are to give it.
    pub fn of_text(mut text: &[u8], name: &str, flags: &[String]) -> Result<OpenRun, Refusal> {
        let run = OpenRun::open_with(&["-".to_owned()], flags, &mut text)?;
        Ok(OpenRun { name: name.to_owned(), ..run })
    }

    fn open_with(
        traces: &[String],
        flags: &[String],
        stdin: &mut dyn std::io::Read,
    ) -> Result<OpenRun, Refusal> {
        let words = ["gpuscope", "info"].into_iter().chain(flags.iter().map(String::as_str)).chain(["--"]);
        let words = words.chain(traces.iter().map(String::as_str));
        let cli = Cli::try_parse_from(words).map_err(|error| Refusal::misread(&error))?;
        let Command::Info(asked) = cli.command else { unreachable!("the command is given above") };
        let mut nowhere = std::io::sink();
        let console =
            Console { out: &mut nowhere, terminal: Terminal::none(), files: Files::default(), session: None };
        let options = commands::options(&asked, &console).map_err(|failure| Refusal::of(&failure))?;
        let run =
            Run::open_with(&asked.traces, options, stdin).map_err(|error| Refusal::of(&error.into()))?;
        Ok(OpenRun { name: asked.traces.join(" "), run: Arc::new(run.keeping()) })
    }

    /// The same under another name, to be told apart where a question is about both.
    #[must_use]
    pub fn renamed(&self, name: &str) -> OpenRun {
        OpenRun { name: name.to_owned(), run: Arc::clone(&self.run) }
    }

    /// As questions name it in their arguments.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The run itself, for what is no command.
    pub fn run(&self, stop: Arc<AtomicBool>, rank: Option<u32>) -> Run {
        self.run.sharing(JobOptions { rank, stop: Some(stop), keep_host_only: true, ..JobOptions::default() })
    }
}

/// What is wanted of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Tables,
    Figures,
    /// As the command prints it, or writes it to the file that its arguments name.
    Text,
}

/// What a command answered.
#[derive(Debug, Default)]
pub struct Answered {
    pub exit: u8,
    pub inputs: Vec<InputInfo>,
    pub quality: Vec<Quality>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
    pub text: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub struct Refusal {
    pub exit: Exit,
    /// One line per thing that went wrong.
    pub messages: Vec<String>,
    pub hint: Option<String>,
    /// Whoever asked no longer wanted it.
    pub stopped: bool,
}

impl Refusal {
    fn of(failure: &Failure) -> Refusal {
        Refusal {
            exit: failure.exit(),
            messages: failure.messages(),
            hint: failure.hint(),
            stopped: matches!(failure, Failure::Job(gpuscope_job::Error::Stopped)),
        }
    }

    fn misread(error: &clap::Error) -> Refusal {
        let text = tame(&error.render().to_string());
        let message = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        Refusal { exit: Exit::USAGE, messages: vec![message.to_owned()], hint: None, stopped: false }
    }
}

/// What a command finds in its console when a program asks.
#[derive(Debug)]
pub(crate) struct Session<'s> {
    runs: &'s [&'s OpenRun],
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) wanted: Wanted,
    pub(crate) answered: Answered,
}

impl Session<'_> {
    /// The open run that an argument names.
    pub(crate) fn find(&self, traces: &[String]) -> Option<&Run> {
        let [name] = traces else { return None };
        self.runs.iter().find(|open| open.name == *name).map(|open| &*open.run)
    }
}

/// Puts a command to runs that are open. `arguments` begin with the command and name the runs by [`OpenRun::name`].
pub fn ask(
    runs: &[&OpenRun],
    arguments: &[String],
    wanted: Wanted,
    terminal: Terminal,
    stop: &Arc<AtomicBool>,
) -> Result<Answered, Refusal> {
    let words = std::iter::once("gpuscope").chain(arguments.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|error| Refusal::misread(&error))?;
    let mut text = Vec::new();
    let session = Session { runs, stop: Arc::clone(stop), wanted, answered: Answered::default() };
    let mut console = Console { out: &mut text, terminal, files: Files::default(), session: Some(session) };
    let exit = commands::run(cli.command, &mut console).map_err(|failure| Refusal::of(&failure))?;
    let answered = console.session.map(|session| session.answered).unwrap_or_default();
    Ok(Answered { exit: exit.0, text, ..answered })
}

impl From<gpuscope_job::Error> for Refusal {
    fn from(error: gpuscope_job::Error) -> Refusal {
        Refusal::of(&error.into())
    }
}
