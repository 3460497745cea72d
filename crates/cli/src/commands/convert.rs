//! `gpuscope convert`: traces written anew, for viewers and for sharing.

use std::path::Path;

use gpuscope_analysis::{CriticalPath, Patterns};
use gpuscope_files::{FileKind, Packing};
use gpuscope_job::convert::{Addition, Conversion, Destination, convert};
use gpuscope_job::{JobOptions, Outcome};

use super::options_of;
use crate::Console;
use crate::args::{Added, Convert, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Output, is_folder, unknown, writable};

/// Whether a file named so is a trace rather than an answer.
pub(super) fn is_trace_name(path: &Path) -> bool {
    let trace = |packing| (FileKind::Trace(packing), true);
    let choices =
        [(FileKind::Json, false), trace(Packing::Plain), trace(Packing::Gzip), trace(Packing::Zstd)];
    FileKind::choose(&choices, path).unwrap_or(false)
}

pub(crate) fn run(asked: &Convert, console: &mut Console<'_>) -> Result<Exit, Failure> {
    // Better said before anything is read than after.
    let file = match asked.output.as_path() {
        path if path == Path::new("-") => None,
        path => Some(destination(path, console)?),
    };
    let options =
        JobOptions { keep_host_only: true, ..options_of(&asked.selection, &asked.reading, console)? };
    let conversion = Conversion {
        cut: !options.criteria.is_everything(),
        one_rank: options.rank.is_some(),
        add: asked.add.iter().map(|added| addition(*added)).collect(),
        anonymize: asked.anonymize,
    };
    let run = console.open(&asked.traces, options)?;
    let Some(mut file) = file else {
        convert(&run, &conversion, &mut Destination::Stream(console.out), &console.files)?;
        return Ok(Exit::DONE);
    };
    let outcome: Outcome<_> = convert(&run, &conversion, &mut file, &console.files)?;
    let output = OutputArgs { json: asked.json, ..OutputArgs::default() };
    Output::new(&output, console)?.write("convert", &outcome, console)?;
    Ok(Exit::DONE)
}

fn addition(added: Added) -> Addition {
    match added {
        Added::Queue => Addition::Queue,
        Added::Bandwidth => Addition::Bandwidth,
        Added::CriticalPath => Addition::CriticalPath(CriticalPath::default()),
        Added::Patterns => Addition::Patterns(Patterns::default()),
    }
}

/// A folder, or a file that is named like a trace.
pub(super) fn destination(path: &Path, console: &Console<'_>) -> Result<Destination<'static>, Failure> {
    if is_folder(path) {
        return Ok(Destination::Folder(path.to_owned()));
    }
    Packing::of(path).map_err(|kind| unknown(&kind, "; end in / for a folder, or - for standard output"))?;
    writable(path, false)?;
    console.files.writes("-o", path)?;
    Ok(Destination::File(path.to_owned()))
}
