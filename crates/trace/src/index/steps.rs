//! The steps of a training or inference loop: recorded as `ProfilerStep#N`, or found by a marker.

use rustc_hash::FxHashMap;

use crate::class::Class;
use crate::time::Ns;
use crate::trace::{Row, Trace};

/// How the steps are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepOrigin {
    /// `ProfilerStep#N` annotations.
    #[default]
    Recorded,
    /// A marker that the user named.
    Marker,
    /// `Optimizer.step#…`, or an annotation that repeats: a guess.
    Inferred,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub number: i64,
    pub start: Ns,
    pub end: Ns,
    pub row: Row,
}

/// Steps by their start.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    steps: Vec<Step>,
    pub origin: StepOrigin,
}

impl std::ops::Deref for Steps {
    type Target = [Step];
    fn deref(&self) -> &[Step] {
        &self.steps
    }
}

impl Steps {
    pub(super) fn recorded(trace: &Trace) -> Steps {
        Steps::of(trace, StepOrigin::Recorded, |name| name.strip_prefix("ProfilerStep#")?.parse().ok())
    }

    /// Each annotation that the marker matches is a step; they are numbered from 0.
    pub fn marked(trace: &Trace, origin: StepOrigin, is_marker: impl Fn(&str) -> bool) -> Steps {
        let mut steps = Steps::of(trace, origin, |name| is_marker(name).then_some(0));
        for (number, step) in steps.steps.iter_mut().enumerate() {
            step.number = number as i64;
        }
        steps
    }

    /// A guess for traces without recorded steps: from one `Optimizer.step#…` to the next, else from one
    /// occurrence of the annotation that covers most time among those that repeat on one thread.
    pub fn inferred(trace: &Trace) -> Steps {
        let optimizer =
            Steps::marked(trace, StepOrigin::Inferred, |name| name.starts_with("Optimizer.step#"));
        if optimizer.len() >= 2 {
            return optimizer.stretched();
        }
        let mut repeating: FxHashMap<&str, (u32, Ns)> = FxHashMap::default();
        for row in annotations(trace) {
            if let Some((start, end)) = trace.span(row) {
                let (count, total) = repeating.entry(trace.name(row)).or_default();
                (*count, *total) = (*count + 1, *total + (end - start));
            }
        }
        let longest = repeating
            .iter()
            .filter(|(_, (count, _))| *count >= 3)
            .max_by_key(|(name, (_, total))| (*total, **name));
        match longest {
            Some((marker, _)) => {
                Steps::marked(trace, StepOrigin::Inferred, |name| name == *marker).stretched()
            }
            None => Steps { steps: Vec::new(), origin: StepOrigin::Inferred },
        }
    }

    /// Lets each step last until the next begins.
    fn stretched(mut self) -> Steps {
        for i in 1..self.steps.len() {
            self.steps[i - 1].end = self.steps[i].start;
        }
        self
    }

    fn of(trace: &Trace, origin: StepOrigin, number: impl Fn(&str) -> Option<i64>) -> Steps {
        let mut numbers: FxHashMap<_, Option<i64>> = FxHashMap::default();
        let mut steps: Vec<Step> = annotations(trace)
            .filter_map(|row| {
                let name = trace.name_id(row);
                let number = (*numbers.entry(name).or_insert_with(|| number(trace.strings.get(name))))?;
                let (start, end) = trace.span(row)?;
                Some(Step { number, start, end, row })
            })
            .collect();
        steps.sort_by_key(|step| step.start);
        Steps { steps, origin }
    }

    /// The step whose half-open span holds an instant; of overlapping ones the last to start.
    pub fn at(&self, time: Ns) -> Option<usize> {
        let after = self.steps.partition_point(|step| step.start <= time);
        // Steps do not overlap in practice; the one before covers traces where two threads record them.
        (after.saturating_sub(2)..after).rev().find(|i| time < self.steps[*i].end)
    }
}

fn annotations(trace: &Trace) -> impl Iterator<Item = Row> {
    trace.rows().filter(|row| trace.class(*row) == Class::Annotation)
}
