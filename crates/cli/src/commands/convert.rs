//! `gpuscope convert`: traces written anew, for viewers and for sharing.

use std::path::Path;

use gpuscope_analysis::{CriticalPath, Patterns};
use gpuscope_job::convert::{Addition, Conversion, Destination, convert};
use gpuscope_job::{JobOptions, Outcome};

use super::options_of;
use crate::Console;
use crate::args::{Added, Convert, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Whether a file named so is a trace rather than an answer.
pub(super) fn is_trace_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    [".json.gz", ".json.zst", ".trace.json"].iter().any(|end| name.ends_with(end))
}

pub(crate) fn run(asked: &Convert, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let options =
        JobOptions { keep_host_only: true, ..options_of(&asked.selection, &asked.reading, console)? };
    let conversion = Conversion {
        cut: !options.criteria.is_everything(),
        one_rank: options.rank.is_some(),
        add: asked.add.iter().map(|added| addition(*added)).collect(),
        anonymize: asked.anonymize,
    };
    let run = console.open(&asked.traces, options)?;
    if asked.output == Path::new("-") {
        convert(&run, &conversion, &mut Destination::Stream(console.out))?;
        return Ok(Exit::DONE);
    }
    let outcome: Outcome<_> = convert(&run, &conversion, &mut destination(&asked.output)?)?;
    let output = OutputArgs { json: asked.json, ..OutputArgs::default() };
    Output::new(&output)?.write("convert", &outcome, console)?;
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
pub(super) fn destination(path: &Path) -> Result<Destination<'static>, Failure> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if path.is_dir() || name.ends_with('/') {
        return Ok(Destination::Folder(path.to_owned()));
    }
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if ![".json", ".trace"].iter().any(|end| plain.ends_with(end)) {
        return Err(Failure::usage(
            format!("-o {}: the extension says no format that can be written", path.display()),
            "use .json, .json.gz or .json.zst; end in / for a folder, or - for standard output",
        ));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Failure::usage(
            format!("-o {}: there is no folder {}", path.display(), folder.display()),
            "create it first",
        )),
        _ => Ok(Destination::File(path.to_owned())),
    }
}
