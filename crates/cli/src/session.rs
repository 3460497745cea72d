//! The command line for programs: traces that are open already, and answers as tables and figures rather than as text.
//! Arguments are those that people type, so that an option means the same everywhere.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use gpuscope_figure::Figure;
use gpuscope_files::Files;
use gpuscope_job::{InputInfo, JobOptions, Run};
use gpuscope_server::asker::Watch;
use gpuscope_table::Table;
use gpuscope_trace::Quality;

use crate::args::{Cli, Opening};
use crate::door::Watched;
use crate::exit::{Exit, Failure};
use crate::{Console, Terminal, catalog, commands, tame};

/// Traces that stay in memory from one question to the next.
#[derive(Clone, Debug)]
pub struct OpenRun {
    name: String,
    /// As they were named when they were opened.
    traces: Vec<String>,
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
        let words = flags.iter().map(String::as_str).chain(["--"]);
        let words = words.chain(traces.iter().map(String::as_str));
        let asked = Opening::try_parse_from(words).map_err(|error| Refusal::misread(&error))?;
        let mut nowhere = std::io::sink();
        let console =
            Console { out: &mut nowhere, terminal: Terminal::none(), files: Files::default(), session: None };
        let options = commands::options_of(&asked.selection(), &asked.reading, &console)
            .map_err(|failure| Refusal::of(&failure))?;
        let run =
            Run::open_with(&asked.traces, options, stdin).map_err(|error| Refusal::of(&error.into()))?;
        let (name, run) = (asked.traces.join(" "), Arc::new(run.keeping()));
        Ok(OpenRun { name, traces: asked.traces, run })
    }

    /// The same under another name, to be told apart where a question is about both.
    #[must_use]
    pub fn renamed(&self, name: &str) -> OpenRun {
        OpenRun { name: name.to_owned(), traces: self.traces.clone(), run: Arc::clone(&self.run) }
    }

    /// As questions name it in their arguments.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The run itself, for what is no command.
    pub fn run(&self, stop: Arc<AtomicBool>, rank: Option<u32>) -> Run {
        self.sharing(JobOptions { rank, stop: Some(stop), keep_host_only: true, ..JobOptions::default() })
    }

    pub(crate) fn sharing(&self, options: JobOptions) -> Run {
        self.run.sharing(options)
    }

    /// Its files, as they were named.
    pub(crate) fn files(&self) -> &[String] {
        &self.traces
    }

    /// What its traces take in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.run.kept_bytes()
    }
}

/// What a question may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Any file that the process may: for the shell and for Python.
    #[default]
    Files,
    /// The runs that are open and nothing else, for strangers: no other trace is opened, no file read or written.
    OpenRunsOnly,
}

/// How a question is put.
#[derive(Clone, Debug)]
pub struct Asking {
    pub wanted: Wanted,
    pub reach: Reach,
    pub terminal: Terminal,
    /// Set when the answer is no longer wanted.
    pub stop: Arc<AtomicBool>,
    /// Told how far reading is.
    pub watch: Option<Arc<Watch>>,
}

impl Default for Asking {
    fn default() -> Asking {
        let stop = Arc::default();
        Asking { wanted: Wanted::Text, reach: Reach::Files, terminal: Terminal::none(), stop, watch: None }
    }
}

/// What is wanted of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Tables,
    Figures,
    /// As the command prints it, or writes it to the file that its arguments name.
    Text,
    /// The envelope, as text.
    Json,
    /// As the command writes it to a file with this ending, as text.
    File(&'static str),
}

/// What a command answered.
#[derive(Debug, Default)]
pub struct Answered {
    pub exit: u8,
    pub inputs: Vec<InputInfo>,
    pub quality: Vec<Quality>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
    pub sentence: Option<String>,
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
    pub(crate) fn of(failure: &Failure) -> Refusal {
        Refusal {
            exit: failure.exit(),
            messages: failure.messages(),
            hint: failure.hint(),
            stopped: matches!(failure, Failure::Job(gpuscope_job::Error::Stopped)),
        }
    }

    fn bug() -> Refusal {
        let message = format!("this is a bug in gpuscope {}", env!("CARGO_PKG_VERSION"));
        let hint =
            concat!("please report it, with the question, at ", env!("CARGO_PKG_REPOSITORY"), "/issues");
        Refusal { exit: Exit::BUG, messages: vec![message], hint: Some(hint.to_owned()), stopped: false }
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
    reach: Reach,
    pub(crate) stop: Arc<AtomicBool>,
    watch: Option<Arc<Watch>>,
    pub(crate) wanted: Wanted,
    pub(crate) answered: Answered,
}

impl Session<'_> {
    /// The open run that an argument names; without one, the traces are to be opened, if that is in reach.
    pub(crate) fn find(&self, traces: &[String]) -> Result<Option<&Run>, Failure> {
        let open = match traces {
            [name] => self.runs.iter().find(|open| open.name == *name),
            _ => None,
        };
        match (open, self.reach) {
            (Some(open), _) => Ok(Some(&*open.run)),
            (None, Reach::Files) => Ok(None),
            (None, Reach::OpenRunsOnly) => Err(self.not_open(traces)),
        }
    }

