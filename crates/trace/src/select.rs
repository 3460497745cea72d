//! Which part of a trace a question is about.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::index::Index;
use crate::time::Ns;
use crate::trace::{Row, Trace};

/// One bit per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    pub fn from_fn(rows: usize, keep: impl Fn(Row) -> bool) -> Bitmap {
        let mut bits = Bitmap::empty(rows);
        for row in (0..rows as Row).filter(|row| keep(*row)) {
            bits.insert(row);
        }
        bits
    }

    pub fn empty(rows: usize) -> Bitmap {
        Bitmap { words: vec![0; rows.div_ceil(64)] }
    }

    /// Sets a bit; whether it was not set before.
    #[inline]
    pub fn insert(&mut self, row: Row) -> bool {
        let (word, bit) = (&mut self.words[row as usize / 64], 1 << (row % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    #[inline]
    pub fn has(&self, row: Row) -> bool {
        self.words[row as usize / 64] >> (row % 64) & 1 == 1
    }

    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// What the user asked to look at, the same for every command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    pub device: Option<i64>,
    pub stream: Option<i64>,
    /// First and last step, both in.
    pub steps: Option<(i64, i64)>,
    /// Nanoseconds after the first event of the rank.
    pub from: Option<Ns>,
    pub to: Option<Ns>,
    pub drop_last_step: bool,
}

impl Criteria {
    pub fn is_everything(&self) -> bool {
        *self == Criteria::default()
    }
}

/// The selection that leaves nothing out.
pub(crate) const EVERYTHING: u64 = 0;

static NEXT_ID: AtomicU64 = AtomicU64::new(EVERYTHING + 1);

/// The rows that a question looks at.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Tells selections apart.
    id: u64,
    rows: Option<Bitmap>,
    /// Steps from this time on are left out.
    cut: Option<Ns>,
    steps: Option<(i64, i64)>,
}

impl Selection {
    pub fn everything() -> Selection {
        Selection::default()
    }

    #[inline]
    pub fn has(&self, row: Row) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.has(row))
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub fn is_everything(&self) -> bool {
        self.rows.is_none()
    }

    /// Of what is selected, what some steps did and launched: both ends in.
    #[must_use]
    pub fn within_steps(&self, trace: &Trace, index: &Index, steps: (i64, i64)) -> Selection {
        let keep = |row: Row| self.has(row) && is_of_steps(trace, index, row, steps);
        Selection {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            rows: Some(Bitmap::from_fn(trace.len(), keep)),
            cut: self.cut,
            steps: Some(steps),
        }
    }

    /// Whether only some steps are looked at because they were asked for by number.
    pub fn chooses_steps(&self) -> bool {
        self.steps.is_some()
    }

    /// Whether a step that starts then, with that number, is looked at.
    pub fn has_step(&self, number: i64, start: Ns) -> bool {
        self.cut.is_none_or(|cut| start < cut)
            && self.steps.is_none_or(|(first, last)| (first..=last).contains(&number))
    }

    pub fn new(trace: &Trace, index: &Index, criteria: &Criteria) -> Selection {
        if criteria.is_everything() {
            return Selection::default();
        }
        let steps = index.steps(trace);
        // With a single step there is nothing left to look at, so nothing is dropped.
        let cut = (criteria.drop_last_step && steps.len() >= 2).then(|| steps[steps.len() - 1].start);
        let origin = trace.extent().map_or(Ns::ZERO, |(start, _)| start);
        let links = index.launches(trace);
        let keep = |row: Row| {
            let Some(start) = trace.start(row) else { return false };
            let class = trace.class(row);
            let gpu = class.is_gpu();
            if gpu {
                let place = trace.track(row);
                if criteria.device.is_some_and(|wanted| wanted != place.device)
                    || criteria.stream.is_some_and(|wanted| Some(wanted) != place.stream)
                {
                    return false;
                }
            }
            let offset = start - origin;
            if criteria.from.is_some_and(|from| offset < from) || criteria.to.is_some_and(|to| offset >= to) {
                return false;
            }
            let launch = if gpu { links.call(row).and_then(|call| trace.start(call)) } else { None };
            if let Some(cut) = cut
                && launch.unwrap_or(start) >= cut
            {
                return false;
            }
            criteria.steps.is_none_or(|steps| is_of_steps(trace, index, row, steps))
        };
        Selection {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            rows: Some(Bitmap::from_fn(trace.len(), keep)),
            cut,
            steps: criteria.steps,
        }
    }
}

/// Whether a step with one of these numbers did it, or launched it.
fn is_of_steps(trace: &Trace, index: &Index, row: Row, (first, last): (i64, i64)) -> bool {
    let launched = || index.launches(trace).call(row).and_then(|call| trace.start(call));
    let time = if trace.class(row).is_gpu() { launched() } else { trace.start(row) };
    let steps = index.steps(trace);
    let step = time.and_then(|time| steps.at(time)).map(|i| steps[i].number);
    step.is_some_and(|number| (first..=last).contains(&number))
}
