//! A bar on standard error for those who wait: only on a terminal, only past a second.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpuscope_job::Progress;
use indicatif::{ProgressBar, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Bar {
    begun: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        Bar { begun: Instant::now(), bar: OnceLock::new() }
    }
}

impl Progress for Bar {
    fn read(&self, done: u64, total: u64) {
        if self.bar.get().is_none() && self.begun.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let style = ProgressStyle::with_template("reading {bar:30} {bytes}/{total_bytes} {eta}");
            let bar = ProgressBar::new(total);
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
