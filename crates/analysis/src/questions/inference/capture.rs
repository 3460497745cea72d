//! What was recorded while graphs were captured: the launches that became nodes, each with its operator and module.
//!
//! A launch during capture runs nothing. Between the calls that begin and end a capture on a thread, every launch and
//! copy is a node; where these calls are not recorded, the launches without GPU work under a `capture_…` annotation
//! are. vLLM names that annotation after the batch it captures for: `capture_32_FULL`.

use gpuscope_trace::{Arg, Class, Interval, Ns, Row, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::model::doing;

/// Who launched something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    pub operator: Option<String>,
    pub module: Option<String>,
}

/// One node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// A place in [`Captures::names`]: the kernel, if the launch names it, as AMD's does.
    pub(super) kernel: Option<u32>,
    /// A place in [`Captures::owners`].
    pub(super) owner: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    /// The batch it was captured for.
    pub(super) batch: Option<i64>,
    /// In the order of their launch.
    pub(super) nodes: Vec<Node>,
}

/// All graphs of some traces of captures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    pub(super) graphs: Vec<Graph>,
    pub(super) names: FxHashMap<String, u32>,
    pub(super) owners: Vec<Owner>,
}

impl Captures {
    /// How many graphs were captured.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// The graphs captured in one trace.
    pub fn of(view: View<'_>) -> Captures {
        let mut captures = Captures::default();
        let mut owners: FxHashMap<Owner, u32> = FxHashMap::default();
        for window in windows(view) {
            let mut graph = Graph { batch: window.batch, nodes: Vec::with_capacity(window.nodes.len()) };
            for call in window.nodes {
                let kernel = view.trace.args.text(call, Arg::LaunchedKernel);
                let kernel = kernel.map(|name| captures.name(view.trace.strings.get(name)));
                let owner = captures.owner(owner(view, call), &mut owners);
                graph.nodes.push(Node { kernel, owner });
            }
            captures.graphs.push(graph);
        }
        captures
    }

    /// The graphs of several traces together.
    pub fn join(all: Vec<Captures>) -> Captures {
        let mut joined = Captures::default();
        let mut owners: FxHashMap<Owner, u32> = FxHashMap::default();
        for captures in all {
            let mut names = vec![0; captures.names.len()];
            for (name, number) in &captures.names {
                names[*number as usize] = joined.name(name);
            }
            let of_owner: Vec<u32> =
                captures.owners.into_iter().map(|owner| joined.owner(owner, &mut owners)).collect();
            joined.graphs.extend(captures.graphs.into_iter().map(|graph| {
                let node = |node: Node| Node {
                    kernel: node.kernel.map(|name| names[name as usize]),
                    owner: of_owner[node.owner as usize],
                };
                Graph { nodes: graph.nodes.into_iter().map(node).collect(), ..graph }
            }));
        }
        joined
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let next = self.names.len() as u32;
        self.names.insert(name.to_owned(), next);
        next
    }

    fn owner(&mut self, owner: Owner, known: &mut FxHashMap<Owner, u32>) -> u32 {
        let next = self.owners.len() as u32;
        let number = *known.entry(owner.clone()).or_insert(next);
        if number == next {
            self.owners.push(owner);
        }
        number
    }
}

/// A trace in which more launches went into graphs than ran: it shows how graphs were made, not what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphCapture {
    pub graphs: u64,
    /// Launches that became nodes.
    pub launches: u64,
}

impl GraphCapture {
    pub fn of(view: View<'_>) -> Option<GraphCapture> {
        let speaks = |name: &str| name.contains(BEGIN) || name.starts_with(PREFIX);
        if !view.trace.strings.iter().any(|(_, name)| speaks(name)) {
            return None;
        }
        let windows = windows(view);
        let graphs = windows.iter().filter(|window| !window.nodes.is_empty()).count() as u64;
        let launches: usize = windows.iter().map(|window| window.nodes.len()).sum();
        let ran = view.index.gpu(view.trace).len();
        (graphs > 0 && launches > ran).then_some(GraphCapture { graphs, launches: launches as u64 })
    }
}

