//! First steps that are unlike the others.
//!
//! Compilation, tuning, loading code and the growth of memory make the first steps of a program longer. What comes at the
//! beginning and has a window at least half as long again as the median step's tells nothing about the others: it is
//! set apart, and what is explained are the steps after it. A step that the user has chosen is never set apart.

use gpuscope_trace::{Code, Ns, Quality, View};

use super::{RankBreakdown, StepTimes};
use crate::shared::median::median;

/// Two steps do not tell which of them is unlike the other.
const FEWEST: usize = 3;

/// What is set apart, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstSteps {
    pub rank: u32,
    /// By number: the first, the last, and how many.
    pub first: i64,
    pub last: i64,
    pub count: usize,
    /// The longest window among them, and the median one of the others.
    pub longest: Ns,
    pub usual: Ns,
    /// The last step that was recorded.
    pub until: i64,
}

impl FirstSteps {
    pub(crate) fn times(&self) -> f64 {
        self.longest.as_f64() / self.usual.as_f64().max(1.0)
    }

    /// The steps that are explained, both ends in.
    pub(crate) fn explained(&self) -> (i64, i64) {
        (self.last.saturating_add(1), self.until)
    }

    /// `the first step takes 3 s`
    pub(crate) fn sentence(&self) -> String {
        let long = crate::shared::text::time(self.longest);
        match self.count {
            1 => format!("the first step takes {long}"),
            count => format!("the first {count} steps take up to {long}"),
        }
    }

    pub(crate) fn quality(&self) -> Quality {
        let (it, flag) = match self.count {
            1 => ("it is", format!("--step {}", self.first)),
            _ => ("they are", format!("--step {}..{}", self.first, self.last)),
        };
        let message = format!(
            "{}, {:.1} times as long as the others: {it} set apart, and the steps after that are explained; {flag} \
             explains what is set apart",
            self.sentence(),
            self.times()
        );
        Quality::new(Code::StepsSetApart, self.count as u64, message).of_rank(self.rank)
    }
}

impl RankBreakdown {
    /// The first steps, if they are set apart.
    pub(crate) fn first_steps(&self) -> Option<FirstSteps> {
        let (&first, &last) = self.set_apart.first().zip(self.set_apart.last())?;
        let rows = self.step_rows();
        let (apart, rest): (Vec<&StepTimes>, Vec<&StepTimes>) =
            rows.iter().partition(|row| self.set_apart.contains(&row.step));
        let works = |row: &&&StepTimes| row.times.busy_ns > Ns::ZERO;
        Some(FirstSteps {
            rank: self.rank,
            first,
            last,
            count: apart.len(),
            longest: apart.iter().map(|row| row.window_ns).max()?,
            usual: median(rest.iter().filter(works).map(|row| row.window_ns).collect())?,
            until: rows.last()?.step,
        })
    }
}

/// The numbers of the steps that are set apart.
pub(super) fn set_apart(view: View<'_>, rows: &[StepTimes]) -> Vec<i64> {
    if view.selection.chooses_steps() {
        return Vec::new();
    }
    let with_work: Vec<Ns> =
        rows.iter().filter(|row| row.times.busy_ns > Ns::ZERO).map(|row| row.window_ns).collect();
    if with_work.len() < FEWEST {
        return Vec::new();
    }
    let Some(usual) = median(with_work) else { return Vec::new() };
    let is_unlike = |row: &&StepTimes| row.window_ns.0.saturating_mul(2) >= usual.0.saturating_mul(3);
    let apart: Vec<i64> = rows.iter().take_while(is_unlike).map(|row| row.step).collect();
    // What is left has to have work to explain.
    let left = rows[apart.len()..].iter().filter(|row| row.times.busy_ns > Ns::ZERO).count();
    if left * 2 >= FEWEST { apart } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Criteria;

    use crate::Breakdown;
    use crate::testing::trace;

    /// Steps of so many nanoseconds one after the other, each with a kernel at its end.
    fn apart(lengths: &[i64], steps: Option<(i64, i64)>) -> Vec<i64> {
        let (mut sample, mut start) = (trace(), 0);
        for (number, length) in (1..).zip(lengths) {
            let end = start + length;
            sample = sample.step(number, start..end).call(number, start + 5..start + 8);
            sample = sample.kernel("gemm", 7, end - 20..end - 5, number);
            start = end;
        }
        let loaded = sample.build();
        let criteria = Criteria { steps, ..Criteria::default() };
        loaded.ask_about(&criteria, &Breakdown::default()).ranks.remove(0).set_apart
    }

    #[test]
    fn long_steps_that_come_first_are_set_apart() {
        assert_eq!(apart(&[900, 100, 100, 110], None), [1]);
        assert_eq!(apart(&[900, 300, 100, 110, 100], None), [1, 2]);
        assert_eq!(apart(&[140, 100, 100, 300, 100], None), [] as [i64; 0]);
        assert_eq!(apart(&[900, 100], None), [] as [i64; 0]);
        assert_eq!(apart(&[900, 100, 100, 110], Some((1, 4))), [] as [i64; 0]);
    }
}
