//! What part of the GPU's peak did the model use?
//!
//! MFU is the time that the FLOPs of one step would take at the dense peak of their number formats, of the step
//! time. Counted are the operations of matrix units (products, convolutions, attention), as is the custom, without
//! what runs again: what activation checkpointing threw away, and the scores of attention on its way back. HFU counts
//! these too. Where operators with a work model call others
//! (`aten::linear` and `aten::addmm`), the outermost counts, and nothing below it. Step time is that of `breakdown`;
//! FLOPs are the mean over its steps, or all there are if the trace has no steps, whose time is then from the first
//! GPU start to the last end. `coverage_pct` is the share of these steps' computing kernels' time that belongs to
//! operators with known work, those without a known launch among the unknown unless they ran before all that were
//! launched: below 90 % the true MFU may be well above the one shown.

use std::collections::BTreeMap;

use gpuscope_trace::{Bitmap, GpuEvent, Kind, Ns, View};
use gpuscope_work::{Engine, Precision, Work};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::calls::Calls;
use super::counted::{Counted, counted};
use super::kinds::Kinds;
use super::roofline::Limits;
use super::work::Works;
use crate::model::step_time::Basis;
use crate::{Breakdown, Question};

/// Operations of one number format in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrecisionFlops {
    pub rank: u32,
    /// Null if the trace does not say.
    pub precision: Option<&'static str>,
    pub model_flops: u64,
    pub hardware_flops: u64,
    /// The dense peak; null if the GPU is not known.
    pub peak_tflops_per_s: Option<f64>,
}

/// Utilisation of one rank, or of all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Utilisation {
    /// Of one step.
    pub model_flops: u64,
    /// With what ran again.
    pub hardware_flops: u64,
    /// Null without any GPU work.
    pub step_ns: Option<Ns>,
    /// Steps that the FLOPs are the mean of; 0 if all of the trace is one.
    pub steps: u64,
    pub mfu_pct: Option<f64>,
    pub hfu_pct: Option<f64>,
    /// Share of the computing kernels' time with known work.
    pub coverage_pct: f64,
    /// Whether the true values may be well above: much work, or its number format, is not known.
    pub at_least: bool,
    /// With `--tokens-per-step`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops_per_token: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankUtilisation {
    pub rank: u32,
    /// Whose peaks were used.
    pub gpu: Option<String>,
    #[serde(flatten)]
    pub of: Utilisation,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mfu {
    /// All ranks: FLOPs are summed, the step is that of the slowest.
    #[serde(flatten)]
    pub all: Utilisation,
    pub by_precision: Vec<PrecisionFlops>,
    pub ranks: Vec<RankUtilisation>,
    #[serde(skip)]
    sums: Sums,
}

/// What ranks add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// Nanoseconds at peak; absent as soon as a peak is not known.
    model_ns: Option<f64>,
    hardware_ns: Option<f64>,
    /// Whether some number format has no known peak.
    partial: bool,
    known: Ns,
    computing: Ns,
    tokens: Option<f64>,
}

/// What the user says about one rank in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerStep {
    pub model_flops: Option<f64>,
    pub tokens: Option<f64>,
}

/// FLOPs of a number format: first time, and again.
#[derive(Clone, Copy, Default)]
struct Flops {
    model: u128,
    again: u128,
}

pub(super) struct Asked<'m> {
    pub(super) view: View<'m>,
    pub(super) calls: &'m Calls,
    pub(super) kinds: &'m Kinds,
    pub(super) works: &'m Works,
    pub(super) again: &'m Bitmap,
    pub(super) limits: &'m Limits,
    pub(super) per_step: PerStep,
}

impl Asked<'_> {
    pub(super) fn mfu(&self, rank: u32) -> Mfu {
        let window = Window::of(rank, self.view);
        let mut sums = Sums { tokens: self.per_step.tokens, ..Sums::default() };
        let flops = self.flops(&window, &mut sums);
        let steps = u128::try_from(window.steps.len()).unwrap_or(1).max(1);
        let whole = |flops: u128| u64::try_from(flops / steps).unwrap_or(u64::MAX);
        let by_precision: Vec<PrecisionFlops> = flops
            .into_iter()
            .map(|(precision, flops)| PrecisionFlops {
                rank,
                precision: precision.map(Precision::name),
                model_flops: whole(flops.model),
                hardware_flops: whole(flops.model.saturating_add(flops.again)),
                peak_tflops_per_s: precision
                    .and_then(|precision| self.limits.tflops(Engine::Matrix, precision)),
            })
            .collect();
        sums.model_ns = at_peak(&by_precision, |row| row.model_flops);
        sums.hardware_ns = at_peak(&by_precision, |row| row.hardware_flops);
        sums.partial = by_precision.iter().any(|row| row.peak_tflops_per_s.is_none());
        let sum = |of: fn(&PrecisionFlops) -> u64| by_precision.iter().map(of).fold(0, u64::saturating_add);
        let mut of = Utilisation {
            model_flops: sum(|row| row.model_flops),
            hardware_flops: sum(|row| row.hardware_flops),
            step_ns: window.time,
            steps: window.steps.len() as u64,
            ..Utilisation::default()
        };
        if let Some(told) = self.per_step.model_flops {
            // The mix of number formats stays as it was measured.
            let factor = told / of.model_flops as f64;
            sums.model_ns = sums.model_ns.map(|ns| ns * factor).filter(|ns| ns.is_finite());
            of.model_flops = told as u64;
        }
        of.judge(&sums, 1);
        Mfu {
            all: of.clone(),
            by_precision,
            ranks: vec![RankUtilisation { rank, gpu: self.limits.name(), of }],
            sums,
        }
    }

    /// FLOPs by number format in the steps that count; and how much computing time has known work.
    fn flops(&self, window: &Window, sums: &mut Sums) -> BTreeMap<Option<Precision>, Flops> {
        let mut flops: BTreeMap<Option<Precision>, Flops> = BTreeMap::new();
        let mut first_start = None;
        for Counted { call, known, work } in counted(self.calls, self.kinds, self.works) {
            if !window.has(self.view, self.calls.row(call)) {
                continue;
            }
            let direct = self.calls.direct(call);
            let time = computing(direct);
            sums.computing += time;
            if known {
                sums.known += time;
            }
            first_start = first_start.into_iter().chain(direct.first().map(|event| event.start)).min();
            if let Some(work) = work.filter(|work| work.engine == Engine::Matrix) {
                self.add(call, work, flops.entry(work.precision).or_default());
            }
        }
        let unlinked = self.calls.unlinked();
        let before = unlinked.partition_point(|event| first_start.is_some_and(|first| event.start < first));
        sums.computing += computing(&unlinked[before..]);
        flops
    }

    fn add(&self, call: usize, work: &Work, flops: &mut Flops) {
        let again = if self.again.has(self.calls.row(call)) { work.flops } else { work.recomputed };
        flops.again = flops.again.saturating_add(again);
        flops.model = flops.model.saturating_add(work.flops.saturating_sub(again));
    }
}

