//! `gpuscope profile|memory|compile SCRIPT.py [ARGS]`: a program run under the collectors of the Python package. The same
//! commands read what is no program.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::exit::Exit;

/// Python looks for modules in the current folder first, where a `gpuscope` may be anybody's. In that folder's place comes
/// what holds no modules; the program that is run gets its own folder there, as ever.
const NOT_FROM_HERE: &str =
    "import sys\nif not getattr(sys.flags, 'safe_path', False): sys.path[0] = sys.executable\n";

/// Commands that can both read and record.
const COMMANDS: [&str; 3] = ["profile", "memory", "compile"];

/// Whether arguments (after the program's own name) ask for a program to be run: after `--`, or when the first path
/// ends in `.py`.
pub(crate) fn is_wanted(arguments: &[OsString]) -> bool {
    let Some((command, rest)) = arguments.split_first() else { return false };
    if is_bench_run(arguments) {
        return true;
    }
    if !COMMANDS.iter().any(|known| command == known) {
        return false;
    }
    let mut names_output = false;
    for word in rest {
        let text = word.to_string_lossy();
        if text == "--" || (!names_output && !text.starts_with('-') && text.ends_with(".py")) {
            return true;
        }
        names_output = matches!(&*text, "-o" | "--output");
        // The first path is a trace.
        if !names_output && !text.starts_with('-') && std::path::Path::new(word).exists() {
            return false;
        }
    }
    false
}

/// Runs the program in a Python that has the package: the one that runs us, `GPUSCOPE_PYTHON`, or the first on the path.
pub(crate) fn run(arguments: &[OsString], err: &mut dyn Write) -> Exit {
    let python = std::env::var_os("GPUSCOPE_PYTHON").unwrap_or_else(|| OsString::from("python3"));
    match has_package(&python) {
        Ok(true) => {}
        Ok(false) => return refuse(err, &python, "has no package gpuscope"),
        Err(error) => return refuse(err, &python, &gpuscope_job::plain(&error)),
    }
    let (module, arguments) = if is_bench_run(arguments) {
        ("gpuscope.bench", &arguments[1..])
    } else {
        ("gpuscope.profiling", arguments)
    };
    let launch = format!("{NOT_FROM_HERE}import runpy\nrunpy.run_module('{module}', run_name='__main__')");
    let status = Command::new(&python).args(["-c", &launch]).args(arguments).status();
    match status {
        // A program that a signal ended has no code: shells say 128 and its number.
        Ok(status) => Exit(status.code().map_or(130, |code| code as u8)),
        Err(error) => refuse(err, &python, &gpuscope_job::plain(&error)),
    }
}

/// Measuring happens in Python, where the models are.
fn is_bench_run(arguments: &[OsString]) -> bool {
    matches!(arguments, [bench, run, ..] if bench == "bench" && run == "run")
}

fn has_package(python: &OsStr) -> std::io::Result<bool> {
    let find = "import importlib.util\nsys.exit(importlib.util.find_spec('gpuscope') is None)";
    let mut command = Command::new(python);
    command
        .args(["-c", &format!("{NOT_FROM_HERE}{find}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command.status()?.success())
}

fn refuse(err: &mut dyn Write, python: &OsStr, why: &str) -> Exit {
    let python = python.to_string_lossy();
    let _ = writeln!(
        err,
        "error: {python}: {why}\n\nhint: programs are recorded by the Python package: pip install gpuscope, or name \
         another interpreter in GPUSCOPE_PYTHON"
    );
    Exit::USAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> bool {
        is_wanted(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_program_is_told_from_a_trace() {
        assert!(wanted("profile train.py --epochs 3"));
        assert!(wanted("memory -o m.html train.py"));
        assert!(wanted("compile --json -- train"));
        assert!(!wanted("memory trace.json"));
        assert!(!wanted("profile -o out.py trace.json"));
        assert!(!wanted("kernels train.py"));
        assert!(wanted("bench run gpt") && !wanted("bench report run"));
        assert!(!wanted("memory Cargo.toml train.py"), "what is there is read");
    }
}
