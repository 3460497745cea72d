//! Where did the GPU's time go, in three parts: computing, doing something else, doing nothing?
//!
//! Over all GPU events of a rank: `kernel_ns` is the time from the first start to the last end, `compute_ns`
//! the time during which at least one computation ran (memory sets are not computation here), `idle_ns` the
//! time during which nothing ran, and `non_compute_ns` the rest: communication and memory traffic that no
//! computation hid. The three make up `kernel_ns`, to the nanosecond.

mod figures;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Interval, Kind, Ns, View};
use serde::Serialize;

use crate::Question;
use crate::shared::cover::Cover;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankTemporal {
    pub rank: u32,
    pub kernel_ns: Ns,
    pub idle_ns: Ns,
    pub compute_ns: Ns,
    pub non_compute_ns: Ns,
    pub idle_pct: f64,
    pub compute_pct: f64,
    pub non_compute_pct: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TemporalAnswer {
    pub ranks: Vec<RankTemporal>,
}

impl Tabular for TemporalAnswer {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("ranks", "Computing, other work, idle", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("kernel_ns", Unit::Ns, "From the first GPU event's start to the last one's end", |r| {
                r.kernel_ns.0
            })
            .int("compute_ns", Unit::Ns, "Time in which a computation ran", |r| r.compute_ns.0)
            .int("non_compute_ns", Unit::Ns, "Time in which only communication or memory traffic ran", |r| {
                r.non_compute_ns.0
            })
            .int("idle_ns", Unit::Ns, "Time in which nothing ran", |r| r.idle_ns.0)
            .float("compute_pct", Unit::Percent, "Computing, of the whole", |r| r.compute_pct)
            .float("non_compute_pct", Unit::Percent, "Other work, of the whole", |r| r.non_compute_pct)
            .float("idle_pct", Unit::Percent, "Idle, of the whole", |r| r.idle_pct)
            .build();
        vec![table]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Temporal;

impl Question for Temporal {
    type Local = RankTemporal;
    type Answer = TemporalAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankTemporal {
        let (mut busy, mut computation) = (Cover::default(), Cover::default());
        let mut hull: Option<Interval> = None;
        for event in view.gpu() {
            let time = event.interval();
            busy.add(time);
            if event.kind == Kind::Computation {
                computation.add(time);
            }
            let hull = hull.get_or_insert(time);
            hull.end = hull.end.max(time.end);
        }
        let (whole, compute) = (hull.map_or(Ns::ZERO, Interval::len), computation.len());
        let (idle, other) = (whole - busy.len(), busy.len() - compute);
        RankTemporal {
            rank,
            kernel_ns: whole,
            idle_ns: idle,
            compute_ns: compute,
            non_compute_ns: other,
            idle_pct: idle.pct_of(whole),
            compute_pct: compute.pct_of(whole),
            non_compute_pct: other.pct_of(whole),
        }
    }

    fn merge(&self, locals: Vec<RankTemporal>) -> TemporalAnswer {
        TemporalAnswer { ranks: locals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json, trace};

    #[test]
    fn memory_sets_and_bare_communication_are_not_computing() {
        let loaded = trace()
            .kernel("gemm", 7, 100..200, None)
            .kernel("ncclAllReduce", 20, 150..260, None)
            .memset(7, 300..310, None)
            .build();
        assert_eq!(
            json(&loaded.ask(&Temporal)),
            serde_json::json!({"ranks": [{
                "rank": 3, "kernel_ns": 210, "idle_ns": 40, "compute_ns": 100, "non_compute_ns": 70,
                "idle_pct": 100.0 * 40.0 / 210.0, "compute_pct": 100.0 * 100.0 / 210.0,
                "non_compute_pct": 100.0 * 70.0 / 210.0,
            }]})
        );
    }

    #[test]
    fn an_event_without_length_still_stretches_the_whole() {
        let loaded = trace().kernel("gemm", 7, 10..20, None).kernel("empty", 7, 50..50, None).build();
        let answer = loaded.ask(&Temporal);
        assert_eq!((answer.ranks[0].kernel_ns, answer.ranks[0].idle_ns), (Ns(40), Ns(30)));
    }

    #[test]
    fn a_rank_without_gpu_events_is_all_zeros() {
        let answer = trace().call(1, 5..9).build().ask(&Temporal);
        assert_eq!(answer.ranks, [RankTemporal { rank: 3, ..RankTemporal::default() }]);
    }
}
