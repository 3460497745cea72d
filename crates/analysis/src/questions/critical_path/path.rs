//! The path in the words of the trace: what ran during each stretch.

use gpuscope_trace::{Interval, Ns, Row, ThreadId, View};
use rustc_hash::FxHashMap;

use super::{Bound, CriticalPathAnswer, PathShare, PathStretch};
use crate::idle::Causes;
use crate::model::graph::{Coupled, Graph, Spent, Stretch, What, Why};

/// Shares listed in the answer.
const TOP: usize = 20;

/// What the parts of one rank's graph are called, so that the path can be told without its trace.
#[derive(Debug)]
pub(super) struct Names {
    texts: Vec<String>,
    nodes: Vec<NodeName>,
    /// What each thread that takes part did, moment by moment.
    host: Vec<Vec<HostWork>>,
}

#[derive(Clone, Copy, Debug)]
struct NodeName {
    text: u32,
    element: u32,
    thread: ThreadId,
}

#[derive(Clone, Copy, Debug)]
struct HostWork {
    time: Interval,
    text: u32,
    element: u32,
    bound: Bound,
}

impl Names {
    pub(super) fn of(view: View<'_>, graph: &Graph) -> Names {
        let trace = view.trace;
        let mut texts = Texts { view, known: vec![None; trace.strings.len()], found: Vec::new() };
        let mut takes_part = vec![false; trace.tracks.threads()];
        let nodes = graph.nodes.iter().map(|node| {
            let thread = trace.track(node.row).thread;
            takes_part[thread.0 as usize] |= !matches!(node.what, What::Gpu(_));
            NodeName { text: texts.of(node.row), element: trace.element(node.row), thread }
        });
        let nodes = nodes.collect();
        let (innermost, mut causes) = (view.index.innermost(trace), Causes::new(view));
        let mut host = vec![Vec::new(); takes_part.len()];
        for (thread, _) in takes_part.iter().enumerate().filter(|(_, takes_part)| **takes_part) {
            for (time, row) in innermost.during(ThreadId(thread as u32), graph.span) {
                let bound = super::host_bound(&mut causes, row);
                host[thread].push(HostWork { time, text: texts.of(row), element: trace.element(row), bound });
            }
        }
        Names { texts: texts.found, nodes, host }
    }

    fn text(&self, id: u32) -> String {
        self.texts[id as usize].clone()
    }
}

struct Texts<'a> {
    view: View<'a>,
    /// By name.
    known: Vec<Option<u32>>,
    found: Vec<String>,
}

impl Texts<'_> {
    fn of(&mut self, row: Row) -> u32 {
        let name = self.view.trace.name_id(row);
        *self.known[name.index()].get_or_insert_with(|| {
            self.found.push(self.view.trace.strings.get(name).to_owned());
            self.found.len() as u32 - 1
        })
    }
}

impl CriticalPathAnswer {
    pub(super) fn take_path(&mut self, coupled: &Coupled, path: &[Stretch], ranks: &[(u32, Names)]) {
        for stretch in path {
            let (rank, names) = &ranks[stretch.graph as usize];
            let node = &coupled.graphs[stretch.graph as usize].nodes[stretch.node as usize];
            match (stretch.spent, node.what) {
                (Spent::Running, What::Gpu(kind)) => self.push(*rank, names, stretch, super::gpu_bound(kind)),
                (Spent::Running | Spent::Before(Why::Thread), _) => {
                    self.push_host(*rank, names, stretch);
                }
                (Spent::Before(Why::Launch), _) => self.push(*rank, names, stretch, Bound::KernelLaunch),
                (Spent::Before(Why::Stream), _) => self.push(*rank, names, stretch, Bound::KernelKernel),
                (Spent::Before(Why::Event | Why::Synchronisation | Why::FullQueue | Why::Handover), _) => {
                    self.push(*rank, names, stretch, Bound::Sync);
                }
                (Spent::Unknown, _) => self.push(*rank, names, stretch, Bound::Unknown),
            }
        }
        for stretch in &self.path {
            self.makespan_by.add(stretch.bound_by, stretch.dur_ns);
            self.unexplained_ns += stretch.unexplained_ns;
            if stretch.inferred {
                self.inferred_ns += stretch.dur_ns;
            }
        }
        self.top = top(&self.path);
    }

    fn push(&mut self, rank: u32, names: &Names, stretch: &Stretch, bound_by: Bound) {
        let node = names.nodes[stretch.node as usize];
        let known = bound_by != Bound::Unknown;
        self.path.push(PathStretch {
            rank,
            start_ns: stretch.time.start,
            dur_ns: stretch.time.len(),
            bound_by,
            name: known.then(|| names.text(node.text)),
            element: known.then_some(node.element),
            inferred: stretch.inferred,
            unexplained_ns: stretch.unexplained,
        });
    }

    /// Time on a thread, by what the thread did.
    fn push_host(&mut self, rank: u32, names: &Names, stretch: &Stretch) {
        let thread = names.nodes[stretch.node as usize].thread;
        let work = &names.host[thread.0 as usize];
        let first = work.partition_point(|work| work.time.end <= stretch.time.start);
        let mut now = stretch.time.start;
        let mut add = |until: Ns, work: Option<&HostWork>| {
            if until <= now {
                return;
            }
            let piece = PathStretch {
                rank,
                start_ns: now,
                dur_ns: until - now,
                bound_by: work.map_or(Bound::Cpu, |work| work.bound),
                name: work.map(|work| names.text(work.text)),
                element: work.map(|work| work.element),
                inferred: stretch.inferred,
                unexplained_ns: Ns::ZERO,
            };
            now = until;
            match self.path.last_mut() {
                Some(last)
                    if last.element.is_some()
                        && last.element == piece.element
                        && last.rank == rank
                        && last.start_ns + last.dur_ns == piece.start_ns =>
                {
                    last.dur_ns += piece.dur_ns;
                }
                _ => self.path.push(piece),
            }
        };
        for work in work[first..].iter().take_while(|work| work.time.start < stretch.time.end) {
            add(work.time.start.min(stretch.time.end), None);
            add(work.time.end.min(stretch.time.end), Some(work));
        }
        add(stretch.time.end, None);
    }
}

fn top(path: &[PathStretch]) -> Vec<PathShare> {
    let mut shares: FxHashMap<(Bound, Option<&str>), (Ns, u64)> = FxHashMap::default();
    for stretch in path {
        let (sum, count) = shares.entry((stretch.bound_by, stretch.name.as_deref())).or_default();
        (*sum, *count) = (*sum + stretch.dur_ns, *count + 1);
    }
    let mut shares: Vec<PathShare> = shares
        .into_iter()
        .map(|((bound_by, name), (sum_ns, count))| PathShare {
            bound_by,
            name: name.map(str::to_owned),
            sum_ns,
            count,
        })
        .collect();
    shares.sort_by(|a, b| {
        b.sum_ns.cmp(&a.sum_ns).then_with(|| (a.bound_by, &a.name).cmp(&(b.bound_by, &b.name)))
    });
    shares.truncate(TOP);
    shares
}
