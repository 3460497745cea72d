//! `gpuscope view`: the timeline of all events, served on loopback.

use std::process::{Command, Stdio};
use std::time::Duration;

use gpuscope_analysis::Timeline;
use gpuscope_analysis::timeline::Atlas;
use gpuscope_files::Handed;
use gpuscope_server::ViewServer;

use super::options_of;
use crate::Console;
use crate::args::ViewArgs;
use crate::exit::{Exit, Failure};

/// How long the page that leads to the timeline is kept.
const WHILE_OPENING: Duration = Duration::from_mins(1);

pub(crate) fn run(wanted: &ViewArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let run = console.open(&wanted.traces, options_of(&wanted.selection, &wanted.reading, console)?)?;
    let outcome = run.ask(&Timeline { most_slices: Some(usize::MAX) })?;
    let picture = outcome.answer.picture.unwrap_or_default();
    let server =
        ViewServer::bind(Atlas::new(picture), &wanted.traces.join(" "), wanted.port).map_err(|error| {
            Failure::usage(
                format!("--port {}: {error}", wanted.port),
                "leave it out for any port that is free",
            )
        })?;
    let address = server.address();
    writeln!(console.out, "{address}")?;
    if console.terminal.watched {
        writeln!(console.out, "Ctrl+C ends it.")?;
    }
    console.out.flush()?;
    if !wanted.no_open {
        show(&address);
    }
    server.serve()?;
    Ok(Exit::DONE)
}

/// In the browser of whoever sits here.
pub(super) fn show(address: &str) {
    if has_display()
        && let Some(page) = open(address)
    {
        // By then the browser has read it, or never will.
        std::thread::spawn(move || {
            std::thread::sleep(WHILE_OPENING);
            drop(page);
        });
    }
}

fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", target_os = "windows")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// By the system's own program; where that fails, the address is on the screen. Everybody on this machine can read a
/// program's arguments, so the address is not among them: a page that only its user can read leads there.
fn open(address: &str) -> Option<Handed> {
    let page = Handed::new(".html", &leading_to(address)).ok()?;
    let (program, words): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(target_os = "windows") {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(words).arg(page.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok().map(|_| page)
}

fn leading_to(address: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>gpuscope view</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">The timeline</a>\n"
    )
}
