//! How much may be in memory at once, and who waits for whom.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that the traces being read may take together.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// A share of the budget, given back when dropped: also if the reader panics.
#[derive(Debug)]
pub(crate) struct Share<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Budget {
        Budget { limit, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until the bytes fit. One reader may always go on, however large its trace is thought to be: if it turns
    /// out to be larger than the limit, reading ends.
    pub(crate) fn take(&self, bytes: u64) -> Share<'_> {
        let used = self.lock();
        let full = |used: &mut u64| *used > 0 && used.saturating_add(bytes) > self.limit;
        let mut used = self.freed.wait_while(used, full).unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(bytes);
        Share { budget: self, bytes }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.lock();
        *used = used.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

/// Half of the memory this process may use.
pub fn default_limit() -> u64 {
    const UNKNOWN: u64 = 8 << 30;
    let group =
        std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    machine.into_iter().chain(group).min().unwrap_or(UNKNOWN) / 2
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_given_back() {
        let budget = Budget::new(10);
        let first = budget.take(100);
        drop(first);
        let (a, b) = (budget.take(4), budget.take(6));
        assert_eq!(*budget.lock(), 10);
        drop((a, b));
        assert_eq!(*budget.lock(), 0);
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(total("MemTotal:       2048 kB\nMemFree: 1 kB"), Some(2 << 20));
        assert_eq!(total(""), None);
    }
}
