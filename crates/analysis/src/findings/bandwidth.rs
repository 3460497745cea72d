//! Large transfers that are far slower than the links between the GPUs.
//!
//! Only collectives of which every rank is recorded count: the shortest duration is then the transfer, and no waiting
//! for a late rank can be mistaken for a slow link. They must stay within a machine whose GPUs and links are known.

use gpuscope_trace::{Kind, Ns};
use rustc_hash::FxHashMap;

use super::{Confidence, Evidence, Facts, Finding};
use crate::collectives::{CollectiveRow, Op, Span};
use crate::model::graph::{NodeId, Scenario, What};
use crate::shared::text;

pub(super) const ID: &str = "low_bus_bandwidth";

/// Below this, starting a collective takes as long as the transfer.
const LARGE: i64 = 4 << 20;
/// Fewer are no habit.
const FEWEST: usize = 4;
/// Of what the links carry.
const BELOW: f64 = 0.1;
/// What libraries reach of it, and what a collective takes besides.
const REACHED: f64 = 0.7;
const STARTING: f64 = 50_000.0;

/// A collective that is slower than its links.
struct Slow<'a> {
    row: &'a CollectiveRow,
    link: &'static str,
    link_gb_per_s: f64,
    bus_gb_per_s: f64,
}

impl Slow<'_> {
    /// The share of its transfer that is left at the target.
    fn left(&self) -> f32 {
        let time = self.row.latency_ns.as_f64();
        let moving = time * self.bus_gb_per_s / (REACHED * self.link_gb_per_s);
        ((STARTING + moving) / time).min(1.0) as f32
    }
}

pub(super) fn slow_links(facts: &Facts<'_>) -> Vec<Finding> {
    let mut of_group: Vec<(Option<&str>, Vec<&CollectiveRow>)> = Vec::new();
    for row in facts.collectives.collectives.iter().filter(|row| is_measure(row)) {
        let group = row.group.as_deref();
        match of_group.iter_mut().find(|(known, _)| *known == group) {
            Some((_, rows)) => rows.push(row),
            None => of_group.push((group, vec![row])),
        }
    }
    of_group.iter().filter_map(|(_, rows)| finding(facts, rows)).collect()
}

/// Whether the time of a collective says how fast the links between GPUs of a machine are.
fn is_measure(row: &CollectiveRow) -> bool {
    row.complete
        && row.ranks.len() > 1
        && row.span == Some(Span::IntraNode)
        && row.size_bytes.is_some_and(|bytes| bytes >= LARGE)
        && Op::of_name(&row.name).synchronises()
}

