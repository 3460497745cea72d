//! What graphs replayed: one launch for many kernels.

use gpuscope_trace::{GpuEvent, Ns, Row, ServingStep, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::align::{Aligner, Replay, UNKNOWN, signature};
use super::capture::Captures;
use super::steps::steps_of;

/// The replays of a rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replays {
    pub rank: u32,
    /// Launches of graphs.
    pub replays: u64,
    /// GPU events that they put on the device.
    pub events: u64,
    /// Their time, summed, and as a share of that of all GPU events.
    pub replayed_ns: Ns,
    pub replayed_pct: f64,
    /// Of it, that of events whose operator the capture tells.
    pub attributed_ns: Ns,
    pub attributed_pct: f64,
    /// Graphs in the traces of captures.
    pub captured_graphs: u64,
}

/// Replayed events of one name that belong to one operator and module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayedKernel {
    pub rank: u32,
    pub name: String,
    pub operator: Option<String>,
    pub module: Option<String>,
    pub count: u64,
    pub sum_ns: Ns,
    pub pct: f64,
}

/// Replayed events that belong to one operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayedOperator {
    pub rank: u32,
    /// Null for what no capture tells.
    pub operator: Option<String>,
    pub count: u64,
    pub sum_ns: Ns,
    /// Of all replayed time.
    pub pct: f64,
}

#[derive(Default)]
pub(super) struct Replayed {
    pub(super) replays: Option<Replays>,
    pub(super) operators: Vec<ReplayedOperator>,
    pub(super) kernels: Vec<ReplayedKernel>,
}

/// Which names of calls launch graphs.
pub(super) struct GraphLaunches(Vec<bool>);

impl GraphLaunches {
    pub(super) fn of(view: View<'_>) -> GraphLaunches {
        let strings = &view.trace.strings;
        let launches = |id: usize| strings.get(StrId(id as u32)).contains("GraphLaunch");
        GraphLaunches((0..strings.len()).map(launches).collect())
    }

    pub(super) fn has(&self, view: View<'_>, call: Row) -> bool {
        self.0[view.trace.name_id(call).index()]
    }
}

pub(super) fn of(rank: u32, view: View<'_>, captures: &Captures) -> Replayed {
    let launches = GraphLaunches::of(view);
    let mut all = Ns::ZERO;
    let mut events: Vec<(Row, &GpuEvent)> = Vec::new();
    for event in view.gpu() {
        all += event.dur();
        if let Some(call) = view.launch(event.row).filter(|call| launches.has(view, *call)) {
            events.push((call, event));
        }
    }
    if events.is_empty() {
        return Replayed::default();
    }
    // Stable, so that the events of a call stay in order of their start.
    events.sort_by_key(|(call, _)| *call);
    let mut sums = Sums { captures, by_owner: FxHashMap::default() };
    let replays = attribute(view, &events, &mut sums);
    let replayed: Ns = events.iter().map(|(_, event)| event.dur()).sum();
    let attributed: Ns =
        sums.by_owner.iter().filter(|((_, owner), _)| owner.is_some()).map(|(_, (_, time))| *time).sum();
    Replayed {
        replays: Some(Replays {
            rank,
            replays,
            events: events.len() as u64,
            replayed_ns: replayed,
            replayed_pct: replayed.pct_of(all),
            attributed_ns: attributed,
            attributed_pct: attributed.pct_of(replayed),
            captured_graphs: captures.len() as u64,
        }),
        operators: sums.operators(rank, replayed),
        kernels: sums.kernels(rank, view, replayed),
    }
}

/// Finds the owner of every event; answers how many replays there were.
fn attribute(view: View<'_>, events: &[(Row, &GpuEvent)], sums: &mut Sums<'_>) -> u64 {
    let captures = sums.captures;
    let (steps, mut aligner) = (steps_of(view), Aligner::new(captures));
    let mut names: FxHashMap<StrId, u32> = FxHashMap::default();
    let mut seen: FxHashMap<(Option<usize>, u64), usize> = FxHashMap::default();
    // In order of their launch, so that replays of a step are counted in order.
    let mut replays: Vec<&[(Row, &GpuEvent)]> = events.chunk_by(|a, b| a.0 == b.0).collect();
    replays.sort_by_key(|replay| view.trace.start(replay[0].0));
    let count = replays.len() as u64;
    for replay in replays {
        let place = |(_, event): &(Row, &GpuEvent)| {
            let name = view.trace.name_id(event.row);
            let of_name = || captures.names.get(view.trace.name(event.row)).copied().unwrap_or(UNKNOWN);
            *names.entry(name).or_insert_with(of_name)
        };
        let own: Vec<u32> = replay.iter().map(place).collect();
        let step = view.trace.start(replay[0].0).and_then(|launched| steps.at(launched));
        let told = step.and_then(|step| ServingStep::parse(view.trace.name(steps[step].row)));
        let nth = seen.entry((step, signature(&own))).or_default();
        let requests = told.and_then(|told| told.requests());
        let owners = aligner.owners(Replay { names: &own, requests, nth: *nth });
        *nth += 1;
        for ((_, event), owner) in replay.iter().zip(owners) {
            sums.add(view.trace.name_id(event.row), owner, event.dur());
        }
    }
    count
}

struct Sums<'c> {
    captures: &'c Captures,
    by_owner: FxHashMap<(StrId, Option<u32>), (u64, Ns)>,
}

impl Sums<'_> {
    fn add(&mut self, name: StrId, owner: Option<u32>, time: Ns) {
        let (count, sum) = self.by_owner.entry((name, owner)).or_default();
        *count += 1;
        *sum += time;
    }

    fn operators(&self, rank: u32, replayed: Ns) -> Vec<ReplayedOperator> {
        let mut sums: FxHashMap<Option<&str>, (u64, Ns)> = FxHashMap::default();
        for ((_, owner), (count, time)) in &self.by_owner {
            let owner = owner.map(|owner| &self.captures.owners[owner as usize]);
            let own = sums.entry(owner.and_then(|owner| owner.operator.as_deref())).or_default();
            own.0 += count;
            own.1 += *time;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|(operator, (_, time))| (std::cmp::Reverse(*time), *operator));
        let row = |(operator, (count, sum_ns)): (Option<&str>, (u64, Ns))| ReplayedOperator {
            rank,
            operator: operator.map(str::to_owned),
            count,
            sum_ns,
            pct: sum_ns.pct_of(replayed),
        };
        sums.into_iter().map(row).collect()
    }

    fn kernels(&self, rank: u32, view: View<'_>, replayed: Ns) -> Vec<ReplayedKernel> {
        let row = |((name, owner), (count, sum_ns)): (&(StrId, Option<u32>), &(u64, Ns))| {
            let owner = owner.map(|owner| self.captures.owners[owner as usize].clone()).unwrap_or_default();
            ReplayedKernel {
                rank,
                name: view.trace.strings.get(*name).to_owned(),
                operator: owner.operator,
                module: owner.module,
                count: *count,
                sum_ns: *sum_ns,
                pct: sum_ns.pct_of(replayed),
            }
        };
        let mut rows: Vec<ReplayedKernel> = self.by_owner.iter().map(row).collect();
        rows.sort_unstable_by(|a, b| {
            let key = |row: &ReplayedKernel| (std::cmp::Reverse(row.sum_ns), row.count);
            key(a)
                .cmp(&key(b))
                .then_with(|| (&a.name, &a.module, &a.operator).cmp(&(&b.name, &b.module, &b.operator)))
        });
        rows
    }
}
