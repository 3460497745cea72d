//! The figures of one chart, from the traces of a run.

use gpuscope_analysis::charts::{Chart, Source};
use gpuscope_analysis::diff::{DiffAnswer, Side};
use gpuscope_analysis::ops::{By, Limits};
use gpuscope_analysis::{
    Bandwidth, Breakdown, Collectives, Copies, Counters, CriticalPath, Diff, Idle, Kernels, Layers, Memory,
    Ops, Overlap, Question, Queue, StackDepth, Temporal, Throughput,
};
use gpuscope_figure::{Figure, Pictured};
use gpuscope_trace::Holds;

use crate::error::Error;
use crate::run::{Outcome, Run};

/// What a chart may be told.
#[derive(Clone, Debug, Default)]
pub struct ChartOptions {
    /// Bars, slices or lines that are drawn each by itself, rather than as many as are easily told apart.
    pub top: Option<usize>,
    /// Only modules with fewer than this many others around them.
    pub depth: Option<u32>,
    /// What the user says of the GPU.
    pub limits: Limits,
}

impl Run {
    /// Asks what the chart rests on, and draws it; no figures if the traces hold nothing for it. What compares two runs
    /// compares this one with itself; see [`Run::chart_against`].
    pub fn chart(&self, chart: &Chart, options: &ChartOptions) -> Result<Outcome<Vec<Figure>>, Error> {
        let top = options.top;
        // What was measured is better than what shapes say, where it says enough.
        if chart.source == Source::Ops && self.holds(Holds::Metrics) {
            let measured = only(chart, self.pictured(&Counters)?);
            if !measured.answer.is_empty() {
                return Ok(measured);
            }
        }
        let outcome = match chart.source {
            Source::Bandwidth => self.pictured(&Bandwidth { series: true }),
            Source::Breakdown => self.pictured(&Breakdown::default()),
            Source::Collectives => self.drawn(&Collectives::default(), |answer| answer.figures_of_top(top)),
            Source::Copies => self.pictured(&Copies),
            Source::CriticalPath => self.pictured(&CriticalPath::default()),
            Source::Diff => return self.chart_against(self, chart, options),
            Source::Idle => self.pictured(&Idle::default()),
            Source::Kernels => self.drawn(&Kernels::default(), |answer| answer.figures_of_top(top)),
            Source::Layers => {
                self.drawn(&Layers { depth: options.depth }, |answer| answer.figures_of_top(top))
            }
            Source::Memory => self.pictured(&Memory { series: true }),
            Source::Ops => {
                self.pictured(&Ops { by: By::Arguments, limits: options.limits.clone(), ..Ops::default() })
            }
            Source::Overlap => self.pictured(&Overlap),
            Source::Queue => self.pictured(&Queue { series: true, ..Queue::default() }),
            Source::StackDepth => self.pictured(&StackDepth),
            Source::Temporal => self.pictured(&Temporal),
            Source::Throughput => {
                let question = Throughput { depth: options.depth, ..Throughput::default() };
                self.drawn(&question, |answer| answer.figures_of_top(top))
            }
        }?;
        Ok(only(chart, outcome))
    }

    /// What changed since another run.
    pub fn chart_against(
        &self,
        before: &Run,
        chart: &Chart,
        options: &ChartOptions,
    ) -> Result<Outcome<Vec<Figure>>, Error> {
        let (a, b) = (before.ask(&Diff)?, self.ask(&Diff)?);
        let answer = DiffAnswer::between(&Side::run(&a.answer.0), &Side::run(&b.answer.0));
        let outcome = Outcome {
            inputs: a.inputs.into_iter().chain(b.inputs).collect(),
            quality: a.quality.into_iter().chain(b.quality).collect(),
            answer: answer.figures_of_top(options.top),
        };
        Ok(only(chart, outcome))
    }

    fn pictured<Q: Question>(&self, question: &Q) -> Result<Outcome<Vec<Figure>>, Error>
    where
        Q::Answer: Pictured,
    {
        self.drawn(question, Pictured::figures)
    }

    fn drawn<Q: Question>(
        &self,
        question: &Q,
        draw: impl FnOnce(&Q::Answer) -> Vec<Figure>,
    ) -> Result<Outcome<Vec<Figure>>, Error> {
        let Outcome { inputs, quality, answer } = self.ask(question)?;
        Ok(Outcome { inputs, quality, answer: draw(&answer) })
    }
}

/// Of an answer's figures those of the chart, where there is something to see.
fn only(chart: &Chart, mut outcome: Outcome<Vec<Figure>>) -> Outcome<Vec<Figure>> {
    outcome.answer.retain(|figure| figure.name == chart.name && !figure.is_empty());
    outcome
}
