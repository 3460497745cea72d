//! The `gpuscope` command; everything it does is in the library.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    gpuscope_files::discard_on_signals();
    let terminal = gpuscope_cli::Terminal::detect();
    // Not locked: an agent is spoken to from another thread.
    let mut out = BufWriter::new(io::stdout());
    let exit = gpuscope_cli::run(std::env::args_os(), &mut out, &mut io::stderr(), terminal);
    // A reader that has gone away (`| head`) has seen what it wanted.
    let _ = out.flush();
    exit.into()
}
