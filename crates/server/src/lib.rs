//! Servers: the dashboard of a folder of runs for people and programs, the door for agents, and one timeline to look at.
//!
//! The server knows no question by itself: it is handed an [`asker::Asker`], which is the command line. What strangers reach
//! opens no file by name and writes nothing unless the server was started so.

mod access;
mod answers;
mod api;
pub mod asker;
mod beside;
mod build;
pub mod catalog;
mod connections;
mod guard;
mod index;
mod jobs;
mod mcp;
mod operations;
mod pages;
mod problem;
mod routes;
mod serve;
mod shared;
mod store;
mod theme;
mod timeline_pages;
mod timelines;
mod view;

use std::fmt::Write as _;
use std::io;

pub use serve::{Failed, Options, Server, speak};
pub use view::ViewServer;

/// A word that nobody guesses.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let mut token = String::with_capacity(32);
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}