    /// The files behind a name, for what is no trace.
    pub(crate) fn paths(&self, names: &[String]) -> Result<Vec<String>, Failure> {
        let open = self.runs.iter().find(|open| *names == [open.name.as_str()]);
        match (open, self.reach) {
            (Some(open), _) => Ok(open.traces.clone()),
            (None, Reach::Files) => Ok(names.to_vec()),
            (None, Reach::OpenRunsOnly) => Err(self.not_open(names)),
        }
    }

    fn not_open(&self, names: &[String]) -> Failure {
        let open: Vec<&str> = self.runs.iter().map(|open| open.name.as_str()).collect();
        Failure::usage(
            format!("there is no open run {}", names.join(" ")),
            &format!("questions here are about {}", open.join(" and ")),
        )
    }

    pub(crate) fn progress(&self) -> Option<Watched> {
        self.watch.clone().map(Watched)
    }
}

/// Puts a command to runs that are open. `arguments` begin with the command and name the runs by [`OpenRun::name`].
///
/// A panic of the question is answered as what it is: a bug, and the end of nothing else.
pub fn ask(runs: &[&OpenRun], arguments: &[String], asking: &Asking) -> Result<Answered, Refusal> {
    let words = std::iter::once("gpuscope").chain(arguments.iter().map(String::as_str));
    let mut matches = Cli::command().try_get_matches_from(words);
    if asking.reach == Reach::OpenRunsOnly
        && let Ok(matches) = &matches
    {
        within_reach(matches).map_err(|failure| Refusal::of(&failure))?;
    }
    // Commands write files of some kinds by themselves; a file of our own takes them.
    let file = match asking.wanted {
        Wanted::File(ending) => Some(own_file(ending).map_err(|failure| Refusal::of(&failure))?),
        _ => None,
    };
    if let Some(file) = &file {
        let path = file.path().to_string_lossy().into_owned();
        let (before, after) =
            arguments.split_at(arguments.iter().position(|word| word == "--").unwrap_or(arguments.len()));
        let before = std::iter::once("gpuscope").chain(before.iter().map(String::as_str));
        let with_file = before.chain(["-o", path.as_str()]).chain(after.iter().map(String::as_str));
        matches = Cli::command().try_get_matches_from(with_file);
    }
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.map_err(|error| Refusal::misread(&error))?;
    let mut text = Vec::new();
    let session = Session {
        runs,
        reach: asking.reach,
        stop: Arc::clone(&asking.stop),
        watch: asking.watch.clone(),
        wanted: asking.wanted,
        answered: Answered::default(),
    };
    let mut console = Console {
        out: &mut text,
        terminal: asking.terminal,
        files: Files::default(),
        session: Some(session),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| commands::run(cli.command, &mut console)));
    let exit = ran.map_err(|_| Refusal::bug())?.map_err(|failure| Refusal::of(&failure))?;
    let answered = console.session.map(|session| session.answered).unwrap_or_default();
    let text = match file {
        Some(file) => fs::read(file.path()).map_err(|error| Refusal::of(&Failure::Output(error)))?,
        None => text,
    };
    Ok(Answered { exit: exit.0, text, ..answered })
}

fn own_file(ending: &str) -> Result<tempfile::NamedTempFile, Failure> {
    Ok(tempfile::Builder::new().prefix("gpuscope-").suffix(ending).tempfile()?)
}

/// Only questions, and no option that names a file or is about files.
fn within_reach(matches: &ArgMatches) -> Result<(), Failure> {
    let command = Cli::command();
    let Some((name, given)) = matches.subcommand() else { return Ok(()) };
    let known = command.find_subcommand(name).filter(|command| catalog::is_question(command));
    let Some(known) = known else {
        return Err(Failure::usage(
            format!("{name} is no question about an open run"),
            "commands that read or write files are for the shell",
        ));
    };
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let closed =
        known.get_arguments().find(|arg| catalog::is_for_files(arg) && is_given(arg.get_id().as_str()));
    match closed {
        None => Ok(()),
        Some(arg) => Err(Failure::usage(
            format!("{name}: {} is about files, which are out of reach here", arg.get_id()),
            "leave it out",
        )),
    }
}

impl From<gpuscope_job::Error> for Refusal {
    fn from(error: gpuscope_job::Error) -> Refusal {
        Refusal::of(&error.into())
    }
}
