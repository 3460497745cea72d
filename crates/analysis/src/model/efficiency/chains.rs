//! Kernels that work element by element, one after another: each reads what the last has just written.
//!
//! Claimed of each event: it works element by element, reduces or normalises, by its kernel's name, and the event
//! before or after it on its stream does so too, launched by the same thread. A chain has at least two kernels that
//! are no reductions. Where one kernel follows itself four times or more, a loop goes over parameters or other tensors
//! that have nothing to do with each other: those kernels belong to no chain. Neither does what an optimizer or the
//! summing of gradients launches (`AccumulateGrad`), nor a chain of more than 16 without known launches, which may be
//! such a loop.
//!
//! The target is one kernel for a chain, as if each read two tensors and wrote one: of 3 tensors for each of L
//! kernels, L + 2 are left to move. That is two thirds for a pair and never less than a third.
//!
//! Silent below ten such kernels. That neighbours work on each other's results is not recorded; it is the rule in models, and the caveat says so.

use gpuscope_trace::{Bitmap, Class, Ns, Row, ThreadId};

use super::Opportunity;
use super::scene::{Event, PerName, Scene, take};
use super::sorts::Sort;
use crate::shared::owner::{Among, Owners};
use crate::shared::text;

pub(super) const ID: &str = "elementwise_chains";

/// Fewer kernels are no habit.
const FEWEST: usize = 10;
/// A kernel that follows itself so often is a loop over tensors.
const LOOP: usize = 4;
const LONGEST_UNLINKED: usize = 16;

pub(super) fn elementwise_chains(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    let mut apart = PerName::new(scene.view, is_apart);
    let mut owners = Owners::new(scene.view.index.nesting(trace), trace.len(), Among::Innermost, |row| {
        matches!(trace.class(row), Class::Annotation | Class::Operator) && apart.of(trace.name_id(row))
    });
    let mut chains: Vec<&[Event]> = Vec::new();
    for stream in &scene.streams {
        let keys: Vec<Option<Option<ThreadId>>> = stream
            .iter()
            .map(|event| {
                let launch = scene.view.launch(event.row);
                let fits = event.sort.is_fusible() && !taken.has(event.row);
                let mut joined = || launch.is_none_or(|launch| owners.of(launch).is_none());
                (fits && joined()).then(|| launch.map(|launch| trace.track(launch).thread))
            })
            .collect();
        let mut start = 0;
        for same in keys.chunk_by(|a, b| a == b) {
            let stretch = &stream[start..start + same.len()];
            start += same.len();
            if let Some(thread) = same[0] {
                let longest = if thread.is_some() { usize::MAX } else { LONGEST_UNLINKED };
                let parts = without_loops(scene, stretch);
                chains.extend(parts.into_iter().filter(|chain| chain.len() <= longest && is_chain(chain)));
            }
        }
    }
    take(taken, chains.iter().flat_map(|chain| chain.iter().map(|event| event.row)));
    report(scene, &chains).into_iter().collect()
}

/// Work on many parameters, one after the other.
fn is_apart(name: &str) -> bool {
    name.starts_with("Optimizer.") || name.contains("AccumulateGrad") || name.contains("clip_grad")
}

/// What is left of a stretch between kernels that follow themselves again and again.
fn without_loops<'e>(scene: &Scene<'_>, stretch: &'e [Event]) -> Vec<&'e [Event]> {
    let name = |event: &Event| scene.view.trace.name_id(event.row);
    let mut parts = Vec::new();
    let (mut first, mut start) = (0, 0);
    for same in stretch.chunk_by(|a, b| name(a) == name(b)) {
        if same.len() >= LOOP {
            parts.push(&stretch[first..start]);
            first = start + same.len();
        }
        start += same.len();
    }
    parts.push(&stretch[first..]);
    parts
}

fn is_chain(chain: &[Event]) -> bool {
    chain.iter().filter(|event| event.sort != Sort::Reduction).count() >= 2
}

/// The share of a chain's time that is left once it is one kernel.
fn left(length: usize) -> f32 {
    let length = length as f32;
    (length + 2.0) / (3.0 * length)
}

fn report(scene: &Scene<'_>, chains: &[&[Event]]) -> Option<Opportunity> {
    let mut events: Vec<(Row, f32)> = Vec::new();
    let mut removed_launches: Vec<Row> = Vec::new();
    let (mut time, mut longest, mut unlinked) = (Ns::ZERO, 0, 0_usize);
    for chain in chains {
        events.extend(chain.iter().map(|event| (event.row, left(chain.len()))));
        removed_launches.extend(chain[1..].iter().filter_map(|event| scene.own_launch(event.row)));
        time += chain.iter().map(|event| event.dur).sum();
        longest = longest.max(chain.len());
        unlinked += usize::from(scene.view.launch(chain[0].row).is_none());
    }
    if events.len() < FEWEST {
        return None;
    }
    let (kernels, count) = (events.len(), chains.len());
    let share = time.pct_of(scene.busy);
    let of_unlinked = format!("; for {unlinked} chains no launch is recorded");
    Some(Opportunity {
        id: ID,
        title: format!(
            "{kernels} elementwise, reduction and normalisation kernels run one after another in {}, {} in all",
            if count == 1 { "one chain".to_owned() } else { format!("{count} chains") },
            text::time(time)
        ),
        claim: vec![("events", kernels as i64), ("chains", count as i64), ("gpu_ns", time.0)],
        target: "one kernel per chain, which moves L + 2 tensors where L kernels now move 3 each".to_owned(),
        evidence: format!(
            "{share:.0} % of GPU time; {:.1} kernels per chain on average, {longest} at most{}",
            kernels as f64 / count as f64,
            if unlinked > 0 { of_unlinked.as_str() } else { "" }
        ),
        names: scene.largest(events.iter().map(|(row, _)| *row)),
        advice: "fuse them with torch.compile, or use fused modules (RMSNorm, rotary embedding, bias with GELU)",
        caveat: Some(
            "the trace does not record whether a kernel works on the result of the one before it".to_owned(),
        ),
        confident: false,
        events,
        removed_launches,
    })
}
