//! What the numbers of `breakdown` show of a planted fault. Only the kind of the fault is taken from the plan; which
//! rank and which step it is, and how much, is read from the answer.

use gpuscope_analysis::breakdown::{BreakdownAnswer, RankBreakdown};
use gpuscope_report::units;
use gpuscope_testkit::PlantedFault;

/// What was found, and the command that shows it; `FOLDER` stands for the traces.
pub(super) struct Seen {
    pub text: String,
    pub command: String,
}

/// Less than this of a rank's time is not worth a word.
const LEAST_PCT: f64 = 1.0;

/// What was done to the job, in words.
pub(super) fn planted(fault: &PlantedFault) -> Option<String> {
    let what = match (fault.code, fault.rank, fault.step) {
        ("slow_compute", Some(rank), _) => format!("straggler: the kernels of rank {rank} are slow"),
        ("exposed_all_reduce", _, _) => "exposed all-reduce after the backward pass".to_owned(),
        ("data_loader_stall", Some(rank), Some(step)) => {
            format!("data-loader stall of rank {rank} in step {step}")
        }
        _ => return None,
    };
    Some(format!("{what}, costing the job {}", units::duration(fault.lost_ns)))
}

pub(super) fn seen(fault: &PlantedFault, answer: &BreakdownAnswer) -> Seen {
    let (found, command) = match fault.code {
        "slow_compute" => (straggler(answer), "gpuscope breakdown FOLDER --table total".to_owned()),
        "exposed_all_reduce" => (exposed(answer), "gpuscope overlap FOLDER".to_owned()),
        _ => stall(answer),
    };
    Seen { text: found.unwrap_or_else(|| "nothing of it in these numbers".to_owned()), command }
}

/// The rank that computes longest, beside the others.
fn straggler(answer: &BreakdownAnswer) -> Option<String> {
    let time = |rank: &RankBreakdown| rank.total.computation_ns.0;
    let slow = answer.ranks.iter().max_by_key(|rank| time(rank))?;
    let others = || answer.ranks.iter().filter(|rank| rank.rank != slow.rank);
    let usual = median(others().map(time).collect())?;
    let more = percent(time(slow) - usual, usual);
    let waiting = median(others().map(|rank| rank.total.exposed_comm_ns.0).collect())?;
    (more >= LEAST_PCT).then(|| {
        format!(
            "rank {} computes for {}, the others for {}: {more:.1} % more. It spends {} in exposed communication, the \
             others {}",
            slow.rank,
            units::duration(time(slow)),
            units::duration(usual),
            units::duration(slow.total.exposed_comm_ns.0),
            units::duration(waiting),
        )
    })
}

/// Communication that nothing hid, over all ranks.
fn exposed(answer: &BreakdownAnswer) -> Option<String> {
    let sum = |of: fn(&RankBreakdown) -> i64| answer.ranks.iter().map(of).sum::<i64>();
    let (total, comm) = (sum(|rank| rank.total.total_ns.0), sum(|rank| rank.total.comm_ns.0));
    let exposed = sum(|rank| rank.total.exposed_comm_ns.0);
    let share = percent(exposed, total);
    (comm > 0).then(|| {
        format!(
            "{:.1} % of communication is hidden behind computation; the rest takes {share:.1} % of all GPU time",
            percent(comm - exposed, comm),
        )
    })
}

/// The step whose GPU work begins latest, beside the same step of the other ranks.
fn stall(answer: &BreakdownAnswer) -> (Option<String>, String) {
    let steps = answer.ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| (rank, step)));
    let late = steps.filter_map(|(rank, step)| {
        let same = |other: &RankBreakdown| {
            let step = other.steps.iter().find(|other| other.step == step.step);
            step.filter(|_| other.rank != rank.rank).map(|step| step.lead_idle_ns.0)
        };
        let usual = median(answer.ranks.iter().filter_map(same).collect())?;
        Some((step.lead_idle_ns.0 - usual, rank, step))
    });
    let Some((by, rank, step)) = late.max_by_key(|(by, _, _)| *by) else {
        return (None, "gpuscope breakdown FOLDER --table steps".to_owned());
    };
    let command = format!("gpuscope breakdown FOLDER --step {} --table steps", step.step);
    if percent(by, rank.total.total_ns.0) < LEAST_PCT {
        return (None, command);
    }
    let others = answer.ranks.iter().filter(|other| other.rank != rank.rank);
    let idle = median(others.map(|other| other.total.idle_ns.0).collect()).unwrap_or_default();
    let text = format!(
        "the GPU of rank {} gets work {} later than the others in step {}; it idles for {} in all, the others for {}",
        rank.rank,
        units::duration(by),
        step.step,
        units::duration(rank.total.idle_ns.0),
        units::duration(idle),
    );
    (Some(text), command)
}

/// The upper one of an even number.
fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
