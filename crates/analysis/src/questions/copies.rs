//! What was being copied when, and which pass and layer did the GPU work at then?
//!
//! Bytes in flight are the sizes of all copies of a kind that are under way; the running total grows when a copy ends.
//! Kinds are those of [`crate::bandwidth`], passes those of [`crate::phases`], layers the modules of [`crate::layers`]
//! at the outermost depth at which none has most of the work. Consecutive GPU work of one pass or layer is one stretch, as
//! are those with gaps that a chart of the whole time cannot show.

mod figures;
mod layers;

use gpuscope_figure::kept;
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Interval, Ns, View};
use serde::Serialize;

use crate::Question;
use crate::bandwidth::{Bandwidth, Copy};
use crate::layers::Pass;
use crate::phases::{self, Phase};
use crate::shared::runs::{Runs, finest};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BytesPoint {
    pub time_ns: Ns,
    /// From then on.
    pub bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindInFlight {
    pub kind: String,
    pub total_bytes: i64,
    pub points: Vec<BytesPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PassRun {
    pub phase: Phase,
    pub start_ns: Ns,
    pub end_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerRun {
    pub pass: Pass,
    pub module: String,
    pub start_ns: Ns,
    pub end_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankCopies {
    pub rank: u32,
    pub kinds: Vec<KindInFlight>,
    /// Bytes of all copies that have ended.
    pub running_total: Vec<BytesPoint>,
    pub passes: Vec<PassRun>,
    pub layers: Vec<LayerRun>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopiesAnswer {
    pub ranks: Vec<RankCopies>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Copies;

impl Question for Copies {
    type Local = RankCopies;
    type Answer = CopiesAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankCopies {
        let copies = Bandwidth { series: true }.local(rank, view).copies;
        let all: Vec<Copy> = copies.iter().flat_map(|kind| kind.series.iter().flatten().copied()).collect();
        if all.is_empty() {
            return RankCopies { rank, ..RankCopies::default() };
        }
        let in_flight = |copies: &[Copy]| {
            course(copies.iter().flat_map(|copy| {
                // One that takes no time was there all the same.
                let end = (copy.start_ns + copy.dur_ns).max(copy.start_ns + Ns(1));
                [(copy.start_ns, copy.bytes), (end, -copy.bytes)]
            }))
        };
        let kinds = copies.iter().map(|kind| KindInFlight {
            kind: kind.kind.clone(),
            total_bytes: kind.total_bytes,
            points: in_flight(kind.series.as_deref().unwrap_or_default()),
        });
        let whole = whole(view);
        RankCopies {
            rank,
            kinds: kinds.collect(),
            running_total: course(all.iter().map(|copy| (copy.start_ns + copy.dur_ns, copy.bytes))),
            passes: passes(view, finest(whole)),
            layers: layers::runs(view, finest(whole)),
        }
    }

    fn merge(&self, locals: Vec<RankCopies>) -> CopiesAnswer {
        CopiesAnswer { ranks: locals }
    }
}

fn whole(view: View<'_>) -> Interval {
    let mut whole: Option<Interval> = None;
    for event in view.gpu() {
        let so_far = whole.unwrap_or(event.interval());
        whole = Some(Interval::new(so_far.start.min(event.start), so_far.end.max(event.end)));
    }
    whole.unwrap_or(Interval::new(Ns::ZERO, Ns::ZERO))
}

/// The sum after each change.
fn course(changes: impl Iterator<Item = (Ns, i64)>) -> Vec<BytesPoint> {
    let mut changes: Vec<(Ns, i64)> = changes.collect();
    changes.sort_unstable_by_key(|(time, _)| *time);
    let mut sum: i64 = 0;
    let points: Vec<BytesPoint> = changes
        .chunk_by(|a, b| a.0 == b.0)
        .map(|at_once| {
            sum = at_once.iter().fold(sum, |sum, (_, change)| sum.saturating_add(*change));
            BytesPoint { time_ns: at_once[0].0, bytes: sum }
        })
        .collect();
    let x: Vec<f64> = points.iter().map(|point| point.time_ns.as_f64()).collect();
    let y: Vec<f64> = points.iter().map(|point| point.bytes as f64).collect();
    kept(&x, &y).into_iter().map(|place| points[place]).collect()
}

fn passes(view: View<'_>, finest: Ns) -> Vec<PassRun> {
    let mut runs: [Runs; Phase::ALL.len()] = Default::default();
    let events = view.index.gpu(view.trace).iter().zip(phases::of(view));
    for (event, phase) in events.filter(|(event, _)| view.selection.has(event.row)) {
        runs[phase as usize].add(event.interval(), finest);
    }
    let of_phase = |(phase, runs): (Phase, Runs)| {
        let run = move |time: Interval| PassRun { phase, start_ns: time.start, end_ns: time.end };
        runs.runs.into_iter().map(run)
    };
    // What belongs to nothing is no pass.
    let named = Phase::ALL.into_iter().zip(runs).filter(|(phase, _)| *phase != Phase::Unattributed);
    named.flat_map(of_phase).collect()
}

impl Tabular for CopiesAnswer {
    fn tables(&self) -> Vec<Table> {
        let points: Vec<(u32, &str, &BytesPoint)> = self
            .ranks
            .iter()
            .flat_map(|rank| rank.kinds.iter().map(move |kind| (rank.rank, kind)))
            .flat_map(|(rank, kind)| kind.points.iter().map(move |point| (rank, kind.kind.as_str(), point)))
            .collect();
        let points = Table::of("points", "Bytes being copied over time", &points)
            .int("rank", Unit::None, "The rank", |p| i64::from(p.0))
            .text("kind", "What was copied from where to where", |p| p.1.to_owned())
            .int("time_ns", Unit::TimestampNs, "When it changed", |p| p.2.time_ns.0)
            .int("bytes", Unit::Bytes, "Under way from then on", |p| p.2.bytes)
            .build();
        vec![points]
    }
}

#[cfg(test)]
mod tests;
