//! The answer in sentences.

use gpuscope_trace::Ns;

use super::{Cause, Counted, Pattern, RankStraggler, StragglersAnswer, Why};
use crate::collectives::Matched;

/// Ranks listed in a sentence; the rest is counted.
const MOST_RANKS: usize = 8;

pub(super) fn of(answer: &StragglersAnswer, matched: &Matched, counted: &Counted) -> Vec<String> {
    let shared = counted.iter(matched).count();
    if matched.ranks.len() < 2 {
        return vec!["One rank is here: who is late shows only beside the traces of other ranks.".to_owned()];
    }
    if shared == 0 {
        return vec![
            "No synchronising collective is shared by two of these ranks, so nothing tells who is late."
                .to_owned(),
        ];
    }
    let mut late: Vec<&RankStraggler> = answer.ranks.iter().filter(|rank| rank.late).collect();
    late.sort_by_key(|rank| (std::cmp::Reverse(rank.own_lateness_ns), rank.rank));
    let mut notes: Vec<String> = late.into_iter().map(sentence).collect();
    let told: u64 = answer.ranks.iter().map(|rank| rank.last).sum();
    let untold = shared - told as usize;
    if 2 * untold > shared {
        notes.push(format!(
            "In {untold} of {shared} collectives it cannot be told who was last: the ranks are less far apart than \
             their clocks may be off."
        ));
    } else if notes.is_empty() {
        notes.push(format!(
            "No rank is late: over {shared} collectives, no rank's own lateness is 1 % of the run."
        ));
    }
    let incomplete = counted.iter(matched).filter(|(_, collective)| !collective.complete()).count();
    if incomplete > 0 {
        notes.push(missing(answer, incomplete, shared));
    }
    notes
}

fn sentence(rank: &RankStraggler) -> String {
    let pattern = rank.pattern.as_ref().map(pattern).unwrap_or_default();
    let cause = rank.cause.as_ref().map(|found| cause(rank.rank, found)).unwrap_or_default();
    format!(
        "Rank {} is late by {} of its own{pattern}, and the others wait {:.0} % of their time for it{cause}.",
        rank.rank,
        time(rank.own_lateness_ns),
        rank.others_wait_pct
    )
}

fn pattern(pattern: &Pattern) -> String {
    let what = if pattern.late_steps.is_empty() { "stretches" } else { "steps" };
    let how = if pattern.persistent { "persistent" } else { "transient" };
    format!(", {how} ({} of {} {what})", pattern.late_in, pattern.of)
}

fn cause(rank: u32, cause: &Cause) -> String {
    match cause.why {
        Why::SlowerKernels => {
            let most =
                cause.kernel.as_ref().map(|kernel| format!(", most of all {kernel}")).unwrap_or_default();
            format!(
                ": the same kernels take {} longer than on the median rank{most}",
                time(cause.slower_kernels_ns)
            )
        }
        Why::MoreWork => format!(": it has {} more work than the median rank", time(cause.more_work_ns)),
        Why::Host => format!(
            ": its GPU waits {} longer for the host than the median rank's; gpuscope idle --rank {rank} says for what",
            time(cause.host_ns)
        ),
        Why::Unknown => ": neither its kernels nor its host explain it".to_owned(),
    }
}

fn missing(answer: &StragglersAnswer, incomplete: usize, shared: usize) -> String {
    let ranks: Vec<String> =
        answer.missing.iter().take(MOST_RANKS).map(|missing| missing.rank.to_string()).collect();
    let more = answer.missing.len().saturating_sub(MOST_RANKS);
    let whose = match (ranks.len(), more) {
        (0, _) => "some ranks".to_owned(),
        (1, _) => format!("rank {}", ranks[0]),
        (_, 0) => format!("ranks {}", ranks.join(", ")),
        _ => format!("ranks {} and {more} more", ranks.join(", ")),
    };
    format!(
        "{incomplete} of {shared} collectives lack the trace of {whose}, and the late rank may be among them: even the \
         last of those here waited {} beyond the fastest collective of each sort.",
        time(answer.unexplained_wait_ns)
    )
}

fn time(ns: Ns) -> String {
    match ns.0.saturating_abs() {
        0..1_000_000 => format!("{:.1} µs", ns.as_f64() / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns.as_f64() / 1e6),
        _ => format!("{:.2} s", ns.as_f64() / 1e9),
    }
}
