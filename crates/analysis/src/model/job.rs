//! A job that can be run again on paper: the dependency graphs of all ranks over all recorded steps, tied by their
//! collectives, and what a step takes in them.

mod median;
mod patterns;
mod shorter;
mod steps;

use gpuscope_trace::{Interval, Kind, Ns, Row, View};

use crate::breakdown::FirstSteps;
use crate::model::graph::{
    Alone, Coupled, Graph, Marks, Place, RankGraph, Replayed, Scenario, Spent, What, Why, Window, host_alone,
    replay, walk,
};
use crate::shared::median::median;
use crate::{Breakdown, Question};

pub use patterns::NamePattern;
pub(crate) use steps::StepEnds;

/// One rank's part in the model.
#[derive(Debug)]
pub(crate) struct RankModel {
    pub rank: u32,
    /// Gone to the job's model once there is one.
    graph: Option<RankGraph>,
    pub steps: StepEnds,
    /// First steps that are set apart.
    pub first_steps: Option<FirstSteps>,
    /// Names of GPU events and of calls that waited; each node's place in them, or none for the rest.
    pub names: Vec<String>,
    pub name_of: Vec<u32>,
    /// What the groups of its communication are called, by number; the first stands for none.
    pub groups: Vec<String>,
}

impl RankModel {
    /// The model of all selected work; `marks` tell what a scenario may change.
    pub(crate) fn new(rank: u32, view: View<'_>, marks: &Marks<'_>) -> Option<RankModel> {
        let window = all_steps(view)?;
        let mut tied = RankGraph::new(rank, view, &window, marks);
        let breakdown = Breakdown::default().local(rank, view);
        let steps = StepEnds::of(view, &breakdown, &mut tied.graph);
        let graph = &tied.graph;
        let mut names = Vec::new();
        let mut known = rustc_hash::FxHashMap::default();
        let mut name_of = vec![u32::MAX; graph.nodes.len()];
        for (place, node) in name_of.iter_mut().zip(&graph.nodes) {
            if matches!(node.what, What::Gpu(_) | What::Return) {
                *place = *known.entry(view.trace.name_id(node.row)).or_insert_with(|| {
                    names.push(view.trace.name(node.row).to_owned());
                    names.len() as u32 - 1
                });
            }
        }
        let first_steps = breakdown.first_steps();
        Some(RankModel { rank, graph: Some(tied), steps, first_steps, names, name_of, groups: Vec::new() })
    }
}

impl RankModel {
    /// Its graph, before it becomes part of a job's model.
    pub(crate) fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref().map(|tied| &tied.graph)
    }
}

/// The stretch of time that a rank's model is of.
pub(crate) fn model_window(view: View<'_>) -> Option<Interval> {
    all_steps(view).map(|window| window.span)
}

/// From the first step's start to the end of all that the steps launched; without steps all that was recorded.
fn all_steps(view: View<'_>) -> Option<Window> {
    let steps: Vec<_> =
        view.steps().iter().filter(|step| view.selection.has_step(step.number, step.start)).collect();
    let gpu_end = view.gpu().map(|event| event.end).max();
    let Some((first, last)) = steps.first().zip(steps.iter().max_by_key(|step| step.end)) else {
        let on_host = on_host(view);
        let gpu_start = view.gpu().map(|event| event.start).min();
        let start = on_host.iter().map(|(start, _)| *start).chain(gpu_start).min()?;
        let end = on_host.iter().map(|(_, (_, end))| *end).chain(gpu_end).max()?;
        return Some(Window { span: Interval::new(start, end), host_end: on_host.map(|(_, last)| last) });
    };
    let end = gpu_end.map_or(last.end, |end| end.max(last.end));
    Some(Window { span: Interval::new(first.start, end), host_end: Some((last.row, last.end)) })
}

