//! The same kernels take longer as the run goes on: clocks were lowered, or every step is slower than the last.

use gpuscope_trace::{Kind, Ns};
use rustc_hash::FxHashMap;

use super::{Confidence, Evidence, Facts, Finding, rank_flag};
use crate::model::graph::{Scenario, What};

pub(super) const THROTTLED: &str = "clocks_throttled";
pub(super) const DRIFT: &str = "step_time_drift";

/// Slower by less than this is noise.
const SLOWER: f64 = 1.03;
/// If one step alone brings so much of it, something happened then.
const AT_ONCE: f64 = 0.6;
const FEWEST_STEPS: usize = 4;
/// So many numbers a person still reads.
const MOST_SHOWN: usize = 12;

/// How much longer computation takes in each step than in the first, kernel for kernel.
struct Slowdown {
    place: usize,
    /// The first step with computation, as a place among the rank's steps.
    first: u32,
    /// By step from there on, with 1 for the first.
    by_step: Vec<f64>,
}

impl Slowdown {
    fn of(facts: &Facts<'_>, place: usize) -> Option<Slowdown> {
        let (graph, rank) = (&facts.model.coupled.graphs[place], &facts.model.ranks[place]);
        let mut times: FxHashMap<(u32, u32), (Ns, u64)> = FxHashMap::default();
        for (node, name) in graph.nodes.iter().zip(&rank.name_of) {
            if let (What::Gpu(Kind::Computation), Some(step)) = (node.what, node.step) {
                let (sum, count) = times.entry((step, *name)).or_default();
                (*sum, *count) = (*sum + (node.end - node.start), *count + 1);
            }
        }
        let mut times: Vec<_> = times.into_iter().collect();
        // By step, and in an order of its own, as sums of floats depend on it.
        times.sort_unstable_by_key(|(step_and_name, _)| *step_and_name);
        let (((first, _), _), ((last, _), _)) = (*times.first()?, *times.last()?);
        let mean = |(sum, count): (Ns, u64)| sum.as_f64() / count as f64;
        let at_first: FxHashMap<u32, f64> = times
            .iter()
            .take_while(|((step, _), _)| *step == first)
            .map(|((_, name), took)| (*name, mean(*took)))
            .collect();
        let mut took_and_would = vec![(0.0, 0.0); (last - first) as usize + 1];
        for ((step, name), took) in times {
            if let Some(then) = at_first.get(&name) {
                let (all_took, all_would) = &mut took_and_would[(step - first) as usize];
                *all_took += mean(took) * took.1 as f64;
                *all_would += then * took.1 as f64;
            }
        }
        let ratio = |(took, would)| if would > 0.0 { took / would } else { 1.0 };
        let by_step: Vec<f64> = took_and_would.into_iter().map(ratio).collect();
        (by_step.len() >= FEWEST_STEPS).then_some(Slowdown { place, first, by_step })
    }

    fn rise(&self) -> f64 {
        let part = self.by_step.len().div_ceil(3);
        let middle = |steps: &[f64]| {
            let mut steps = steps.to_vec();
            steps.sort_by(f64::total_cmp);
            steps[steps.len() / 2]
        };
        middle(&self.by_step[self.by_step.len() - part..]) / middle(&self.by_step[..part])
    }

    /// The course over the steps; of many only some, evenly spread, the last among them.
    fn course(&self) -> String {
        let (steps, shown) = (self.by_step.len(), self.by_step.len().min(MOST_SHOWN));
        let at = |i: usize| if shown < 2 { 0 } else { i * (steps - 1) / (shown - 1) };
        let ratios: Vec<String> = (0..shown).map(|i| format!("{:.2}", self.by_step[at(i)])).collect();
        let of_all = if shown < steps { format!(" ({shown} of {steps} steps)") } else { String::new() };
        ratios.join(" ") + &of_all
    }

    /// The step at which most of it came at once, if it did.
    fn jump(&self) -> Option<usize> {
        let rises = self.by_step.windows(2).map(|pair| pair[1] - pair[0]);
        let (at, largest) = rises.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (largest >= AT_ONCE * (self.rise() - 1.0)).then_some(at + 1)
    }
}

