//! Puts the host events of a trace and the GPU work they launched on their paths.

use gpuscope_trace::{Arg, Bitmap, Class, Id, Ns, Row, StrId, ThreadId, View};

use rustc_hash::FxHashMap;

use super::names::{plain_name, plain_thread};
use super::trie::{NodeId, NodeKind, ROOT, Trie, Weights};

/// What paths are made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    /// Also paths that launched nothing.
    pub(crate) everything: bool,
    /// Instead of what was called, where threads were when a profiler looked.
    pub(crate) samples: bool,
    pub(crate) detail: Detail,
    /// Backward work below the forward operator that it undoes.
    pub(crate) backward_below_forward: bool,
    /// Only threads with this number or with this in their name.
    pub(crate) thread: Option<String>,
    pub(crate) names: Names,
}

/// Whose names paths share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Names {
    #[default]
    OneRank,
    /// Threads without their numbers.
    Ranks,
    /// Also frames without the lines of files, which other versions of a program have elsewhere.
    Runs,
}

/// Operators and kernels are always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Threads, annotations, Python frames, modules and calls, too: where in the program it was.
    #[default]
    Program,
    /// Modules, calls, and the arguments of operators that launch something: what was computed.
    Arguments,
    /// Modules: which part of the model it was for.
    Modules,
    /// Nothing else.
    Operators,
}

impl Detail {
    fn has(self, kind: NodeKind) -> bool {
        match kind {
            NodeKind::Thread | NodeKind::Annotation | NodeKind::Frame => self == Detail::Program,
            NodeKind::Module => self != Detail::Operators,
            NodeKind::Call => matches!(self, Detail::Program | Detail::Arguments),
            _ => true,
        }
    }
}

const UNKNOWN: NodeId = NodeId::MAX;
/// Links from backward to forward followed one after another.
const MOST_JUMPS: u32 = 4;

/// `flops` says how many operations are put down to a GPU event.
pub(crate) fn trie(view: View<'_>, parts: &Parts, flops: impl Fn(Row) -> u128) -> Trie {
    let mut builder = Builder::new(view, parts);
    if parts.samples {
        builder.samples();
        return builder.trie;
    }
    builder.host();
    builder.gpu(flops);
    builder.links();
    builder.trie
}

#[derive(Clone, Copy)]
enum Beginning {
    Root,
    /// The thread, by its name's number.
    Thread(u32),
}

struct Builder<'v> {
    view: View<'v>,
    parts: &'v Parts,
    trie: Trie,
    /// The node of each host row, once asked for.
    known: Vec<NodeId>,
    /// Rows below a jump from backward to forward.
    jumped: Bitmap,
    path: Vec<Row>,
    /// Per string and kind the name's number, one further on.
    names: Vec<[u32; NodeKind::COUNT]>,
    /// Per thread what paths begin with; none if it is not asked for.
    threads: Vec<Option<Beginning>>,
}

