//! Host threads as chains: calls that launch or wait, moments of handing over, and the thread's own work between.

use gpuscope_trace::{Ns, Row, ThreadId, View};

use super::build::Places;
use super::handover::Handover;
use super::waits::Waits;
use super::{Edge, Node, NodeId, What, Why, Window};

#[derive(Clone, Copy, Debug)]
pub(super) struct HostNode {
    pub row: Row,
    pub what: What,
    pub start: Ns,
    pub end: Ns,
    /// The thread did nothing of its own since its last node: it waited for another.
    pub idle_before: bool,
    pub ends_window: bool,
}

impl HostNode {
    fn moment(row: Row, time: Ns) -> HostNode {
        HostNode { row, what: What::Moment, start: time, end: time, idle_before: false, ends_window: false }
    }
}

/// The threads that take part, each with its nodes in order.
pub(super) fn threads(
    view: View<'_>,
    window: &Window,
    handovers: &[Handover],
    waits: &Waits,
) -> Vec<(ThreadId, Vec<HostNode>)> {
    let mut threads: Vec<Vec<HostNode>> = vec![Vec::new(); view.trace.tracks.threads()];
    let launches = view.index.launches(view.trace);
    for row in view.trace.rows() {
        if !view.trace.class(row).is_call() {
            continue;
        }
        let Some((start, end)) = view.trace.span(row) else { continue };
        if start < window.span.start || start > window.span.end {
            continue;
        }
        let waiting = waits.contains_key(&row);
        if !waiting && !launches.has_work(row) {
            continue;
        }
        let call = HostNode { what: What::Call, end, ..HostNode::moment(row, start) };
        let nodes = &mut threads[view.trace.track(row).thread.0 as usize];
        if waiting {
            let returns = HostNode { what: What::Return, ..HostNode::moment(row, end) };
            nodes.extend([HostNode { end: start, ..call }, returns]);
        } else {
            nodes.push(call);
        }
    }
    for handover in handovers {
        let waits =
            HostNode { idle_before: true, ..HostNode::moment(handover.waiting_row, handover.span.end) };
        threads[handover.waiting.0 as usize]
            .extend([HostNode::moment(handover.waiting_row, handover.span.start), waits]);
        let begins =
            HostNode { idle_before: true, ..HostNode::moment(handover.working_row, handover.span.start) };
        threads[handover.working.0 as usize]
            .extend([begins, HostNode::moment(handover.working_row, handover.span.end)]);
    }
    if let Some((row, time)) = window.host_end {
        let end = HostNode { ends_window: true, ..HostNode::moment(row, time) };
        threads[view.trace.track(row).thread.0 as usize].push(end);
    }
    let mut found = Vec::new();
    for (thread, mut nodes) in threads.into_iter().enumerate() {
        // Stable: a call before its return, the start of a handover before its end.
        nodes.sort_by_key(|node| node.start);
        if let Some(first) = nodes.first().copied() {
            nodes.insert(0, HostNode::moment(first.row, window.span.start.min(first.start)));
            found.push((ThreadId(thread as u32), nodes));
        }
    }
    found
}

/// One after another along every thread. A call that waited takes what it costs besides.
pub(super) fn link(
    nodes: &[Node],
    threads: &[(ThreadId, Vec<HostNode>)],
    places: &Places,
    waits: &Waits,
    into: &mut Vec<(NodeId, Edge)>,
) {
    for ((_, host), places) in threads.iter().zip(places) {
        for (i, pair) in host.windows(2).enumerate() {
            let (from, to) = (places[i], places[i + 1]);
            let from_end = pair[0].end <= pair[1].start;
            let anchor = if from_end { pair[0].end } else { pair[0].start };
            let time = pair[1].start - anchor;
            let wait = if pair[1].what == What::Return { waits.get(&pair[1].row) } else { None };
            let lag = match wait {
                _ if pair[1].idle_before => Ns::ZERO,
                Some(wait) => wait.own.min(time),
                None => time,
            };
            debug_assert!(nodes[from as usize].start == pair[0].start);
            into.push((to, Edge { from, from_end, why: Why::Thread, inferred: false, lag }));
        }
    }
}
