//! Experts that are unevenly loaded: some ranks get far more tokens than others, which then wait for them.
//!
//! A dispatch is an all-to-all with sizes of its own that a later one of the same group takes back: what the second
//! sends is what the first received, and the other way round. What the GPU computes between the two is the work of the
//! experts, if most of it is matrix products. How many tokens a rank gets must differ from dispatch to dispatch: then a
//! router decides, and not how a model was cut into parts.

use gpuscope_trace::{Kind, Ns, Row, StrId, View};
use gpuscope_work::products;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Confidence, Evidence, Facts, Finding};
use crate::collectives::{Op, RankParts};
use crate::model::graph::{Hold, Node, NodeId, Place, Scenario, What};
use crate::model::job::RankModel;
use crate::shared::text;

pub(super) const ID: &str = "expert_imbalance";

/// The busiest rank gets at least so many times the mean.
const UNEVEN: f64 = 1.2;
/// Fewer are no habit.
const FEWEST: usize = 4;
/// How many all-to-alls later tokens may come back: what else belongs to them may be sent apart.
const SOON: usize = 4;

/// One dispatch on one rank.
#[derive(Clone, Debug)]
struct Dispatch {
    node: NodeId,
    /// Elements.
    sent: i64,
    received: i64,
    /// How many ranks there are.
    members: usize,
    /// The kernels of the experts.
    work: Vec<NodeId>,
    time: Ns,
}

/// The dispatches of one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankExperts {
    dispatches: Vec<Dispatch>,
}

impl RankExperts {
    pub(super) fn of(rank: u32, view: View<'_>, model: &RankModel) -> RankExperts {
        // Only where the trace tells sizes is there anything to look at.
        if view.trace.strings.lookup("all_to_allv").is_none() {
            return RankExperts::default();
        }
        let Some(graph) = model.graph() else { return RankExperts::default() };
        let nodes = Nodes::of(&graph.nodes);
        let parts = RankParts::of(rank, view);
        // Parts are these events, in this order.
        let rows = view.gpu().filter(|event| event.kind == Kind::Communication).map(|event| event.row);
        let mut of_group: FxHashMap<u32, Vec<Exchange>> = FxHashMap::default();
        for (row, sort) in rows.zip(&parts.sort) {
            let sort = &parts.sorts[*sort as usize];
            let sizes = sort.in_elements.zip(sort.out_elements).filter(|(sent, got)| *sent > 0 && *got >= 0);
            if sort.op == Op::AllToAllV
                && let Some((sent, received)) = sizes
                && let Some(node) = nodes.communication.get(&row)
            {
                let members = parts.groups[sort.group as usize].members.len();
                of_group.entry(sort.group).or_default().push(Exchange {
                    node: *node,
                    sent,
                    received,
                    members,
                });
            }
        }
        let mut is_product: FxHashMap<StrId, bool> = FxHashMap::default();
        let mut product = |node: &Node| {
            let name = view.trace.name_id(node.row);
            *is_product.entry(name).or_insert_with(|| multiplies(view.trace.strings.get(name)))
        };
        let mut dispatches: Vec<Dispatch> = Vec::new();
        for exchanges in of_group.values() {
            dispatches.extend(
                pairs(exchanges)
                    .filter_map(|(there, back)| nodes.dispatch(&graph.nodes, there, back, &mut product)),
            );
        }
        dispatches.sort_by_key(|dispatch| dispatch.node);
        let routed = dispatches.windows(2).any(|pair| pair[0].received != pair[1].received);
        RankExperts { dispatches: if routed { dispatches } else { Vec::new() } }
    }
}

/// One all-to-all of a rank.
#[derive(Clone, Copy)]
struct Exchange {
    node: NodeId,
    sent: i64,
    received: i64,
    members: usize,
}

/// Each dispatch, and the exchange that brings its tokens back.
fn pairs(exchanges: &[Exchange]) -> impl Iterator<Item = (Exchange, Exchange)> {
    let mut taken = vec![false; exchanges.len()];
    (0..exchanges.len()).filter_map(move |i| {
        let there = exchanges[i];
        let later = (i + 1..exchanges.len()).take(SOON);
        let comes_back = |j: &usize| {
            let back = exchanges[*j];
            (back.sent, back.received) == (there.received, there.sent)
        };
        let back = later.filter(|j| !taken[*j]).find(comes_back).filter(|_| !taken[i])?;
        (taken[i], taken[back]) = (true, true);
        Some((there, exchanges[back]))
    })
}

