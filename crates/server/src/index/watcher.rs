//! Waits until something may have changed in a folder: the system tells, or, where it cannot (network drives, too many
//! folders), time does.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A look is taken this often whatever the system says: some drives say nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// What happens within this time is one change.
const TOGETHER: Duration = Duration::from_millis(100);

pub(super) struct Watcher {
    /// Ends with it.
    _native: Option<RecommendedWatcher>,
    changes: Receiver<()>,
}

impl Watcher {
    pub(super) fn of(folder: &Path) -> Watcher {
        let (sender, changes) = mpsc::channel();
        let told = move |event: notify::Result<Event>| {
            // Reading a file is an event, too.
            if event.map_or(true, |event| !event.kind.is_access() || is_closed(&event)) {
                let _ = sender.send(());
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let native = RecommendedWatcher::new(told, config).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        Watcher { _native: native.ok(), changes }
    }

    /// Until there is news, time is up or the end has come.
    pub(super) fn wait(&self, most: Duration, stop: &AtomicBool) {
        let end = Instant::now() + most;
        while !stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now()).min(Duration::from_millis(250));
            match self.changes.recv_timeout(left) {
                Ok(()) => {
                    std::thread::sleep(TOGETHER);
                    while self.changes.try_recv().is_ok() {}
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= end {
                return;
            }
        }
    }
}

fn is_closed(event: &Event) -> bool {
    use notify::event::{AccessKind, AccessMode};
    event.kind == notify::EventKind::Access(AccessKind::Close(AccessMode::Write))
}