/// When the host begins, and its last event with its end. Threads that launch nothing, such as those that poll for
/// events, are none of the program's unless there are no others.
fn on_host(view: View<'_>) -> Option<(Ns, (Row, Ns))> {
    let trace = view.trace;
    let thread = |row: Row| trace.track(row).thread;
    let mut launches = vec![false; trace.tracks.threads()];
    for call in view.gpu().filter_map(|event| view.launch(event.row)) {
        launches[thread(call).0 as usize] = true;
    }
    let any = launches.contains(&true);
    let counts = |row: &Row| trace.class(*row).is_host() && (!any || launches[thread(*row).0 as usize]);
    let spans = || trace.rows().filter(counts).filter_map(|row| Some((row, trace.span(row)?)));
    let (last, (_, end)) = spans().max_by_key(|(row, (_, end))| (*end, *row))?;
    let start = spans().map(|(_, (start, _))| start).min()?;
    Some((start, (last, end)))
}

/// All ranks together.
pub(crate) struct JobModel {
    pub ranks: Vec<RankModel>,
    pub coupled: Coupled,
    /// The groups of all ranks by what they are called; work in the graphs has their places.
    pub groups: Vec<String>,
}

/// What a scenario comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prediction {
    /// Of each rank, in order.
    pub steps: Vec<Ns>,
    /// The job's: the median rank's.
    pub step: Ns,
    pub bottleneck: Shares,
}

/// What the critical path of the slowest rank consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    pub host: Ns,
    pub computation: Ns,
    pub communication: Ns,
    pub copies: Ns,
    pub launching: Ns,
    pub synchronisation: Ns,
    pub unknown: Ns,
}

impl JobModel {
    pub(crate) fn new(locals: Vec<Option<RankModel>>) -> JobModel {
        let mut ranks: Vec<RankModel> = locals.into_iter().flatten().collect();
        let mut groups = vec![String::new()];
        let mut graphs = Vec::new();
        for rank in &mut ranks {
            let places: Vec<u16> = rank.groups.iter().map(|label| place_of(&mut groups, label)).collect();
            let Some(mut tied) = rank.graph.take() else { continue };
            for node in tied.graph.nodes.iter_mut().filter(|node| node.group != 0) {
                node.group = places.get(usize::from(node.group)).copied().unwrap_or(0);
            }
            graphs.push(tied);
        }
        JobModel { coupled: Coupled::of(graphs), ranks, groups }
    }

    /// Whether communication waits for ranks that are not here.
    pub(crate) fn has_lone_communication(&self) -> bool {
        self.coupled.lone_communication()
    }

    /// First steps that are set apart, where they are longest.
    pub(crate) fn first_steps(&self) -> Option<&FirstSteps> {
        self.ranks.iter().filter_map(|rank| rank.first_steps.as_ref()).max_by_key(|first| first.longest)
    }

    /// What a step takes on each rank, as recorded.
    pub(crate) fn recorded_steps(&self) -> Vec<Ns> {
        self.ranks.iter().map(|rank| rank.steps.recorded_step()).collect()
    }

    /// The job's step time: the median rank's.
    pub(crate) fn recorded_step(&self) -> Ns {
        median(self.recorded_steps()).unwrap_or_default()
    }

    fn step_times(&self, replayed: &[Replayed], scenario: &Scenario) -> Vec<Ns> {
        let each = self.ranks.iter().zip(&self.coupled.graphs).zip(replayed).enumerate();
        let step = |(i, ((rank, graph), times)): (usize, ((&RankModel, &Graph), &Replayed))| {
            let step = rank.steps.step_time(graph, times, || host_alone(graph, i, scenario));
            step.max(self.least_beside(i, scenario))
        };
        each.map(step).collect()
    }

    /// What communication that nothing waits for takes of a step: one collective of a group comes after the other, so that
    /// no step is shorter.
    fn least_beside(&self, rank: usize, scenario: &Scenario) -> Ns {
        let mut groups = vec![Ns::ZERO; scenario.groups.len()];
        if !scenario.groups.iter().any(|group| group.hidden) {
            return Ns::ZERO;
        }
        let (steps, graph) = (&self.ranks[rank].steps, &self.coupled.graphs[rank]);
        for (id, node) in (0..).zip(&graph.nodes).filter(|(_, node)| steps.counts(node)) {
            let place = usize::from(node.group);
            if let Some(group) = scenario.groups.get(place).filter(|group| place != 0 && group.hidden) {
                let transfer = self.coupled.transfer(Place { graph: rank as u32, node: id });
                let alone = if scenario.alone == Alone::Waits { Ns::ZERO } else { node.end - node.start };
                groups[place] += Ns((transfer.unwrap_or(alone).as_f64() * group.factor).round() as i64);
            }
        }
        groups.into_iter().max().map_or(Ns::ZERO, |all| steps.of_one(all))
    }