fn multiplies(kernel: &str) -> bool {
    let name = kernel.to_ascii_lowercase();
    let parts = ["gemm", "grouped_mm", "cijk", "nvjet", "matmul", "moe"];
    products(kernel).is_some() || parts.iter().any(|part| name.contains(part))
}

/// What runs on a rank's GPU, by when.
struct Nodes {
    communication: FxHashMap<Row, NodeId>,
    /// By start.
    computing: Vec<NodeId>,
}

impl Nodes {
    fn of(nodes: &[Node]) -> Nodes {
        let mut found = Nodes { communication: FxHashMap::default(), computing: Vec::new() };
        for (id, node) in (0..).zip(nodes).filter(|(_, node)| node.hold != Hold::Whole) {
            match node.what {
                What::Gpu(Kind::Communication) => {
                    found.communication.insert(node.row, id);
                }
                What::Gpu(Kind::Computation) => found.computing.push(id),
                _ => {}
            }
        }
        found.computing.sort_by_key(|id| nodes[*id as usize].start);
        found
    }

    /// None if what runs between the two is not mostly matrix products.
    fn dispatch(
        &self,
        nodes: &[Node],
        there: Exchange,
        back: Exchange,
        is_product: &mut impl FnMut(&Node) -> bool,
    ) -> Option<Dispatch> {
        let (from, until) = (nodes[there.node as usize].end, nodes[back.node as usize].start);
        let first = self.computing.partition_point(|id| nodes[*id as usize].start < from);
        let between = self.computing[first..].iter().take_while(|id| nodes[**id as usize].start < until);
        let work: Vec<NodeId> = between.copied().filter(|id| nodes[*id as usize].end <= until).collect();
        let length = |id: &NodeId| nodes[*id as usize].end - nodes[*id as usize].start;
        let time: Ns = work.iter().map(length).sum();
        let multiplying: Ns = work.iter().filter(|id| is_product(&nodes[**id as usize])).map(length).sum();
        let Exchange { node, sent, received, members } = there;
        (2 * multiplying.0 >= time.0 && received > 0).then_some(Dispatch {
            node,
            sent,
            received,
            members,
            work,
            time,
        })
    }
}

/// A rank where it is the busiest.
#[derive(Default)]
struct Busiest {
    often: usize,
    /// What its experts took.
    time: Ns,
    longest: Option<(Ns, NodeId)>,
}

/// What is uneven, over all ranks.
#[derive(Default)]
struct Uneven {
    /// All dispatches that were looked at, and those that are uneven.
    dispatches: usize,
    count: usize,
    /// Over the uneven ones: what the busiest rank got, and what the mean rank did.
    busiest: f64,
    mean: f64,
    factors: Vec<(u32, NodeId, f32)>,
    /// By graph.
    of_graph: FxHashMap<usize, Busiest>,
    /// Some ranks are not here.
    alone: bool,
}

impl Uneven {
    /// `loads` are what each rank got, and its graph and dispatch.
    fn add(&mut self, loads: &[(usize, &Dispatch)], mean: f64) {
        self.dispatches += 1;
        let Some((graph, busiest)) = loads.iter().max_by_key(|(_, dispatch)| dispatch.received) else {
            return;
        };
        if (busiest.received as f64) < UNEVEN * mean {
            return;
        }
        self.count += 1;
        self.busiest += busiest.received as f64;
        self.mean += mean;
        let seen = self.of_graph.entry(*graph).or_default();
        seen.often += 1;
        seen.time += busiest.time;
        seen.longest = seen.longest.max(Some((busiest.time, busiest.node)));
        for (graph, dispatch) in loads {
            let factor = (mean / dispatch.received as f64) as f32;
            self.factors.extend(dispatch.work.iter().map(|node| (*graph as u32, *node, factor)));
        }
    }

