//! What the breakdowns come to, in words: one small rule each, none for a healthy job.

use gpuscope_trace::Ns;

use super::HtaAnswer;
use crate::idle::Cause;

/// What holds the job up, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub bottleneck: String,
    pub recommendation: String,
}

/// Shares of the window below which nothing is worth a word.
const IDLE_PCT: f64 = 10.0;
const EXPOSED_COMM_PCT: f64 = 10.0;
const EXPOSED_COPIES_PCT: f64 = 5.0;
/// A rank that computes so much longer than the median one holds the others up.
const UNEVEN_PCT: f64 = 5.0;

pub(super) fn all(answer: &HtaAnswer) -> Vec<Advice> {
    let rules = [idle, exposed_communication, uneven_computation, exposed_copies];
    rules.into_iter().filter_map(|rule| rule(answer)).collect()
}

fn idle(answer: &HtaAnswer) -> Option<Advice> {
    let share = answer.mean.gpu_idle_time_pct - unrecorded_pct(answer);
    let devices = &answer.idle.devices;
    let sum = |part: fn(&crate::idle::DeviceIdle) -> Ns| devices.iter().map(part).sum::<Ns>();
    let (whole, host) = (sum(|d| d.idle_ns) - sum(|d| d.unrecorded_ns), sum(|d| d.host_ns));
    let cause = answer.idle.host_causes.first();
    (share >= IDLE_PCT).then(|| Advice {
        bottleneck: format!(
            "GPUs idle for {share:.1} % of the time, {:.0} % of it waiting for the host",
            host.pct_of(whole)
        ),
        recommendation: match cause {
            Some(cause) if cause.cause == Cause::NothingRecorded => {
                "record with_stack=True to see what the host did, then see gpuscope idle".to_owned()
            }
            Some(cause) => format!("see to the host's {} first: gpuscope idle has it", cause.cause.label()),
            None => "see gpuscope idle for what the GPUs waited for".to_owned(),
        },
    })
}

/// The mean share in which work from before the recording still ran: no idleness, although nothing is recorded.
fn unrecorded_pct(answer: &HtaAnswer) -> f64 {
    let working = answer.breakdown.ranks.iter().filter(|rank| rank.total.total_ns > Ns::ZERO);
    let (count, sum) = working.fold((0.0, 0.0), |(count, sum), rank| {
        (count + 1.0, sum + rank.unrecorded_ns.pct_of(rank.total.total_ns))
    });
    if count > 0.0 { sum / count } else { 0.0 }
}

fn exposed_communication(answer: &HtaAnswer) -> Option<Advice> {
    let share = answer.mean.communication_time_pct;
    let whole = answer.mean.communication_total_pct;
    (share >= EXPOSED_COMM_PCT).then(|| Advice {
        bottleneck: format!(
            "exposed communication takes {share:.1} % of the time, {whole:.1} % with what is hidden"
        ),
        recommendation: "start collectives earlier or in smaller buckets: see gpuscope overlap".to_owned(),
    })
}

fn exposed_copies(answer: &HtaAnswer) -> Option<Advice> {
    let share = answer.mean.memcpy_time_pct;
    (share >= EXPOSED_COPIES_PCT).then(|| Advice {
        bottleneck: format!("copies that nothing hides take {share:.1} % of the time"),
        recommendation:
            "pin host memory and copy without blocking on a stream of its own: see gpuscope bandwidth"
                .to_owned(),
    })
}

fn uneven_computation(answer: &HtaAnswer) -> Option<Advice> {
    let mut times: Vec<(Ns, u32)> =
        answer.breakdown.ranks.iter().map(|rank| (rank.total.computation_ns, rank.rank)).collect();
    times.sort_unstable();
    let (slowest, rank) = *times.last().filter(|_| times.len() > 2)?;
    let (median, _) = times[times.len() / 2];
    let more = (slowest - median).pct_of(median);
    (more >= UNEVEN_PCT).then(|| Advice {
        bottleneck: format!("rank {rank} computes {more:.1} % longer than the median rank"),
        recommendation: format!(
            "see what is slower there: gpuscope diff TRACES --rank {rank} --against median"
        ),
    })
}
