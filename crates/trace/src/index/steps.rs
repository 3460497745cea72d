//! The steps of a training or inference loop: recorded as `ProfilerStep#N`, or found by a marker.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::class::Class;
use crate::serving::{ServingPhase, ServingStep};
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
    /// Steps of an inference server, `Optimizer.step#…`, or an annotation that repeats: a guess.
    Inferred,
}

/// A test on the names of host annotations, such as a regular expression. Each annotation that passes is a
/// step; they are numbered from 0 by their start.
#[derive(Clone)]
pub struct StepMarker(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl StepMarker {
    pub fn new(is_step: impl Fn(&str) -> bool + Send + Sync + 'static) -> StepMarker {
        StepMarker(Arc::new(is_step))
    }

    pub fn is_step(&self, name: &str) -> bool {
        (self.0)(name)
    }
}

impl fmt::Debug for StepMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepMarker")
    }
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
    pub(super) fn marked(trace: &Trace, marker: &StepMarker) -> Steps {
        Steps::named(trace, StepOrigin::Marker, |name| marker.is_step(name))
    }

    fn named(trace: &Trace, origin: StepOrigin, is_step: impl Fn(&str) -> bool) -> Steps {
        let mut steps = Steps::of(trace, origin, |name| is_step(name).then_some(0));
        for (number, step) in steps.steps.iter_mut().enumerate() {
            step.number = number as i64;
        }
        steps
    }

    /// A guess for traces without recorded steps: from one step of an inference server to the next, else from one
    /// `Optimizer.step#…`, else from one occurrence of the annotation that covers most time among those that
    /// repeat on one thread.
    pub(super) fn inferred(trace: &Trace) -> Steps {
        let serving = Steps::serving(trace);
        // A lone annotation that merely begins like a server's may be anything.
        if serving.len() >= 2 || serving.iter().any(|step| tells_its_phase(trace.name(step.row))) {
            return serving;
        }
        let optimizer = Steps::named(trace, StepOrigin::Inferred, |name| name.starts_with("Optimizer.step#"));
        if optimizer.len() >= 2 {
            return optimizer.stretched();
        }
        let mut repeating: FxHashMap<&str, (u32, Ns)> = FxHashMap::default();
        for row in annotations(trace).filter(|row| !is_of_a_library(trace.name(*row))) {
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
                Steps::named(trace, StepOrigin::Inferred, |name| name == *marker).stretched()
            }
            None => Steps { steps: Vec::new(), origin: StepOrigin::Inferred },
        }
    }

    /// From one annotation of an inference server to the next; see [`ServingStep`].
    pub fn serving(trace: &Trace) -> Steps {
        let is_step = |name: &str| ServingStep::parse(name).is_some();
        Steps::named(trace, StepOrigin::Inferred, is_step).outermost().stretched()
    }

    /// Leaves out steps that lie within another: a server and the model it runs may both name theirs.
    fn outermost(mut self) -> Steps {
        let mut until = Ns(i64::MIN);
        self.steps.retain(|step| {
            let is_inside = step.end <= until && step.start < until;
            until = until.max(step.end);
            !is_inside
        });
        for (number, step) in self.steps.iter_mut().enumerate() {
            step.number = number as i64;
        }
        self
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
        self.holding(time, self.begun_by(time))
    }

    /// Looks up times that come nearly in order.
    pub fn cursor(&self) -> StepCursor<'_> {
        StepCursor { steps: self, begun: 0 }
    }

    /// How many steps have started by then.
    fn begun_by(&self, time: Ns) -> usize {
        self.steps.partition_point(|step| step.start <= time)
    }

    /// Steps do not overlap in practice; the one before covers traces where two threads record them.
    fn holding(&self, time: Ns, begun: usize) -> Option<usize> {
        (begun.saturating_sub(2)..begun).rev().find(|i| time < self.steps[*i].end)
    }
}

/// Remembers where the last time was found, and looks there first.
#[derive(Clone, Debug)]
pub struct StepCursor<'a> {
    steps: &'a Steps,
    begun: usize,
}

impl StepCursor<'_> {
    /// As [`Steps::at`].
    #[inline]
    pub fn at(&mut self, time: Ns) -> Option<usize> {
        let steps = &self.steps.steps;
        let fits = |begun: usize| {
            (begun == 0 || steps[begun - 1].start <= time)
                && steps.get(begun).is_none_or(|next| time < next.start)
        };
        if !fits(self.begun) {
            self.begun = if self.begun < steps.len() && fits(self.begun + 1) {
                self.begun + 1
            } else {
                self.steps.begun_by(time)
            };
        }
        self.steps.holding(time, self.begun)
    }
}

fn tells_its_phase(name: &str) -> bool {
    ServingStep::parse(name).is_some_and(|step| step.phase != ServingPhase::Other)
}

/// Ranges that libraries push around their own calls are no steps of the program, however often they repeat.
fn is_of_a_library(name: &str) -> bool {
    let begins =
        |start: &&str| name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    name.is_empty()
        || ["nccl", "rccl", "mpi_", "cublas", "cudnn", "cusolver", "cufft", "cub::", "nvshmem"]
            .iter()
            .any(begins)
}

fn annotations(trace: &Trace) -> impl Iterator<Item = Row> {
    trace.rows().filter(|row| trace.class(*row) == Class::Annotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(spans: &[(i64, i64)]) -> Steps {
        let step = |(number, &(start, end)): (usize, &(i64, i64))| Step {
            number: number as i64,
            start: Ns(start),
            end: Ns(end),
            row: 0,
        };
        Steps { steps: spans.iter().enumerate().map(step).collect(), origin: StepOrigin::Recorded }
    }

    #[test]
    fn a_cursor_finds_what_a_search_finds_in_any_order() {
        for spans in [&[][..], &[(5, 9)], &[(0, 4), (4, 9), (12, 20), (13, 15), (20, 20), (21, 22)]] {
            let steps = steps(spans);
            let mut cursor = steps.cursor();
            let times = (-1..25).chain((-1..25).rev()).chain((0..200).map(|i| i * 7 % 26 - 1));
            for time in times.map(Ns) {
                assert_eq!(cursor.at(time), steps.at(time), "{time}");
            }
        }
    }
}