    fn of(facts: &Facts<'_>) -> Uneven {
        let mut known: FxHashMap<(u32, NodeId), &Dispatch> = FxHashMap::default();
        for (graph, rank) in (0..).zip(facts.marked) {
            known.extend(rank.experts.dispatches.iter().map(|dispatch| ((graph, dispatch.node), dispatch)));
        }
        let mut found = Uneven::default();
        let mut seen: FxHashSet<(u32, NodeId)> = FxHashSet::default();
        for (graph, rank) in facts.marked.iter().enumerate() {
            for dispatch in &rank.experts.dispatches {
                let place = Place { graph: graph as u32, node: dispatch.node };
                if seen.contains(&(place.graph, place.node)) {
                    continue;
                }
                let places = facts.model.coupled.meeting(place).map_or(&[][..], |meeting| &meeting.places);
                let of_place =
                    |place: &Place| Some((place.graph as usize, *known.get(&(place.graph, place.node))?));
                let loads: Vec<(usize, &Dispatch)> = places.iter().filter_map(of_place).collect();
                if loads.len() == dispatch.members && loads.len() > 1 {
                    seen.extend(places.iter().map(|place| (place.graph, place.node)));
                    let sum: i64 = loads.iter().map(|(_, dispatch)| dispatch.received).sum();
                    found.add(&loads, sum as f64 / loads.len() as f64);
                } else {
                    // Ranks usually send alike, so that what one sends is what the mean rank gets.
                    found.alone = true;
                    found.add(&[(graph, dispatch)], dispatch.sent as f64);
                }
            }
        }
        found
    }
}

pub(super) fn expert_imbalance(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.marked.iter().all(|rank| rank.experts.dispatches.is_empty()) {
        return Vec::new();
    }
    finding(facts, &Uneven::of(facts)).into_iter().collect()
}

