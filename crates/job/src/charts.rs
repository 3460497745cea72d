//! The figures of one chart, from the traces of a run.

use gpuscope_analysis::charts::{Chart, Source};
use gpuscope_analysis::{
    Bandwidth, Breakdown, CriticalPath, Idle, Kernels, Overlap, Question, Queue, Temporal,
};
use gpuscope_figure::{Figure, Pictured};

use crate::error::Error;
use crate::run::{Outcome, Run};

/// What a chart may be told.
#[derive(Clone, Debug, Default)]
pub struct ChartOptions {
    /// Bars, slices or lines that are drawn each by itself, rather than as many as are easily told apart.
    pub top: Option<usize>,
}

impl Run {
    /// Asks what the chart rests on, and draws it; no figures if the traces hold nothing for it.
    pub fn chart(&self, chart: &Chart, options: &ChartOptions) -> Result<Outcome<Vec<Figure>>, Error> {
        let mut outcome = match chart.source {
            Source::Bandwidth => self.pictured(&Bandwidth { series: true }),
            Source::Breakdown => self.pictured(&Breakdown::default()),
            Source::CriticalPath => self.pictured(&CriticalPath::default()),
            Source::Idle => self.pictured(&Idle::default()),
            Source::Kernels => self.drawn(&Kernels::default(), |answer| answer.figures_of_top(options.top)),
            Source::Overlap => self.pictured(&Overlap),
            Source::Queue => self.pictured(&Queue { series: true, ..Queue::default() }),
            Source::Temporal => self.pictured(&Temporal),
        }?;
        outcome.answer.retain(|figure| figure.name == chart.name && !figure.is_empty());
        Ok(outcome)
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
