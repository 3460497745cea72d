//! Which layer the GPU worked at when.

use gpuscope_trace::{Interval, Ns, StrId, View};
use rustc_hash::FxHashMap;

use super::LayerRun;
use crate::layers::{Calls, Load, Pass};

const MOST_RUNS: usize = 2_000;
/// A module with more of the work than this is the model rather than a layer of it.
const MOST_PCT: f64 = 60.0;

/// Stretches of GPU work of one layer in one pass, by their start within each pass.
pub(super) fn runs(view: View<'_>, finest: Ns) -> Vec<LayerRun> {
    let calls = Calls::with_owners(view, Load::of);
    let depths = depths(&calls);
    let Some(depth) = layer_depth(&calls, &depths) else { return Vec::new() };
    let mut by_pass: [Vec<(u32, Interval)>; Pass::ALL.len()] = Default::default();
    for (event, owned) in view.gpu().zip(&calls.owners) {
        let Some((call, pass)) = *owned else { continue };
        let Some(layer) = layer_of(&calls, &depths, call, depth) else { continue };
        let time = event.interval();
        match by_pass[pass as usize].last_mut() {
            Some((same, run)) if *same == layer => run.end = run.end.max(time.end),
            _ => by_pass[pass as usize].push((layer, time)),
        }
    }
    let mut runs: Vec<(Pass, u32, Interval)> = Vec::new();
    for (pass, found) in Pass::ALL.into_iter().zip(by_pass) {
        runs.extend(seen(found, finest).into_iter().map(|(layer, run)| (pass, layer, run)));
    }
    if runs.len() > MOST_RUNS {
        runs.sort_by_key(|(_, _, run)| std::cmp::Reverse(run.len()));
        runs.truncate(MOST_RUNS);
    }
    runs.sort_by_key(|(pass, _, run)| (*pass, run.start));
    let named = |(pass, layer, run): (Pass, u32, Interval)| LayerRun {
        pass,
        module: calls.label(view, layer),
        start_ns: run.start,
        end_ns: run.end,
    };
    runs.into_iter().map(named).collect()
}

/// What cannot be seen does not interrupt what can.
fn seen(runs: Vec<(u32, Interval)>, finest: Ns) -> Vec<(u32, Interval)> {
    let mut seen: Vec<(u32, Interval)> = Vec::new();
    for (layer, run) in runs {
        match seen.last_mut() {
            Some((last, before))
                if *last == layer || run.len() < finest && run.start <= before.end + finest =>
            {
                before.end = before.end.max(run.end);
            }
            _ => seen.push((layer, run)),
        }
    }
    seen
}

fn depths(calls: &Calls) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(calls.by_start.len());
    for call in &calls.by_start {
        depths.push(depths.get(call.parent as usize).map_or(0, |parent| parent + 1));
    }
    depths
}

/// The outermost depth at which no module has most of the work.
fn layer_depth(calls: &Calls, depths: &[u32]) -> Option<u32> {
    let mut works: Vec<FxHashMap<StrId, Ns>> = Vec::new();
    for (call, depth) in calls.by_start.iter().zip(depths) {
        let work: Ns = call.subtree.iter().map(|load| load.compute).sum();
        if work > Ns::ZERO {
            works.resize_with(works.len().max(*depth as usize + 1), FxHashMap::default);
            *works[*depth as usize].entry(call.name).or_default() += work;
        }
    }
    let is_divided = |works: &FxHashMap<StrId, Ns>| {
        let most = works.values().copied().max().unwrap_or(Ns::ZERO);
        most.pct_of(works.values().copied().sum()) < MOST_PCT
    };
    let divided = works.iter().position(is_divided).or(works.len().checked_sub(1))?;
    u32::try_from(divided).ok()
}

/// The call at that depth around a call, or the call itself if it is not so deep.
fn layer_of(calls: &Calls, depths: &[u32], mut call: u32, depth: u32) -> Option<u32> {
    while *depths.get(call as usize)? > depth {
        call = calls.by_start[call as usize].parent;
    }
    Some(call)
}
