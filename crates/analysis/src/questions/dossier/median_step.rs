//! One step in full: the step of the median rank that is nearest to its step time, and what every nanosecond of it was.
//!
//! The step is its period, from the last GPU end of the step before to its own, and all GPU work in that time counts,
//! whichever step launched it; where there is no period it is the window, from the annotation's start to the later of
//! its end and the last GPU end. Computation hides communication, and both hide copies. Where several collectives run
//! at once, the one that began first has the time. The beginning of a collective up to what it took longer than on the
//! fastest rank was waiting, the rest transfer. Idle time is cut as in `idle`. The parts make up the step exactly.

use gpuscope_trace::{GpuEvent, Interval, Kind, Ns, TimeSet, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::breakdown::{RankBreakdown, StepTimes};
use crate::collectives::CollectivesAnswer;
use crate::idle::{Cut, Idle, Unrecorded};
use crate::model::step_time::Basis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Computation,
    /// In a collective, for ranks that came later.
    Waiting,
    Transfer,
    Copy,
    /// Nothing was launched.
    IdleHost,
    /// Inside the call that launched the next work.
    IdleInCall,
    /// Launched, and on its way.
    IdleLaunch,
    /// Launched, and waiting for something else.
    IdleQueued,
    /// What launched the work is not recorded.
    IdleUnlinked,
    /// Work from before the recording still ran.
    Unrecorded,
    /// Before the first GPU work of a window.
    Lead,
    /// After the last.
    Tail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepPart {
    pub what: What,
    /// Whom the communication is with.
    pub group: Option<String>,
    pub ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MedianStep {
    pub rank: u32,
    pub step: i64,
    pub from: Basis,
    pub start_ns: Ns,
    pub length_ns: Ns,
    /// They add up to the length.
    pub parts: Vec<StepPart>,
}

/// Communication that nothing hides, piece by piece.
#[derive(Clone, Copy, Debug)]
struct Exposed {
    /// The collective it is of.
    collective: Interval,
    piece: Interval,
}

/// The step of one rank.
#[derive(Debug)]
pub(super) struct RankStep {
    rank: u32,
    step: i64,
    step_time: Ns,
    from: Basis,
    whole: Interval,
    own: Vec<(What, Ns)>,
    exposed: Vec<Exposed>,
}

pub(super) fn local(rank: u32, view: View<'_>, breakdown: &RankBreakdown) -> Option<RankStep> {
    let time = breakdown.step_time.as_ref()?;
    let row = breakdown.median_step()?;
    let whole = whole(view, row, time.from)?;
    let mut step = RankStep {
        rank,
        step: row.step,
        step_time: time.ns,
        from: time.from,
        whole,
        own: Vec::new(),
        exposed: Vec::new(),
    };
    step.fill(view);
    Some(step)
}

/// From when to when.
fn whole(view: View<'_>, row: &StepTimes, from: Basis) -> Option<Interval> {
    let steps = view.steps();
    let step = steps.iter().find(|step| step.number == row.step)?;
    let mut step_at = steps.cursor();
    let mut own: Option<Interval> = None;
    for event in view.gpu() {
        let launched = view.launch_start(event.row).and_then(|launched| step_at.at(launched));
        if launched.is_some_and(|at| steps[at].number == row.step) {
            own = Some(own.map_or(event.interval(), |own| Interval::new(own.start, own.end.max(event.end))));
        }
    }
    let start = own.map_or(step.start, |own| own.start.min(step.start));
    let end = own.map_or(step.end, |own| own.end);
    Some(match from {
        Basis::Period => Interval::new(end - row.period_ns?, end),
        Basis::Window => Interval::new(start, end.max(step.end)),
    })
}

impl RankStep {
    fn fill(&mut self, view: View<'_>) {
        let whole = self.whole;
        let clipped =
            |event: &GpuEvent| Interval::new(event.start.max(whole.start), event.end.min(whole.end));
        let inside: Vec<&GpuEvent> = view.gpu().filter(|event| !clipped(event).is_empty()).collect();
        let of = |is: fn(Kind) -> bool| {
            TimeSet::from_sorted(inside.iter().filter(|event| is(event.kind)).map(|event| clipped(event)))
        };
        let computation = of(|kind| matches!(kind, Kind::Computation | Kind::Memset));
        let communication = of(|kind| kind == Kind::Communication);
        let copies = of(|kind| kind == Kind::Memcpy);
        let busy = computation.union(&communication);
        self.own.push((What::Computation, computation.len()));
        self.own.push((What::Copy, copies.minus(&busy).len()));
        let exposed = communication.minus(&computation);
        let mut left = exposed.intervals();
        let mut covered = whole.start;
        for event in inside.iter().filter(|event| event.kind == Kind::Communication) {
            let fresh = Interval::new(event.start.max(covered), event.end.min(whole.end));
            covered = covered.max(fresh.end);
            while let [first, rest @ ..] = left
                && first.start < fresh.end
            {
                let piece = Interval::new(first.start.max(fresh.start), first.end.min(fresh.end));
                if !piece.is_empty() {
                    self.exposed.push(Exposed { collective: event.interval(), piece });
                }
                if first.end > fresh.end {
                    break;
                }
                left = rest;
            }
        }
        self.idle(view, &inside);
    }

    /// The gaps before each event and after the last.
    fn idle(&mut self, view: View<'_>, inside: &[&GpuEvent]) {
        let (mut busy_until, mut idle) = (self.whole.start, [Ns::ZERO; 6]);
        let (threshold, older) = (Idle::default().threshold, Unrecorded::of(view));
        for (i, event) in inside.iter().enumerate() {
            let gap = Interval::new(busy_until, event.start);
            busy_until = busy_until.max(event.end);
            if gap.is_empty() {
                continue;
            }
            if i == 0 && self.from == Basis::Window {
                self.own.push((What::Lead, gap.len()));
                continue;
            }
            let parts = match view.launch(event.row).and_then(|call| view.trace.span(call)) {
                Some((began, returned)) if older.fills(gap, event.row, Interval::new(began, returned)) => {
                    [Ns::ZERO, Ns::ZERO, Ns::ZERO, Ns::ZERO, Ns::ZERO, gap.len()]
                }
                Some((began, returned)) => {
                    let cut = Cut::of(gap, Interval::new(began, returned), threshold);
                    [cut.host.len(), cut.in_call, cut.launch, cut.queued, Ns::ZERO, Ns::ZERO]
                }
                None => [Ns::ZERO, Ns::ZERO, Ns::ZERO, Ns::ZERO, gap.len(), Ns::ZERO],
            };
            for (sum, part) in idle.iter_mut().zip(parts) {
                *sum += part;
            }
        }
        let kinds = [
            What::IdleHost,
            What::IdleInCall,
            What::IdleLaunch,
            What::IdleQueued,
            What::IdleUnlinked,
            What::Unrecorded,
        ];
        self.own.extend(kinds.into_iter().zip(idle));
        let tail = Interval::new(busy_until.min(self.whole.end), self.whole.end);
        self.own.push((if inside.is_empty() { What::Lead } else { What::Tail }, tail.len()));
    }
}

/// The step of the median rank, its communication told apart by what is known of all ranks.
pub(super) fn merge(mut ranks: Vec<RankStep>, collectives: &CollectivesAnswer) -> Option<MedianStep> {
    ranks.sort_by_key(|rank| (rank.step_time, rank.rank));
    let middle = ranks.len().checked_sub(1)? / 2;
    let chosen = ranks.swap_remove(middle);
    let mut known: FxHashMap<(Ns, Ns), (Ns, Option<String>)> = FxHashMap::default();
    for row in &collectives.collectives {
        for part in row.ranks.iter().filter(|part| part.rank == chosen.rank) {
            let purpose =
                row.group_description.as_deref().filter(|text| !text.is_empty() && *text != "undefined");
            let group = purpose.or(row.group.as_deref()).map(str::to_owned);
            known.insert((part.start_ns, part.dur_ns), (part.wait_low_ns, group));
        }
    }
    let mut parts: Vec<StepPart> =
        chosen.own.iter().map(|(what, ns)| StepPart { what: *what, group: None, ns: *ns }).collect();
    for Exposed { collective, piece } in &chosen.exposed {
        let (wait, group) = known.get(&(collective.start, collective.len())).cloned().unwrap_or_default();
        let until = collective.start + wait;
        let waiting = (piece.end.min(until) - piece.start).max(Ns::ZERO);
        add(&mut parts, What::Waiting, group.clone(), waiting);
        add(&mut parts, What::Transfer, group, piece.len() - waiting);
    }
    parts.retain(|part| part.ns > Ns::ZERO);
    parts.sort_by_key(|part| part.what as u8);
    Some(MedianStep {
        rank: chosen.rank,
        step: chosen.step,
        from: chosen.from,
        start_ns: chosen.whole.start,
        length_ns: chosen.whole.len(),
        parts,
    })
}

fn add(parts: &mut Vec<StepPart>, what: What, group: Option<String>, ns: Ns) {
    match parts.iter_mut().find(|part| part.what == what && part.group == group) {
        Some(part) => part.ns += ns,
        None => parts.push(StepPart { what, group, ns }),
    }
}
