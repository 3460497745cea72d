//! What a rank did in each step, in a few numbers: enough to say against other ranks whether its kernels were
//! slower, it had more of them, or its host kept the GPU waiting.

use std::collections::BTreeMap;

use gpuscope_trace::{Kind, Ns, StrId, View};
use rustc_hash::FxHashMap;

/// Names kept per rank: what is beyond the longest ones explains nothing.
const MOST_NAMES: usize = 40;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    /// Computing kernels.
    pub(super) kernels: i64,
    pub(super) compute: Ns,
    /// Time in which the device had nothing to do because the host had not launched anything.
    pub(super) host: Ns,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.kernels += other.kernels;
        self.compute += other.compute;
        self.host += other.host;
    }
}

#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(super) total: Amount,
    /// From the first start to the last end of all GPU work.
    pub(super) span: Ns,
    /// By step number.
    pub(super) steps: BTreeMap<i64, Amount>,
    /// Computing kernels by name, the longest in sum.
    pub(super) kernels: BTreeMap<String, Ns>,
}

impl Work {
    pub(super) fn of(view: View<'_>) -> Work {
        let steps = view.steps();
        let mut by_step = vec![Amount::default(); steps.len()];
        let mut work = Work::default();
        let mut names: FxHashMap<StrId, Ns> = FxHashMap::default();
        let mut busy_until: BTreeMap<i64, Ns> = BTreeMap::new();
        let mut cursor = steps.cursor();
        let first_start = view.gpu().next().map_or(Ns::ZERO, |first| first.start);
        for event in view.gpu() {
            let launched = view.launch_start(event.row);
            let step = launched.and_then(|launched| cursor.at(launched));
            // Before its first work a device waits from the beginning of the step.
            let from = step.map_or(event.start, |step| steps[step].start);
            let until = busy_until.entry(view.device(event.row)).or_insert(from);
            let idle = launched.map_or(Ns::ZERO, |launched| launched.min(event.start) - *until);
            *until = event.end.max(*until);
            let mut amount = Amount { host: idle.max(Ns::ZERO), ..Amount::default() };
            if event.kind == Kind::Computation {
                (amount.kernels, amount.compute) = (1, event.dur());
                *names.entry(view.trace.name_id(event.row)).or_default() += event.dur();
            }
            work.total += amount;
            work.span = work.span.max(event.end - first_start);
            if let Some(step) = step {
                by_step[step] += amount;
            }
        }
        work.steps = steps.iter().map(|step| step.number).zip(by_step).collect();
        let mut names: Vec<(StrId, Ns)> = names.into_iter().collect();
        names.sort_unstable_by_key(|(name, sum)| (std::cmp::Reverse(*sum), *name));
        names.truncate(MOST_NAMES);
        work.kernels =
            names.into_iter().map(|(name, sum)| (view.trace.strings.get(name).to_owned(), sum)).collect();
        work
    }

    /// What was done in these steps; in the whole run if there are none.
    pub(super) fn during(&self, steps: &[i64]) -> Amount {
        if steps.is_empty() {
            return self.total;
        }
        let mut sum = Amount::default();
        for step in steps {
            sum += self.steps.get(step).copied().unwrap_or_default();
        }
        sum
    }
}