    pub(crate) fn step_time(&self, scenario: &Scenario) -> Ns {
        let scenario = &*scenario.spread_out(&self.coupled);
        median(self.step_times(&replay(&self.coupled, scenario), scenario)).unwrap_or_default()
    }

    /// The step time of a scenario that a user asks for; of two the one with less work is never the longer.
    pub(crate) fn predicted_step(&self, scenario: &Scenario) -> Ns {
        if scenario.shortens() {
            median(self.with_shorter_work(scenario)).unwrap_or_default()
        } else {
            self.step_time(scenario)
        }
    }

    pub(crate) fn predict(&self, scenario: &Scenario) -> Prediction {
        let replayed = replay(&self.coupled, scenario);
        let steps = if scenario.shortens() {
            self.with_shorter_work(scenario)
        } else {
            self.step_times(&replayed, scenario)
        };
        let slowest = (0..steps.len()).max_by_key(|i| steps[*i]).unwrap_or(0);
        let retimed = self.coupled.retimed(&replayed, scenario);
        let bottleneck = shares(&retimed, slowest as u32);
        Prediction { step: median(steps.clone()).unwrap_or_default(), steps, bottleneck }
    }

    /// The recorded job.
    pub(crate) fn as_recorded(&self) -> Prediction {
        let steps = self.recorded_steps();
        let slowest = (0..steps.len()).max_by_key(|i| steps[*i]).unwrap_or(0);
        Prediction {
            step: median(steps.clone()).unwrap_or_default(),
            steps,
            bottleneck: shares(&self.coupled, slowest as u32),
        }
    }

    /// What is left of a step if nothing is delayed that the model cannot explain.
    pub(crate) fn explained_step(&self) -> Ns {
        self.step_time(&Scenario { no_delays: true, alone: Alone::Waits, ..Scenario::default() })
    }
}

/// The place of a group that is not yet known is the next.
fn place_of(groups: &mut Vec<String>, label: &str) -> u16 {
    let known = groups.iter().skip(1).position(|group| group == label).map(|place| place + 1);
    let place = known.unwrap_or_else(|| {
        groups.push(label.to_owned());
        groups.len() - 1
    });
    u16::try_from(place).unwrap_or(u16::MAX)
}

fn shares(coupled: &Coupled, graph: u32) -> Shares {
    let mut shares = Shares::default();
    if coupled.graphs.is_empty() {
        return shares;
    }
    for stretch in walk(coupled, graph, coupled.graphs[graph as usize].span) {
        let what =
            coupled.graphs[stretch.graph as usize].nodes.get(stretch.node as usize).map(|node| node.what);
        *match (stretch.spent, what) {
            (Spent::Running, Some(What::Gpu(Kind::Communication))) => &mut shares.communication,
            (Spent::Running, Some(What::Gpu(Kind::Memcpy))) => &mut shares.copies,
            (Spent::Running, Some(What::Gpu(_))) => &mut shares.computation,
            (Spent::Running | Spent::Before(Why::Thread | Why::Handover), _) => &mut shares.host,
            (Spent::Before(Why::Launch | Why::Stream), _) => &mut shares.launching,
            (Spent::Before(Why::Event | Why::Synchronisation | Why::FullQueue), _) => {
                &mut shares.synchronisation
            }
            (Spent::Unknown, _) => &mut shares.unknown,
        } += stretch.time.len();
    }
    shares
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Interval, Ns, Selection};

    use super::model_window;
    use crate::testing::trace;

    #[test]
    fn without_steps_the_model_is_of_what_the_launching_threads_do() {
        let loaded = trace()
            .on_thread(9, "cuda_runtime", "cudaEventQuery", 0..5, &[])
            .call(1, 100..105)
            .kernel("k", 7, 120..200, 1)
            .named_call("cudaDeviceSynchronize", 2, 110..210)
            .on_thread(9, "cuda_runtime", "cudaEventQuery", 900..905, &[])
            .build();
        let everything = Selection::everything();
        let span = model_window(loaded.view(&everything));
        assert_eq!(span, Some(Interval::new(Ns(100), Ns(210))));
    }
}