fn computing(events: &[GpuEvent]) -> Ns {
    events.iter().filter(|event| event.kind == Kind::Computation).map(GpuEvent::dur).sum()
}

/// Nanoseconds at peak of what has a known peak; nothing if nothing has.
fn at_peak(rows: &[PrecisionFlops], flops: fn(&PrecisionFlops) -> u64) -> Option<f64> {
    let known = rows.iter().filter_map(|row| Some(flops(row) as f64 / (row.peak_tflops_per_s? * 1e3)));
    known.fold(None, |sum, ns| Some(sum.unwrap_or(0.0) + ns))
}

/// Below this coverage the true utilisation may be well above the one shown.
const WELL_COVERED_PCT: f64 = 90.0;

impl Utilisation {
    fn judge(&mut self, sums: &Sums, ranks: usize) {
        let step = self.step_ns.filter(|step| *step > Ns::ZERO);
        let of_step = |ns: Option<f64>| Some(100.0 * ns? / (step?.as_f64() * ranks as f64));
        self.mfu_pct = of_step(sums.model_ns);
        self.hfu_pct = of_step(sums.hardware_ns);
        self.coverage_pct = sums.known.pct_of(sums.computing);
        self.at_least = sums.partial || self.coverage_pct < WELL_COVERED_PCT;
        let tokens = sums.tokens.filter(|tokens| *tokens > 0.0);
        self.tokens_per_s = tokens.and_then(|tokens| Some(tokens * 1e9 / step?.as_f64()));
        self.flops_per_token = tokens.map(|tokens| self.model_flops as f64 / tokens);
    }
}

impl Mfu {
    pub(super) fn join(&mut self, other: Mfu) {
        let (a, b) = (&mut self.all, other.all);
        a.model_flops = a.model_flops.saturating_add(b.model_flops);
        a.hardware_flops = a.hardware_flops.saturating_add(b.hardware_flops);
        a.step_ns = a.step_ns.max(b.step_ns);
        a.steps = a.steps.min(b.steps);
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.sums = Sums {
            model_ns: both(self.sums.model_ns, other.sums.model_ns),
            hardware_ns: both(self.sums.hardware_ns, other.sums.hardware_ns),
            partial: self.sums.partial || other.sums.partial,
            known: self.sums.known + other.sums.known,
            computing: self.sums.computing + other.sums.computing,
            tokens: both(self.sums.tokens, other.sums.tokens),
        };
        self.ranks.extend(other.ranks);
        self.by_precision.extend(other.by_precision);
        self.all.judge(&self.sums, self.ranks.len());
    }
}

/// The steps whose FLOPs count, and their time.
struct Window {
    time: Option<Ns>,
    /// By number; none if all of the trace is one step.
    steps: Vec<i64>,
}

impl Window {
    fn of(rank: u32, view: View<'_>) -> Window {
        let breakdown = Breakdown::default().local(rank, view);
        let Some(step_time) = breakdown.step_time else {
            let recorded = breakdown.total.total_ns - breakdown.unrecorded_ns;
            return Window { time: (recorded > Ns::ZERO).then_some(recorded), steps: Vec::new() };
        };
        let rows = || breakdown.steps.iter().chain(&breakdown.inferred_steps);
        let left_out: FxHashSet<i64> = step_time.left_out.iter().map(|out| out.step).collect();
        let mut steps: Vec<i64> =
            rows().map(|row| row.step).filter(|step| !left_out.contains(step)).collect();
        if steps.is_empty() {
            steps = rows().filter(|row| row.times.busy_ns > Ns::ZERO).map(|row| row.step).collect();
        }
        steps.sort_unstable();
        // A period ends the opening of a recording; a window may hold it.
        let unrecorded = if step_time.from == Basis::Window { breakdown.unrecorded_ns } else { Ns::ZERO };
        Window { time: Some(step_time.ns - unrecorded), steps }
    }

    fn has(&self, view: View<'_>, row: gpuscope_trace::Row) -> bool {
        let steps = view.steps();
        let number = || Some(steps[steps.at(view.trace.start(row)?)?].number);
        self.steps.is_empty() || number().is_some_and(|number| self.steps.binary_search(&number).is_ok())
    }
}
