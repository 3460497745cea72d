//! Drafts that have a name, so that a process that is told to end takes them along.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static UNFINISHED: Mutex<Unfinished> =
    Mutex::new(Unfinished { paths: Vec::new(), heed_signals: false, listens: false });

struct Unfinished {
    paths: Vec<PathBuf>,
    /// The program wants it, and nobody listens yet.
    heed_signals: bool,
    /// Somebody does.
    listens: bool,
}

/// For programs that own their process: a signal to end first deletes what is not whole. Nothing changes about signals
/// until there is a draft with a name, which few file systems need.
pub fn discard_on_signals() {
    unfinished(|unfinished| unfinished.heed_signals = true);
}

/// What a program that serves does when it is told to end, instead of ending at once; told again, it does.
pub fn on_end(end: impl Fn() + Send + 'static) {
    *END.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
    // Somebody listens already if there was a draft.
    if unfinished(|unfinished| !std::mem::replace(&mut unfinished.listens, true)) {
        signals::listen();
    }
}

type End = Box<dyn Fn() + Send>;

static END: Mutex<Option<End>> = Mutex::new(None);

/// Whether something else than the end at once was wanted.
fn ends_by_itself() -> bool {
    let end = END.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(end) = &end {
        end();
    }
    end.is_some()
}

pub(crate) fn remember(path: &Path) {
    let listen = unfinished(|unfinished| {
        unfinished.paths.push(path.to_owned());
        std::mem::take(&mut unfinished.heed_signals) && !std::mem::replace(&mut unfinished.listens, true)
    });
    if listen {
        signals::listen();
    }
}

pub(crate) fn forget(path: &Path) {
    unfinished(|unfinished| unfinished.paths.retain(|other| other != path));
}

fn discard() {
    for path in unfinished(|unfinished| std::mem::take(&mut unfinished.paths)) {
        // It may have got its name in this very moment.
        let _ = std::fs::remove_file(path);
    }
}

fn unfinished<T>(change: impl FnOnce(&mut Unfinished) -> T) -> T {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(unix)]
mod signals {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// What fails here leaves a hidden file behind at worst.
    pub(super) fn listen() {
        let ignored = ignored();
        let heeded = [SIGINT, SIGTERM].into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0);
        let Ok(mut signals) = Signals::new(heeded) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                super::discard();
                if !super::ends_by_itself() {
                    let _ = emulate_default_handler(signal);
                }
            }
        });
    }

    /// Shells have jobs in the background ignore Ctrl-C, and so it stays. Known where the system tells.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod signals {
    pub(super) fn listen() {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::BufRead;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use crate::draft::Draft;

    const FOLDER: &str = "GPUSCOPE_TEST_DRAFTS_IN";

    /// The other process of the test below; nothing on its own.
    #[test]
    fn drafts_until_told_to_end() {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        super::discard_on_signals();
        let _draft = Draft::named(folder.as_ref(), 0o600).unwrap();
        std::io::Write::write_all(&mut std::io::stderr(), b"drafting\n").unwrap();
        std::thread::sleep(std::time::Duration::from_mins(1));
    }

    #[test]
    fn a_process_that_is_told_to_end_takes_its_drafts_along() {
        for (signal, number) in [("INT", 2), ("TERM", 15)] {
            let folder = tempfile::tempdir().unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "litter::tests::drafts_until_told_to_end", "--nocapture"])
                .env(FOLDER, folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = String::new();
            std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
            assert_eq!(said, "drafting\n");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
            assert_eq!(child.wait().unwrap().signal(), Some(number), "it ends as any other program does");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
