//! `gpuscope serve`, the dashboard, and `gpuscope mcp`, the door for agents.

use std::path::Path;
use std::sync::Arc;

use gpuscope_server::{Failed, Options, Server};

use super::view;
use crate::Console;
use crate::args::{KeptArgs, McpArgs, ServeArgs};
use crate::door::Door;
use crate::exit::{Exit, Failure};

pub(crate) fn run(wanted: &ServeArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let token = wanted.token.clone().or_else(|| std::env::var("GPUSCOPE_TOKEN").ok());
    let options = Options {
        host: wanted.host,
        port: wanted.port,
        token: token.filter(|token| !token.is_empty()),
        names: wanted.name.clone(),
        base: wanted.base_path.clone(),
        writable: wanted.writable,
        log: wanted.log,
        ..options(&wanted.folder, &wanted.kept)
    };
    ready(&wanted.folder)?;
    let server = Server::bind(&options, door(&wanted.kept)).map_err(|failed| match failed {
        Failed::Io(error) => Failure::usage(
            format!("{}:{}: {error}", wanted.host, wanted.port),
            "another port does it: --port 0 takes any that is free",
        ),
        Failed::Store { .. } => no_store(failed),
    })?;
    let address = server.address();
    writeln!(console.out, "{address}")?;
    if console.terminal.watched {
        writeln!(console.out, "Ctrl+C ends it.")?;
    }
    console.out.flush()?;
    if !wanted.no_open {
        view::show(&address);
    }
    gpuscope_files::on_end(server.stopper());
    server.serve()?;
    Ok(Exit::DONE)
}

pub(crate) fn mcp(wanted: &McpArgs) -> Result<Exit, Failure> {
    ready(&wanted.folder)?;
    gpuscope_server::speak(&options(&wanted.folder, &wanted.kept), door(&wanted.kept)).map_err(no_store)?;
    Ok(Exit::DONE)
}

/// What was asked to be kept is not lost silently.
fn no_store(failed: Failed) -> Failure {
    match failed {
        Failed::Io(error) => Failure::Output(error),
        Failed::Store { file, why } => Failure::Unreadable {
            path: file.display().to_string(),
            message: format!(
                "cannot be opened to keep notes and answers in ({why}); name a file in a folder that may be written to: --store FILE"
            ),
        },
    }
}

/// Programs that record write to the folder later: it may not be there yet.
fn ready(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(
            format!("{}: {error}", folder.display()),
            "name a folder of runs: gpuscope serve traces/",
        )
    })
}

fn options(folder: &Path, kept: &KeptArgs) -> Options {
    Options {
        folder: folder.to_owned(),
        host: [127, 0, 0, 1].into(),
        port: 0,
        token: None,
        names: Vec::new(),
        base: String::new(),
        writable: false,
        log: false,
        store: kept.store.clone(),
        room: kept.store_size,
        timelines: memory(kept) / TIMELINES,
    }
}

/// This part of the memory is for timelines that are looked at, the rest for traces that stay open.
const TIMELINES: u64 = 4;

fn memory(kept: &KeptArgs) -> u64 {
    kept.memory.unwrap_or_else(gpuscope_job::default_memory)
}

fn door(kept: &KeptArgs) -> Arc<Door> {
    Arc::new(Door::new(memory(kept) - memory(kept) / TIMELINES))
}
