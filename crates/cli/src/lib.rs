//! The gpuscope command line as a library: [`run`] is the whole program, so that tests and the Python package
//! call what people call.

mod args;
pub mod catalog;
mod commands;
mod door;
mod examples;
mod exit;
mod output;
mod parse;
mod progress;
mod record;
pub mod session;
mod terminal;

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::{CommandFactory, Parser};
use gpuscope_files::Files;
use gpuscope_job::{JobOptions, Run};

pub use exit::Exit;
pub use terminal::Terminal;

use args::Cli;
use exit::Failure;
use session::{Session, Wanted};

/// Where a command writes, and what it knows about it.
struct Console<'c> {
    out: &'c mut dyn Write,
    terminal: Terminal,
    /// What the command reads and writes.
    files: Files,
    /// Set where a program asks rather than a person.
    session: Option<Session<'c>>,
}

impl Console<'_> {
    /// The traces that arguments name: read anew, or open already.
    fn open(&self, traces: &[String], options: JobOptions) -> Result<Run, Failure> {
        let open = self.session.as_ref().map_or(Ok(None), |session| session.find(traces))?;
        let run = match open {
            Some(open) => open.sharing(options),
            None => Run::open(traces, options)?,
        };
        run.files().try_for_each(|file| self.files.reads(&file))?;
        if traces.iter().any(|trace| trace == "-") {
            self.files.reads_stdin()?;
        }
        Ok(run)
    }

    /// The files that names of open runs stand for, and other names as they are.
    fn paths(&self, names: &[String]) -> Result<Vec<String>, Failure> {
        self.session.as_ref().map_or_else(|| Ok(names.to_vec()), |session| session.paths(names))
    }

    fn wants(&self, wanted: Wanted) -> bool {
        self.session.as_ref().is_some_and(|session| session.wanted == wanted)
    }
}

/// Every command and flag, for documentation.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs one command: `arguments` begin with the program's name, results go to `out`, everything else to `err`.
pub fn run(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    if record::is_wanted(arguments.get(1..).unwrap_or_default()) {
        // What the program prints comes in order with what we printed.
        let _ = out.flush();
        return record::run(&arguments[1..], err);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, out, err, terminal),
    };
    guarded(err, |err| {
        let mut console = Console { out, terminal, files: Files::default(), session: None };
        match commands::run(cli.command, &mut console).and_then(|exit| {
            console.out.flush()?;
            Ok(exit)
        }) {
            Ok(exit) => exit,
            Err(failure) => report(&failure, err),
        }
    })
}

/// Help and version are results; everything else that clap says is an error.
fn usage(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write, terminal: Terminal) -> Exit {
    let text = error.render();
    let (stream, color): (&mut dyn Write, bool) =
        if error.use_stderr() { (err, false) } else { (out, terminal.color) };
    // Nothing is left to say if even this cannot be written.
    let _ =
        if color { write!(stream, "{}", text.ansi()) } else { write!(stream, "{}", tame(&text.to_string())) };
    if error.use_stderr() { Exit::USAGE } else { Exit::DONE }
}

/// Paths and arguments may hold anything; what is said of them cannot steer the terminal.
fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn report(failure: &Failure, err: &mut dyn Write) -> Exit {
    for line in failure.messages() {
        let _ = writeln!(err, "error: {}", tame(&line).replace('\n', "\u{240a}"));
    }
    if let Some(hint) = failure.hint() {
        let _ = writeln!(err, "\nhint: {hint}");
    }
    failure.exit()
}

/// A panic is a bug of ours, whatever the input.
fn guarded(err: &mut dyn Write, work: impl FnOnce(&mut dyn Write) -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(|| work(err))).unwrap_or_else(|_| {
        let _ = writeln!(
            err,
            "error: this is a bug in gpuscope {}\n\nhint: please report it, with the message above and the \
             command, at {}/issues",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_REPOSITORY"),
        );
        Exit::BUG
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_bug() {
        let mut err = Vec::new();
        let exit = guarded(&mut err, |_| panic!("on purpose"));
        assert_eq!(exit, Exit::BUG);
        assert!(String::from_utf8(err).unwrap().contains("please report it"));
    }
}