pub(super) fn slower_over_time(facts: &Facts<'_>) -> Vec<Finding> {
    let all = (0..facts.model.ranks.len()).filter_map(|place| Slowdown::of(facts, place));
    let slower: Vec<Slowdown> = all.filter(|slowdown| slowdown.rise() >= SLOWER).collect();
    let (jumped, drifted): (Vec<_>, Vec<_>) = slower.into_iter().partition(|slow| slow.jump().is_some());
    [finding(facts, &jumped, true), finding(facts, &drifted, false)].into_iter().flatten().collect()
}

fn finding(facts: &Facts<'_>, slower: &[Slowdown], at_once: bool) -> Option<Finding> {
    let worst = slower.iter().max_by(|a, b| a.rise().total_cmp(&b.rise()))?;
    let without = as_at_first(facts, slower);
    let gain = facts.gain(&without)?;
    let ranks: Vec<u32> = slower.iter().map(|slow| facts.model.ranks[slow.place].rank).collect();
    let percent = (worst.rise() - 1.0) * 100.0;
    let everywhere = ranks.len() == facts.model.ranks.len() && ranks.len() > 1;
    let place = if everywhere { "all ranks".to_owned() } else { listed(&ranks) };
    let steps = &facts.model.ranks[worst.place].steps;
    let step = worst.jump().and_then(|step| steps.number(worst.first as usize + step));
    let from = step.map_or_else(|| "some step".to_owned(), |step| format!("step {step}"));
    let (id, title, advice) = if at_once {
        (
            THROTTLED,
            format!("the same kernels take {percent:.0} % longer from {from} on, on {place}"),
            "check clocks, power cap and temperature (nvidia-smi -q -d PERFORMANCE), then cooling and the power limit",
        )
    } else {
        (
            DRIFT,
            format!(
                "steps keep getting slower: in the end the same kernels take {percent:.0} % longer, on {place}"
            ),
            "look for growing inputs, rising temperature or memory fragmentation; compare an early and a late step with diff",
        )
    };
    let finding = Finding::new(id, title, advice, format!("gpuscope breakdown{}", rank_flag(&ranks)));
    let claim = [("slower_pct", percent.round() as i64), ("ranks", ranks.len() as i64)];
    let evidence = Evidence {
        step,
        rank: Some(facts.model.ranks[worst.place].rank),
        text: format!("computation time, step by step, relative to the first: {}", worst.course()),
        ranks: if everywhere { Vec::new() } else { ranks },
        ..Evidence::default()
    };
    let finding = finding.claiming(claim).shown_by(evidence).trusted(Confidence::Medium, None);
    Some(finding.worth(gain, without))
}

fn listed(ranks: &[u32]) -> String {
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

/// Every step's computation takes what it took in the first.
fn as_at_first(facts: &Facts<'_>, slower: &[Slowdown]) -> Scenario {
    let mut node_factors = vec![Vec::new(); facts.model.ranks.len()];
    for slow in slower {
        let nodes = &facts.model.coupled.graphs[slow.place].nodes;
        let factor = |node: &crate::model::graph::Node| match (node.what, node.step) {
            (What::Gpu(Kind::Computation), Some(step)) => {
                let ratio =
                    slow.by_step.get(step.saturating_sub(slow.first) as usize).copied().unwrap_or(1.0);
                if ratio > 1.0 { (1.0 / ratio) as f32 } else { 1.0 }
            }
            _ => 1.0,
        };
        node_factors[slow.place] = nodes.iter().map(factor).collect();
    }
    Scenario { node_factors, ..Scenario::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_of_many_steps_is_told_in_few_numbers() {
        let course = |steps: u32| {
            let by_step = (0..steps).map(|step| 1.0 + f64::from(step) / 100.0).collect();
            Slowdown { place: 0, first: 0, by_step }.course()
        };
        assert_eq!(course(4), "1.00 1.01 1.02 1.03");
        assert_eq!(course(1), "1.00");
        assert_eq!(
            course(100),
            "1.00 1.09 1.18 1.27 1.36 1.45 1.54 1.63 1.72 1.81 1.90 1.99 (12 of 100 steps)"
        );
    }
}