/// None if it is fast enough, or a rank's links are not known.
fn slow<'a>(facts: &Facts<'_>, row: &'a CollectiveRow) -> Option<Slow<'a>> {
    let bus_gb_per_s = row.bus_gb_per_s?;
    let group = row.ranks.len() as u32;
    let mut slowest: Option<(&'static str, f64)> = None;
    for part in &row.ranks {
        let link = facts.marked.iter().find(|rank| rank.rank == part.rank)?.link?;
        let rate = link.gb_per_s(group);
        slowest = slowest.filter(|(_, known)| *known <= rate).or(Some((&link.name, rate)));
    }
    let (link, link_gb_per_s) = slowest?;
    (bus_gb_per_s < BELOW * link_gb_per_s).then_some(Slow { row, link, link_gb_per_s, bus_gb_per_s })
}

fn finding(facts: &Facts<'_>, large: &[&CollectiveRow]) -> Option<Finding> {
    let all: Vec<Slow<'_>> = large.iter().filter_map(|row| slow(facts, row)).collect();
    // Where most are fast enough the links are not to blame.
    if all.len() < FEWEST || 2 * all.len() < large.len() {
        return None;
    }
    let without = Scenario { few_factors: factors(facts, &all), ..Scenario::default() };
    let gain = facts.gain(&without)?;
    let longest = all.iter().max_by_key(|slow| slow.row.latency_ns)?;
    let fastest = all.iter().max_by(|a, b| a.bus_gb_per_s.total_cmp(&b.bus_gb_per_s))?;
    let time: Ns = all.iter().map(|slow| slow.row.latency_ns).sum();
    let mb = |rate: f64| (1e3 * rate).round() as i64;
    let row = longest.row;
    let label = row.group_description.as_deref().or(row.group.as_deref());
    let of_group = label.map_or_else(String::new, |label| format!(" of group {label}"));
    let title = format!(
        "{} large transfers{of_group} reach at most {:.1} GB/s, where {} carries {:.0} GB/s",
        all.len(),
        fastest.bus_gb_per_s,
        fastest.link,
        fastest.link_gb_per_s
    );
    let part = row.ranks.iter().min_by_key(|part| part.dur_ns)?;
    let evidence = Evidence {
        step: row.step,
        rank: Some(part.rank),
        start_ns: Some(part.start_ns),
        end_ns: Some(part.start_ns + part.dur_ns),
        names: vec![row.name.to_string()],
        text: format!(
            "the longest is {} of {} among {} ranks, which takes {} once all have arrived; target: {:.0} % of the links' rate, and 50 µs to start",
            &*row.name,
            text::bytes(row.size_bytes.unwrap_or_default()),
            row.ranks.len(),
            text::time(row.latency_ns),
            100.0 * REACHED
        ),
        ..Evidence::default()
    };
    let finding = Finding::new(
        ID,
        title,
        "look at which way the data takes: NCCL_DEBUG=INFO says whether it goes over the links or the host, nvidia-smi topo -m or rocm-smi --showtopo how GPUs are linked, and nccl-tests or rccl-tests what the machine reaches without the job",
        "gpuscope collectives".to_owned(),
    );
    let claim = [
        ("transfers", all.len() as i64),
        ("transfer_ns", time.0),
        ("bus_mb_per_s", mb(fastest.bus_gb_per_s)),
        ("link_mb_per_s", mb(fastest.link_gb_per_s)),
    ];
    let caveat = "computation at the same time slows transfers down, too".to_owned();
    let finding = finding.claiming(claim).shown_by(evidence).trusted(Confidence::Medium, Some(caveat));
    Some(finding.worth(gain, without))
}

/// What is left of the transfers, on the graphs of their ranks.
fn factors(facts: &Facts<'_>, all: &[Slow<'_>]) -> Vec<(u32, NodeId, f32)> {
    let mut nodes: FxHashMap<(u32, Ns), (u32, NodeId)> = FxHashMap::default();
    for (place, (rank, graph)) in (0..).zip(facts.model.ranks.iter().zip(&facts.model.coupled.graphs)) {
        let communicates = |what| what == What::Gpu(Kind::Communication);
        let own = (0..).zip(&graph.nodes).filter(|(_, node)| communicates(node.what));
        nodes.extend(own.map(|(id, node)| ((rank.rank, node.start), (place, id))));
    }
    let of_row = |slow: &Slow<'_>| {
        let left = slow.left();
        let places = slow.row.ranks.iter().filter_map(|part| nodes.get(&(part.rank, part.start_ns)));
        places.map(|(graph, node)| (*graph, *node, left)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Arg;
    use gpuscope_trace::metadata::Device;

    use super::*;
    use crate::Analyze;
    use crate::analyze::AnalyzeAnswer;
    use crate::collectives::tests::{ALL_REDUCE, Said, job};
    use crate::testing::{Sample, trace};

    const MS: i64 = 1_000_000;

    /// Five steps of 10 ms on the GPU, launched ahead of it: computation, an all-reduce to which rank 1 comes 1 ms later,
    /// computation.
    fn rank(rank: i64, elements: i64, transfer: i64, gpu: &str) -> Sample {
        let sample = (0..5).fold(trace(), |sample, step| {
            let (called, at, corr) = (step * MS, MS + step * 10 * MS, 10 * step + 1);
            let sample = sample.step(step, called..called + MS);
            let calls = [0, 1, 2].map(|i| (corr + i, called + 10_000 * (i + 1)));
            let sample = calls.iter().fold(sample, |sample, (corr, at)| sample.call(*corr, *at..at + 5_000));
            let (computed, all_there) = (at + (2 + rank) * MS, at + 3 * MS);
            let sample = sample.kernel("gemm", 7, at..computed, corr);
            let ints = [
                (Arg::InMsgNelems, elements),
                (Arg::OutMsgNelems, elements),
                (Arg::GroupSize, 2),
                (Arg::Correlation, corr + 1),
            ];
            let sample = sample.nccl(Said { ints: &ints, ..ALL_REDUCE }, computed..all_there + transfer);
            sample.kernel("gemm", 20, all_there + transfer..at + 10 * MS, corr + 2)
        });
        sample.about(|metadata| {
            let device = Device { name: Some(gpu.to_owned()), ..Device::default() };
            metadata.devices = vec![device.clone(), device];
        })
    }

    fn analyzed(elements: i64, transfer: i64, gpu: &str) -> AnalyzeAnswer {
        job(&Analyze, (0..2).map(|i| (i, rank(i64::from(i), elements, transfer, gpu))).collect())
    }

    fn found(answer: &AnalyzeAnswer) -> Option<&Finding> {
        answer.findings.iter().find(|finding| finding.id == ID)
    }

    #[test]
    fn transfers_far_below_the_links_are_named() {
        // 64 MiB in 5 ms are 13.4 GB/s; two of these GPUs have 150 GB/s between them.
        let answer = analyzed(16 << 20, 5 * MS, "NVIDIA H100 80GB HBM3");
        let finding = found(&answer).unwrap_or_else(|| panic!("{:?}", answer.findings));
        gpuscope_testkit::findings_page()[ID].hold(&finding.title, finding.claim.0.keys().copied());
        assert_eq!(
            finding.title,
            "5 large transfers of group dp reach at most 13.4 GB/s, where NVLink carries 150 GB/s"
        );
        let claim: Vec<_> = finding.claim.0.iter().map(|(name, number)| (*name, *number)).collect();
        assert_eq!(
            claim,
            [
                ("bus_mb_per_s", 13_422),
                ("link_mb_per_s", 150_000),
                ("transfer_ns", 25 * MS),
                ("transfers", 5)
            ]
        );
        // 50 µs and 64 MiB at 105 GB/s: 689 µs in place of 5 ms. That rank 1 comes late stays.
        let gain = finding.gain_ns.unwrap();
        assert!((gain.0 - (5 * MS - 689_131)).abs() < 20_000, "{gain:?}");
    }

    #[test]
    fn what_may_have_other_reasons_is_no_slow_link() {
        let h100 = "NVIDIA H100 80GB HBM3";
        assert_eq!(found(&analyzed(16 << 20, 4 * MS, h100)), None, "16.8 GB/s are more than a tenth");
        assert_eq!(found(&analyzed((1 << 20) - 1, 5 * MS, h100)), None, "below 4 MiB");
        assert_eq!(found(&analyzed(16 << 20, 5 * MS, "NVIDIA Z999")), None, "links that nobody knows");
        let alone = job(&Analyze, vec![(0, rank(0, 16 << 20, 5 * MS, h100))]);
        assert_eq!(found(&alone), None, "the other rank may have been late");
    }
}