impl<'v> Builder<'v> {
    fn new(view: View<'v>, parts: &'v Parts) -> Builder<'v> {
        let trace = view.trace;
        let mut builder = Builder {
            view,
            parts,
            trie: Trie::default(),
            known: vec![UNKNOWN; trace.len()],
            jumped: Bitmap::empty(trace.len()),
            path: Vec::new(),
            names: vec![[0; NodeKind::COUNT]; trace.strings.len()],
            threads: Vec::new(),
        };
        builder.threads = (0..trace.tracks.threads() as u32).map(|id| builder.thread(ThreadId(id))).collect();
        builder
    }

    fn thread(&mut self, id: ThreadId) -> Option<Beginning> {
        let tracks = &self.view.trace.tracks;
        let (pid, tid) = tracks.thread(id);
        let number = match tid {
            Id::Int(number) => number.to_string(),
            Id::Text(text) => self.view.trace.strings.get(text).to_owned(),
            Id::Absent => "?".to_owned(),
        };
        let label = tracks.thread_label(pid, tid).map_or("", |label| self.view.trace.strings.get(label.name));
        let wanted = |wanted: &String| number == *wanted || label.contains(wanted.as_str());
        if !self.parts.thread.as_ref().is_none_or(wanted) {
            return None;
        }
        if !self.parts.detail.has(NodeKind::Thread) {
            return Some(Beginning::Root);
        }
        let text = match label {
            label if self.parts.names >= Names::Ranks => plain_thread(label, &number).to_owned(),
            "" => format!("thread {number}"),
            label => label.to_owned(),
        };
        Some(Beginning::Thread(self.trie.name(NodeKind::Thread, &text)))
    }

    fn host(&mut self) {
        if !self.parts.everything {
            return;
        }
        let trace = self.view.trace;
        for row in trace.rows() {
            if trace.class(row).is_host() && trace.span(row).is_some() && self.view.selection.has(row) {
                self.node(row, MOST_JUMPS);
            }
        }
    }

    /// Each sample stands for the time that usually passes between two of its thread.
    fn samples(&mut self) {
        let trace = self.view.trace;
        let mut threads: FxHashMap<ThreadId, Vec<(Ns, StrId)>> = FxHashMap::default();
        for (row, stack) in trace.args.texts(Arg::CallStack) {
            if trace.class(row) == Class::HostSample && self.view.selection.has(row) {
                let samples = threads.entry(trace.track(row).thread).or_default();
                samples.extend(trace.start(row).map(|time| (time, stack)));
            }
        }
        for (thread, mut samples) in threads {
            let Some(beginning) = self.threads[thread.0 as usize] else { continue };
            samples.sort_unstable_by_key(|(time, _)| *time);
            let mut between: Vec<Ns> = samples.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            between.sort_unstable();
            let host = between.get(between.len() / 2).copied().unwrap_or(Ns::ZERO);
            for (time, stack) in samples {
                let mut node = match beginning {
                    Beginning::Root => ROOT,
                    Beginning::Thread(name) => self.trie.child(ROOT, name),
                };
                let frames = trace.strings.get(stack).split(';');
                for at in std::iter::once(None).chain(frames.map(Some)) {
                    if let Some(frame) = at {
                        let name = self.trie.name(NodeKind::Frame, frame);
                        node = self.trie.child(node, name);
                    }
                    if node != ROOT {
                        self.trie.add(node, Weights { count: 1, host, ..Weights::default() });
                        self.trie.met(node, time, None);
                    }
                }
            }
        }
    }

    fn gpu(&mut self, flops: impl Fn(Row) -> u128) {
        let unlinked = self.trie.name(NodeKind::Unlinked, "unlinked");
        for event in self.view.gpu() {
            let launcher = match self.view.launch(event.row) {
                Some(call) => self.node(call, MOST_JUMPS),
                None if self.parts.thread.is_some() => None,
                None => Some(self.trie.child(ROOT, unlinked)),
            };
            let Some(launcher) = launcher else { continue };
            let name = self.name(NodeKind::Kernel, self.view.trace.name_id(event.row));
            let node = self.trie.child(launcher, name);
            let bytes = self.view.trace.args.int(event.row, Arg::Bytes).unwrap_or(0).max(0);
            let (gpu, flops) = (event.dur(), flops(event.row));
            self.trie.add(node, Weights { count: 1, gpu, bytes, flops, ..Weights::default() });
            self.trie.met(node, event.start, Some(event.kind));
        }
    }

    fn links(&mut self) {
        let autograd = self.view.index.autograd(self.view.trace);
        for forward in autograd.forward_operators() {
            let Some(backward) = autograd.backward(forward) else { continue };
            let [forward, backward] = [forward, backward].map(|row| self.known[row as usize]);
            if forward != UNKNOWN && backward != UNKNOWN && forward != backward {
                self.trie.links_to(backward, forward);
            }
        }
    }

    fn name(&mut self, kind: NodeKind, text: StrId) -> u32 {
        let known = self.names[text.index()][kind as usize];
        if known > 0 {
            return known - 1;
        }
        let id = self
            .trie
            .name(kind, &plain_name(kind, self.view.trace.strings.get(text), self.parts.names < Names::Runs));
        self.names[text.index()][kind as usize] = id + 1;
        id
    }

    /// The node of a host row; none on a thread that is not asked for.
    fn node(&mut self, row: Row, jumps: u32) -> Option<NodeId> {
        let trace = self.view.trace;
        let beginning = self.threads[trace.track(row).thread.0 as usize]?;
        let nesting = self.view.index.nesting(trace);
        let base = self.path.len();
        let mut here = Some(row);
        let (mut node, mut jumped) = (None, false);
        while let Some(row) = here {
            if self.known[row as usize] != UNKNOWN {
                (node, jumped) = (Some(self.known[row as usize]), self.jumped.has(row));
                break;
            }
            self.path.push(row);
            here = nesting.parent(row);
        }
        let mut node = node.unwrap_or_else(|| match beginning {
            Beginning::Root => ROOT,
            Beginning::Thread(name) => self.trie.child(ROOT, name),
        });
        while self.path.len() > base {
            let Some(row) = self.path.pop() else { break };
            if self.parts.backward_below_forward
                && !jumped
                && jumps > 0
                && let Some(forward) = self.view.index.autograd(trace).forward(row)
                && let Some(below) = self.node(forward, jumps - 1)
            {
                let backward = self.trie.name(NodeKind::Backward, "backward");
                (node, jumped) = (self.trie.child(below, backward), true);
            }
            node = self.step(node, row);
            self.known[row as usize] = node;
            if jumped {
                self.jumped.insert(row);
            }
        }
        Some(node)
    }

    fn step(&mut self, outside: NodeId, row: Row) -> NodeId {
        let trace = self.view.trace;
        let kind = match trace.class(row) {
            Class::PythonFrame if trace.name(row).starts_with("nn.Module: ") => NodeKind::Module,
            Class::PythonFrame => NodeKind::Frame,
            Class::Annotation => NodeKind::Annotation,
            class if class.is_call() => NodeKind::Call,
            _ => NodeKind::Operator,
        };
        if !self.parts.detail.has(kind) {
            return outside;
        }
        let mut outside = outside;
        if kind == NodeKind::Call && self.parts.detail == Detail::Arguments {
            outside = self.shaped(outside, row);
        }
        let name = self.name(kind, trace.name_id(row));
        let node = self.trie.child(outside, name);
        let host = trace.dur(row).unwrap_or_default().max(Ns::ZERO);
        self.trie.add(node, Weights { count: 1, host, ..Weights::default() });
        if let Some(start) = trace.start(row) {
            self.trie.met(node, start, None);
        }
        node
    }

    /// The arguments of the operator around a call.
    fn shaped(&mut self, outside: NodeId, call: Row) -> NodeId {
        let trace = self.view.trace;
        let operator = self.view.index.nesting(trace).parent(call);
        let dims = operator
            .and_then(|row| trace.args.text(row, Arg::InputDims))
            .filter(|dims| *dims != StrId::EMPTY);
        let Some(dims) = dims.filter(|_| self.trie.kind(outside) == NodeKind::Operator) else {
            return outside;
        };
        let name = self.name(NodeKind::Shapes, dims);
        self.trie.child(outside, name)
    }
}
