//! Less work never saves less.
//!
//! What a change saves is how much sooner the last step ends, less what the first step gains by it. That difference may
//! shrink as work gets shorter still: when the host is what holds the last step, the first one may go on gaining. So it
//! is looked at for three factors only, 1, a half and 0, where a smaller one counts for at least what a larger one saves.
//! Between two of them the first step, which the others are measured from, stays as with the larger: then a smaller
//! factor can only make the last step end sooner. What comes out is kept between what the two save.
//!
//! What is taken away saves at most its own time, since the first step never loses more of it than the others do.

use gpuscope_trace::Ns;

use super::JobModel;
use crate::model::graph::{Replayed, Scenario, host_alone, replay};

const HALF: f64 = 0.5;

impl JobModel {
    /// What a step of each rank takes if marked work takes less time.
    pub(super) fn with_shorter_work(&self, scenario: &Scenario) -> Vec<Ns> {
        let factors = &scenario.factors;
        let larger: Vec<f64> = factors.iter().map(|factor| not_below(*factor)).collect();
        let alike = self.replayed(scenario, &larger, &larger);
        let mut steps = self.at_most(scenario, &larger, &alike);
        if *factors != larger {
            let smaller: Vec<f64> = factors.iter().map(|factor| not_above(*factor)).collect();
            let least = self.replayed(scenario, &smaller, &smaller);
            let between = self.replayed(scenario, &larger, factors);
            for (i, most) in steps.iter_mut().enumerate() {
                let least = self.step_since(i, &least[i], &least[i]).min(*most);
                *most = self.step_since(i, &alike[i], &between[i]).clamp(least, *most);
            }
        }
        let at_least_on_host = |(i, step): (usize, Ns)| {
            let graph = &self.coupled.graphs[i];
            self.ranks[i].steps.at_least_on_host(step, || host_alone(graph, i, scenario))
        };
        steps.into_iter().enumerate().map(at_least_on_host).collect()
    }

    /// What a step takes at most with some of the three factors: no more than with larger ones.
    fn at_most(&self, scenario: &Scenario, factors: &[f64], replayed: &[Replayed]) -> Vec<Ns> {
        let steps = |times: &[Replayed]| -> Vec<Ns> {
            times.iter().enumerate().map(|(i, times)| self.step_since(i, times, times)).collect()
        };
        let mut least = steps(replayed);
        let mut factors = factors.to_vec();
        while factors.iter().any(|factor| *factor < 1.0) {
            for factor in &mut factors {
                *factor = if *factor < HALF { HALF } else { 1.0 };
            }
            let with_more = steps(&self.replayed(scenario, &factors, &factors));
            for (least, step) in least.iter_mut().zip(with_more) {
                *least = (*least).min(step);
            }
        }
        least
    }

    /// Measured from the first step of one replay to the last of another.
    fn step_since(&self, rank: usize, first: &Replayed, last: &Replayed) -> Ns {
        let (steps, graph) = (&self.ranks[rank].steps, &self.coupled.graphs[rank]);
        steps.step_since(graph, steps.first_end(graph, first), last)
    }

    /// With these factors in the first step, and those in the rest.
    fn replayed(&self, scenario: &Scenario, first: &[f64], rest: &[f64]) -> Vec<Replayed> {
        let (factors, first_factors) = (rest.to_vec(), Some(first.to_vec()));
        replay(&self.coupled, &Scenario { factors, first_factors, ..scenario.clone() })
    }
}

/// The least of 0, a half and 1 that is not below a factor.
fn not_below(factor: f64) -> f64 {
    match factor {
        factor if factor <= 0.0 => 0.0,
        factor if factor <= HALF => HALF,
        _ => 1.0,
    }
}

/// The greatest of them that is not above it.
fn not_above(factor: f64) -> f64 {
    match factor {
        factor if factor >= 1.0 => 1.0,
        factor if factor >= HALF => HALF,
        _ => 0.0,
    }
}