fn owner(view: View<'_>, call: Row) -> Owner {
    let around: Vec<Row> = view.index.nesting(view.trace).ancestors(call).collect();
    Owner {
        operator: doing::operators(view, &around).next().map(str::to_owned),
        module: doing::module(view, &around),
    }
}

/// One capture.
struct Window {
    batch: Option<i64>,
    nodes: Vec<Row>,
}

/// What a call is to a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Begin,
    End,
    Node,
    Else,
}

impl Call {
    fn of_name(name: &str) -> Call {
        match () {
            () if name.contains(BEGIN) => Call::Begin,
            () if name.contains("StreamEndCapture") => Call::End,
            () if name.contains("LaunchKernel") || name.contains("Memcpy") || name.contains("Memset") => {
                Call::Node
            }
            () => Call::Else,
        }
    }
}

fn windows(view: View<'_>) -> Vec<Window> {
    let trace = view.trace;
    let mut known: FxHashMap<StrId, Call> = FxHashMap::default();
    let mut kind =
        |row: Row| *known.entry(trace.name_id(row)).or_insert_with(|| Call::of_name(trace.name(row)));
    let calls = trace.rows().filter(|row| trace.class(*row).is_call());
    let mut calls: Vec<(u32, Ns, Row, Call)> = calls
        .filter_map(|row| {
            let kind = kind(row);
            (kind != Call::Else).then_some((trace.track(row).thread.0, trace.start(row)?, row, kind))
        })
        .collect();
    calls.sort_unstable_by_key(|(thread, start, row, _)| (*thread, *start, *row));
    if calls.iter().any(|(.., kind)| *kind == Call::Begin) {
        return between_calls(view, &calls);
    }
    annotated(view, &calls)
}

fn between_calls(view: View<'_>, calls: &[(u32, Ns, Row, Call)]) -> Vec<Window> {
    let mut windows = Vec::new();
    for thread in calls.chunk_by(|a, b| a.0 == b.0) {
        let mut open: Option<Window> = None;
        for (.., row, kind) in thread {
            match kind {
                Call::Begin => open = Some(Window { batch: batch(view, *row), nodes: Vec::new() }),
                Call::End => windows.extend(open.take()),
                _ => {
                    if let Some(window) = &mut open {
                        window.nodes.push(*row);
                    }
                }
            }
        }
    }
    windows
}

/// By annotations alone.
fn annotated(view: View<'_>, calls: &[(u32, Ns, Row, Call)]) -> Vec<Window> {
    let (trace, launches) = (view.trace, view.index.launches(view.trace));
    let is_capture =
        |row: &Row| trace.class(*row) == Class::Annotation && trace.name(*row).starts_with(PREFIX);
    let window = |row: Row| {
        let (start, end) = trace.span(row)?;
        let time = Interval::new(start, end);
        let thread = trace.track(row).thread.0;
        let first = calls.partition_point(|(other, start, ..)| (*other, *start) < (thread, time.start));
        let inside =
            calls[first..].iter().take_while(|(other, start, ..)| *other == thread && *start < time.end);
        let nodes = inside.map(|(.., row, _)| *row).filter(|row| !launches.has_work(*row)).collect();
        Some(Window { batch: batch_in(trace.name(row)), nodes })
    };
    trace.rows().filter(is_capture).filter_map(window).collect()
}

const PREFIX: &str = "capture_";
const BEGIN: &str = "StreamBeginCapture";

/// The batch that the annotation around a call names.
fn batch(view: View<'_>, call: Row) -> Option<i64> {
    let mut around = view.index.nesting(view.trace).ancestors(call).map(|row| view.trace.name(row));
    around.find(|name| name.starts_with(PREFIX)).and_then(batch_in)
}

fn batch_in(annotation: &str) -> Option<i64> {
    annotation.strip_prefix(PREFIX)?.split('_').next()?.parse().ok()
}