fn finding(facts: &Facts<'_>, found: &Uneven) -> Option<Finding> {
    if found.count < FEWEST {
        return None;
    }
    let without = Scenario { few_factors: found.factors.clone(), ..Scenario::default() };
    let gain = facts.gain(&without)?;
    let by_time = |(graph, seen): &(&usize, &Busiest)| (seen.time, std::cmp::Reverse(**graph));
    let (graph, Busiest { often, time, longest }) = found.of_graph.iter().max_by_key(by_time)?;
    let rank = facts.marked.get(*graph)?.rank;
    let node = longest.map(|(_, node)| &facts.model.coupled.graphs[*graph].nodes[node as usize]);
    let ratio = found.busiest / found.mean.max(1.0);
    let (who, than) = if found.alone {
        ("a rank gets", "it sends")
    } else {
        ("the busiest rank gets", "the mean rank does")
    };
    let finding = Finding::new(
        ID,
        format!(
            "experts are unevenly loaded: in {} of {} dispatches {who} at least {UNEVEN} times the tokens that {than}",
            found.count, found.dispatches
        ),
        "balance the router (a load-balancing loss or a bias per expert, a capacity factor), or spread experts that are in demand over more ranks",
        "gpuscope collectives".to_owned(),
    );
    let evidence = Evidence {
        rank: Some(rank),
        start_ns: node.map(|node| node.start),
        end_ns: node.map(|node| node.end),
        text: format!(
            "{ratio:.2} times on average; rank {rank} is the busiest in {often} of them, its experts take {} there; target: the same tokens on every rank",
            text::time(*time)
        ),
        ..Evidence::default()
    };
    let claim = [
        ("dispatches", found.dispatches as i64),
        ("uneven", found.count as i64),
        ("busiest_pct", (100.0 * ratio).round() as i64),
        ("time_ns", time.0),
    ];
    let (confidence, caveat) = if found.alone {
        (Confidence::Low, "what the other ranks get is not recorded; that they send alike is an assumption")
    } else {
        (Confidence::Medium, "experts with few tokens do not get faster in proportion")
    };
    let finding = finding.claiming(claim).shown_by(evidence).trusted(confidence, Some(caveat.to_owned()));
    Some(finding.worth(gain, without))
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Arg;

    use super::*;
    use crate::Analyze;
    use crate::analyze::AnalyzeAnswer;
    use crate::collectives::tests::{ALL_REDUCE, Said, job};
    use crate::testing::{Sample, trace};

    const US: i64 = 1000;
    const TOKENS: i64 = 1000;

    /// Five steps of a rank: tokens come, experts take 1 µs for each, tokens go back once the others are done, too.
    fn rank(rank: i64, loads: &[[i64; 2]; 5], experts: &str) -> Sample {
        let mut sample = trace();
        let mut at = 100 * US;
        for (step, loads) in (0..).zip(loads) {
            let (called, corr) = (step * 50 * US, 10 * step + 1);
            sample = sample.step(step, called..called + 50 * US);
            for i in 0..4 {
                sample = sample.call(corr + i, called + i * 10 * US..called + i * 10 * US + 5 * US);
            }
            let received = loads[rank as usize];
            let exchange = |sample: Sample, corr, sent, received, time| {
                let ints =
                    [(Arg::InMsgNelems, sent), (Arg::OutMsgNelems, received), (Arg::Correlation, corr)];
                sample.nccl(Said { name: "all_to_allv", description: "ep", ints: &ints, ..ALL_REDUCE }, time)
            };
            let sent = at + 100 * US;
            let (done, all_done) = (sent + received * US, sent + loads.iter().max().unwrap() * US);
            sample = exchange(sample, corr, TOKENS, received, at..sent);
            sample = sample.kernel(experts, 20, sent..done, corr + 1);
            sample = exchange(sample, corr + 2, received, TOKENS, done..all_done + 100 * US);
            sample = sample.kernel("norm", 20, all_done + 100 * US..all_done + 300 * US, corr + 3);
            at = all_done + 300 * US;
        }
        sample
    }

    fn found(answer: &AnalyzeAnswer) -> Option<&Finding> {
        answer.findings.iter().find(|finding| finding.id == ID)
    }

    const LOADS: [[i64; 2]; 5] = [[1500, 500], [400, 1600], [1500, 500], [1450, 550], [900, 1100]];

    #[test]
    fn ranks_that_wait_for_the_experts_of_others_are_told() {
        let both = job(&Analyze, (0..2).map(|i| (i, rank(i64::from(i), &LOADS, "grouped_gemm"))).collect());
        let finding = found(&both).unwrap_or_else(|| panic!("{:?}", both.findings));
        gpuscope_testkit::findings_page()[ID].hold(&finding.title, finding.claim.0.keys().copied());
        assert_eq!(
            finding.title,
            "experts are unevenly loaded: in 4 of 5 dispatches the busiest rank gets at least 1.2 times the tokens that the mean rank does"
        );
        let claim: Vec<_> = finding.claim.0.iter().map(|(name, number)| (*name, *number)).collect();
        let of_rank_0 = (1500 + 1500 + 1450) * US;
        assert_eq!(claim, [("busiest_pct", 151), ("dispatches", 5), ("time_ns", of_rank_0), ("uneven", 4)]);
        // 500 + 600 + 500 + 450 µs in five steps.
        let gain = finding.gain_ns.unwrap();
        assert!((gain.0 - 410 * US).abs() < 20 * US, "{gain:?}");
        assert_eq!(finding.confidence, Confidence::Medium);
    }

    #[test]
    fn a_rank_alone_is_held_to_what_it_sends() {
        let loads = [[1500, 500], [1600, 400], [1500, 500], [1450, 550], [900, 1100]];
        let one = job(&Analyze, vec![(0, rank(0, &loads, "grouped_gemm"))]);
        let finding = found(&one).unwrap_or_else(|| panic!("{:?}", one.findings));
        gpuscope_testkit::findings_page()[ID].hold(&finding.title, finding.claim.0.keys().copied());
        assert_eq!((finding.claim.0["uneven"], finding.confidence), (4, Confidence::Low));
        let idle = job(&Analyze, vec![(1, rank(1, &loads, "grouped_gemm"))]);
        assert_eq!(found(&idle), None, "it gets less than it sends");
    }

    #[test]
    fn what_no_router_decides_is_no_imbalance_of_experts() {
        let job = |loads: &[[i64; 2]; 5], experts: &str| {
            let answer = job(&Analyze, (0..2).map(|i| (i, rank(i64::from(i), loads, experts))).collect());
            found(&answer).map(|finding| finding.title.clone())
        };
        assert_eq!(job(&[[1500, 500]; 5], "grouped_gemm"), None, "always the same: cut that way");
        assert_eq!(job(&LOADS, "embedding_bag"), None, "no products between");
        let even = [[1100, 900], [950, 1050], [1000, 1000], [1150, 850], [900, 1100]];
        assert_eq!(job(&even, "grouped_gemm"), None);
    }
}
