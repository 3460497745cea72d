//! A forward thread that waits while the autograd engine's thread runs the backward pass.
//!
//! The trace does not say so; but while the engine evaluates functions, the thread that called it records nothing.
//! Each stretch of the engine's work inside one such silence is a handover.
//!
//! Where no operators are recorded, calls have to do: the thread that calls first waits while another calls within one
//! of its silences.

use gpuscope_trace::{Class, Interval, Ns, Row, ThreadId, View};
use rustc_hash::FxHashMap;

use super::build::Places;
use super::host::HostNode;
use super::{Edge, Node, NodeId, What, Why, Window};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handover {
    pub waiting: ThreadId,
    pub waiting_row: Row,
    pub working: ThreadId,
    pub working_row: Row,
    pub span: Interval,
}

const ENGINE: &str = "autograd::engine::evaluate_function";

pub(super) fn find(view: View<'_>, window: &Window) -> Vec<Handover> {
    let mut work: FxHashMap<ThreadId, Vec<(Interval, Row)>> = FxHashMap::default();
    let mut operators: FxHashMap<ThreadId, (u64, Row)> = FxHashMap::default();
    let trace = view.trace;
    let mut is_engine: Vec<Option<bool>> = vec![None; trace.strings.len()];
    for row in trace.rows().filter(|row| trace.class(*row) == Class::Operator) {
        let Some((start, end)) = trace.span(row) else { continue };
        if start < window.span.start || start > window.span.end {
            continue;
        }
        let name = trace.name_id(row);
        let thread = trace.track(row).thread;
        operators.entry(thread).or_insert((0, row)).0 += 1;
        if *is_engine[name.index()].get_or_insert_with(|| trace.strings.get(name).starts_with(ENGINE)) {
            work.entry(thread).or_default().push((Interval::new(start, end), row));
        }
    }
    let forward = if operators.is_empty() {
        work = calls(view, window);
        work.iter()
            .map(|(thread, calls)| (calls[0], *thread))
            .min_by_key(|((span, _), _)| span.start)
            .map(|((_, row), thread)| (thread, row))
    } else {
        forward_thread(view, &work, &operators)
    };
    let Some((waiting, waiting_row)) = forward else { return Vec::new() };
    let silences = silences(view, waiting, window);
    let mut engines: Vec<ThreadId> = work.keys().copied().filter(|thread| *thread != waiting).collect();
    engines.sort_unstable();
    let mut found = Vec::new();
    for working in engines {
        let functions = work.get_mut(&working).map(std::mem::take).unwrap_or_default();
        for (span, working_row) in within(functions, &silences) {
            found.push(Handover { waiting, waiting_row, working, working_row, span });
        }
    }
    found
}

/// All calls of each thread.
fn calls(view: View<'_>, window: &Window) -> FxHashMap<ThreadId, Vec<(Interval, Row)>> {
    let trace = view.trace;
    let mut calls: FxHashMap<ThreadId, Vec<(Interval, Row)>> = FxHashMap::default();
    for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
        if let Some((start, end)) =
            trace.span(row).filter(|(start, _)| (window.span.start..=window.span.end).contains(start))
        {
            calls.entry(trace.track(row).thread).or_default().push((Interval::new(start, end), row));
        }
    }
    for calls in calls.values_mut() {
        calls.sort_by_key(|(span, _)| span.start);
    }
    calls
}

/// The thread of the steps, else the one with most operators beside the engine's.
fn forward_thread(
    view: View<'_>,
    engines: &FxHashMap<ThreadId, Vec<(Interval, Row)>>,
    operators: &FxHashMap<ThreadId, (u64, Row)>,
) -> Option<(ThreadId, Row)> {
    let thread = |row: Row| view.trace.track(row).thread;
    if let Some(step) = view.steps().first() {
        return Some((thread(step.row), step.row));
    }
    let busiest = operators
        .iter()
        .filter(|(thread, _)| !engines.contains_key(thread))
        .max_by_key(|(thread, (count, _))| (*count, std::cmp::Reverse(**thread)))?;
    Some((*busiest.0, busiest.1.1))
}

/// Stretches in which nothing begins or ends on a thread.
fn silences(view: View<'_>, thread: ThreadId, window: &Window) -> Vec<Interval> {
    let mut silences = Vec::new();
    let mut last = window.span.start;
    for (stretch, _) in view.index.innermost(view.trace).during(thread, window.span) {
        silences.extend([Interval::new(last, stretch.start), stretch]);
        last = stretch.end;
    }
    silences.push(Interval::new(last, window.span.end));
    silences.retain(|silence| !silence.is_empty());
    silences
}

/// Work that lies within one silence, joined to one stretch for each.
fn within(mut functions: Vec<(Interval, Row)>, silences: &[Interval]) -> Vec<(Interval, Row)> {
    functions.sort_by_key(|(span, _)| span.start);
    let mut found: Vec<(usize, Interval, Row)> = Vec::new();
    for (span, row) in functions {
        let i = silences.partition_point(|silence| silence.end <= span.start);
        let Some(silence) = silences.get(i) else { continue };
        if span.start < silence.start || silence.end < span.end {
            continue;
        }
        match found.last_mut() {
            Some((last, joined, _)) if *last == i => joined.end = joined.end.max(span.end),
            _ => found.push((i, span, row)),
        }
    }
    found.into_iter().map(|(_, span, row)| (span, row)).collect()
}

/// The engine begins when it is called, and the caller goes on when it is done.
pub(super) fn link(
    nodes: &[Node],
    handovers: &[Handover],
    threads: &[(ThreadId, Vec<HostNode>)],
    places: &Places,
    into: &mut Vec<(NodeId, Edge)>,
) {
    let mut moments: FxHashMap<(ThreadId, Ns, bool), NodeId> = FxHashMap::default();
    for ((thread, host), places) in threads.iter().zip(places) {
        for (node, place) in host.iter().zip(places).filter(|(node, _)| node.what == What::Moment) {
            moments.insert((*thread, node.start, node.idle_before), *place);
        }
    }
    for handover in handovers {
        let moment = |thread, time, idle| moments.get(&(thread, time, idle)).copied();
        let Interval { start, end } = handover.span;
        let pairs = [
            (moment(handover.waiting, start, false), moment(handover.working, start, true)),
            (moment(handover.working, end, false), moment(handover.waiting, end, true)),
        ];
        for (from, to) in pairs.into_iter().filter_map(|(from, to)| from.zip(to)) {
            let lag = nodes[to as usize].start - nodes[from as usize].end;
            into.push((to, Edge { from, from_end: true, why: Why::Handover, inferred: true, lag }));
        }
    }
}
