//! How long does a step take?
//!
//! The median period over whole steps, a period being the time from the last GPU end of the step before to the
//! last GPU end of this one. Hosts run ahead of their devices, so the length of a host annotation is not step
//! time. Left out, and said so:
//! the first step of a stretch (it has no period), steps without GPU work and those right after one, a last
//! step whose GPU work was cut off, and outliers: periods below half or above one and a half times the median
//! of what remains, or not positive at all. If no period is left, the median window of the whole steps with
//! GPU work serves, else that of all steps.
//! The median of an even number is the mean of the middle two, rounded down to a nanosecond.

use gpuscope_trace::Ns;
use serde::Serialize;

use crate::shared::median::median;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Period,
    Window,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No step was recorded right before it.
    First,
    /// It or the step before has no GPU work.
    NoGpuWork,
    /// The recording ended before its GPU work did.
    Cut,
    /// Far from the other steps.
    Outlier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub step: i64,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepTime {
    #[serde(rename = "median_ns")]
    pub ns: Ns,
    pub from: Basis,
    pub steps_used: usize,
    pub left_out: Vec<LeftOut>,
}

/// What is known of one step.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub step: i64,
    /// Whether the step with the number before it was recorded.
    pub follows: bool,
    pub period: Option<Ns>,
    pub window: Ns,
    pub has_gpu_work: bool,
    /// Whether its GPU work was cut off by the end of the recording.
    pub cut: bool,
}

impl Candidate {
    fn period(&self) -> Result<Ns, Reason> {
        match self.period {
            _ if !self.follows => Err(Reason::First),
            None => Err(Reason::NoGpuWork),
            Some(_) if self.cut => Err(Reason::Cut),
            Some(period) if period <= Ns::ZERO => Err(Reason::Outlier),
            Some(period) => Ok(period),
        }
    }

    fn window(&self) -> Result<Ns, Reason> {
        match self {
            _ if !self.has_gpu_work => Err(Reason::NoGpuWork),
            _ if self.cut => Err(Reason::Cut),
            _ => Ok(self.window),
        }
    }
}

/// The step time of some steps in order; `None` without any.
pub fn step_time(steps: &[Candidate]) -> Option<StepTime> {
    let all_windows = |step: &Candidate| Ok(step.window);
    by(steps, Basis::Period, Candidate::period)
        .or_else(|| by(steps, Basis::Window, Candidate::window))
        .or_else(|| by(steps, Basis::Window, all_windows))
}

fn by(
    steps: &[Candidate],
    from: Basis,
    length: impl Fn(&Candidate) -> Result<Ns, Reason>,
) -> Option<StepTime> {
    let usable = |step: &Candidate| length(step).ok();
    let rough = median(steps.iter().filter_map(usable).collect())?;
    let mut used = Vec::new();
    let mut left_out = Vec::new();
    for step in steps {
        let length =
            length(step).and_then(|ns| if is_near(ns, rough) { Ok(ns) } else { Err(Reason::Outlier) });
        match length {
            Ok(ns) => used.push(ns),
            Err(reason) => left_out.push(LeftOut { step: step.step, reason }),
        }
    }
    let steps_used = used.len();
    // With two very different steps both are far from their median; then that is the best there is.
    let ns = median(used).unwrap_or(rough);
    Some(StepTime { ns, from, steps_used, left_out })
}

fn is_near(ns: Ns, median: Ns) -> bool {
    let (ns, median) = (i128::from(ns.0), i128::from(median.0));
    2 * ns >= median && 2 * ns <= 3 * median
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: i64, period: Option<i64>) -> Candidate {
        Candidate {
            step,
            follows: step != 1,
            period: period.map(Ns),
            window: Ns(1000 + step),
            has_gpu_work: true,
            cut: false,
        }
    }

    fn left_out(time: &StepTime) -> Vec<(i64, Reason)> {
        time.left_out.iter().map(|out| (out.step, out.reason)).collect()
    }

    #[test]
    fn first_cut_and_outlying_steps_are_left_out_and_named() {
        let mut last = step(7, Some(60));
        last.cut = true;
        let periods = [Some(100), Some(110), Some(400), Some(105), Some(-5)];
        let mut steps = vec![step(1, None)];
        steps.extend(periods.into_iter().zip(2..).map(|(period, number)| step(number, period)));
        steps.push(last);
        let time = step_time(&steps).unwrap();
        assert_eq!((time.ns, time.from, time.steps_used), (Ns(105), Basis::Period, 3));
        assert_eq!(
            left_out(&time),
            [(1, Reason::First), (4, Reason::Outlier), (6, Reason::Outlier), (7, Reason::Cut)]
        );
    }

    #[test]
    fn with_one_step_it_is_its_window_and_with_none_nothing() {
        let time = step_time(&[step(1, None)]).unwrap();
        assert_eq!((time.ns, time.from, time.steps_used), (Ns(1001), Basis::Window, 1));
        assert_eq!(step_time(&[]), None);
        let idle = Candidate { has_gpu_work: false, ..step(1, None) };
        assert_eq!(step_time(&[idle]).unwrap().ns, Ns(1001));
    }

    #[test]
    fn when_the_only_period_is_cut_the_whole_steps_window_serves() {
        let cut = Candidate { cut: true, ..step(2, Some(50)) };
        let time = step_time(&[step(1, None), cut]).unwrap();
        assert_eq!((time.ns, time.from), (Ns(1001), Basis::Window));
        assert_eq!(left_out(&time), [(2, Reason::Cut)]);
    }

    #[test]
    fn the_median_of_two_lies_between_them() {
        let time = step_time(&[step(1, None), step(2, Some(100)), step(3, Some(103))]).unwrap();
        assert_eq!(time.ns, Ns(101));
        let apart = step_time(&[step(1, None), step(2, Some(100)), step(3, Some(1000))]).unwrap();
        assert_eq!((apart.ns, apart.steps_used), (Ns(550), 0));
    }
}
