//! Which stretch of a trace the path is wanted for.

use gpuscope_trace::{Class, Interval, Ns, Row, Step, View};

use crate::model::graph::Window;
use crate::{Breakdown, Question};

/// Which of the annotations with a name: both ends in, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instances {
    pub first: usize,
    pub last: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WindowOf {
    /// The selected steps, or the median one if all are; the whole trace if none has GPU work.
    #[default]
    MedianStep,
    /// Host annotations whose name contains a text, by start.
    Annotation { containing: String, instances: Instances },
    /// All that was recorded.
    Everything,
}

pub(crate) struct Found {
    pub name: String,
    pub window: Window,
    /// From the first start to the last end of the annotations.
    pub annotated: Interval,
    /// If it is the median step.
    pub step: Option<ChosenStep>,
}

/// The step that stands for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenStep {
    pub number: i64,
    /// As every command has it.
    pub step_time: Ns,
    /// No step is near it, and it lies between two.
    pub between_two: bool,
}

impl WindowOf {
    pub(crate) fn find(&self, view: View<'_>) -> Option<Found> {
        match self {
            WindowOf::Everything => everything(view),
            WindowOf::MedianStep => match chosen_steps(view) {
                (steps, _) if steps.is_empty() => everything(view),
                (steps, step) => {
                    let rows: Vec<Row> = steps.iter().map(|step| step.row).collect();
                    Some(Found { step, ..of_rows(view, &rows, Some(&steps)) })
                }
            },
            WindowOf::Annotation { containing, instances } => {
                let named = |row: &Row| {
                    view.trace.class(*row) == Class::Annotation
                        && view.trace.span(*row).is_some()
                        && view.trace.name(*row).contains(containing.as_str())
                };
                let mut rows: Vec<Row> = view.trace.rows().filter(named).collect();
                rows.sort_by_key(|row| view.trace.start(*row));
                let until = instances.last.saturating_add(1).min(rows.len());
                let rows = rows.get(instances.first..until).filter(|rows| !rows.is_empty())?;
                Some(of_rows(view, rows, None))
            }
        }
    }
}

/// The steps that the selection leaves, or the median one of all.
fn chosen_steps(view: View<'_>) -> (Vec<Step>, Option<ChosenStep>) {
    let steps = view.steps();
    if view.selection.is_everything() {
        // Which rank it is makes no difference.
        let breakdown = Breakdown::default().local(0, view);
        let chosen = breakdown.median_step().zip(breakdown.step_time.as_ref()).map(|(step, time)| {
            ChosenStep { number: step.step, step_time: time.ns, between_two: time.steps_used == 0 }
        });
        let is_chosen = |step: &&Step| chosen.is_some_and(|chosen| chosen.number == step.number);
        return (steps.iter().filter(is_chosen).take(1).copied().collect(), chosen);
    }
    let selected = steps.iter().filter(|step| view.selection.has_step(step.number, step.start));
    (selected.copied().collect(), None)
}

/// From the first start to the last end of some annotations, or of the GPU work launched inside if that is later.
fn of_rows(view: View<'_>, rows: &[Row], steps: Option<&[Step]>) -> Found {
    // Guessed steps reach further than the annotation that marks them.
    let span = |i: usize, row: Row| {
        steps.map_or_else(|| view.trace.span(row).unwrap_or_default(), |steps| (steps[i].start, steps[i].end))
    };
    let spans = || rows.iter().enumerate().map(|(i, row)| (span(i, *row), *row));
    let start = spans().map(|((start, _), _)| start).min().unwrap_or_default();
    let ((_, end), last) = spans().max_by_key(|((_, end), _)| *end).unwrap_or_default();
    let annotated = Interval::new(start, end);
    let launched_inside =
        |row: Row| view.launch_start(row).is_some_and(|launched| start <= launched && launched < end);
    let gpu_end = view.gpu().filter(|event| launched_inside(event.row)).map(|event| event.end).max();
    let name = |row: Row| view.trace.name(row).to_owned();
    Found {
        name: match rows {
            [one] => name(*one),
            _ => format!("{} to {}", name(rows[0]), name(last)),
        },
        window: Window {
            span: Interval::new(start, gpu_end.map_or(end, |gpu| gpu.max(end))),
            host_end: Some((last, end)),
        },
        annotated,
        step: None,
    }
}

fn everything(view: View<'_>) -> Option<Found> {
    let (start, end) = view.trace.extent()?;
    let host = |row: &Row| view.trace.class(*row).is_host();
    let host_end: Option<(Ns, Row)> =
        view.trace.rows().filter(host).filter_map(|row| Some((view.trace.span(row)?.1, row))).max();
    let span = Interval::new(start, end);
    Some(Found {
        name: "the whole trace".to_owned(),
        window: Window { span, host_end: host_end.map(|(end, row)| (row, end)) },
        annotated: span,
        step: None,
    })
}
