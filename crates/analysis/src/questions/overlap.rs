//! How much of the communication was hidden behind computation?
//!
//! `comm_ns` is the time during which at least one communication ran on the rank's GPUs, `overlap_ns` the part
//! of it during which a computation ran too (memory copies and sets hide nothing), `overlap_pct` their ratio:
//! `null` where there was no communication.

mod figures;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Kind, Ns, View};
use serde::Serialize;

use crate::Question;
use crate::shared::cover::Cover;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankOverlap {
    pub rank: u32,
    pub comm_ns: Ns,
    pub overlap_ns: Ns,
    pub overlap_pct: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapAnswer {
    pub ranks: Vec<RankOverlap>,
}

impl Tabular for OverlapAnswer {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("ranks", "Communication hidden behind computation", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("comm_ns", Unit::Ns, "Time in which a communication ran", |r| r.comm_ns.0)
            .int("overlap_ns", Unit::Ns, "Time in which a communication and a computation ran", |r| {
                r.overlap_ns.0
            })
            .float("overlap_pct", Unit::Percent, "Hidden, of the communication; none without any", |r| {
                r.overlap_pct
            })
            .build();
        vec![table]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Overlap;

impl Question for Overlap {
    type Local = RankOverlap;
    type Answer = OverlapAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankOverlap {
        let (mut communication, mut computation, mut either) =
            (Cover::default(), Cover::default(), Cover::default());
        for event in view.gpu() {
            match event.kind {
                Kind::Communication => communication.add(event.interval()),
                Kind::Computation => computation.add(event.interval()),
                Kind::Memcpy | Kind::Memset => continue,
            }
            either.add(event.interval());
        }
        let whole = communication.len();
        // What is covered by either and not by computation is bare communication.
        let hidden = whole - (either.len() - computation.len());
        let share = (whole > Ns::ZERO).then(|| hidden.pct_of(whole));
        RankOverlap { rank, comm_ns: whole, overlap_ns: hidden, overlap_pct: share }
    }

    fn merge(&self, locals: Vec<RankOverlap>) -> OverlapAnswer {
        OverlapAnswer { ranks: locals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json, trace};

    #[test]
    fn only_computation_hides_communication() {
        let loaded = trace()
            .kernel("ncclAllGather", 20, 100..200, None)
            .kernel("ncclReduceScatter", 21, 150..300, None)
            .kernel("gemm", 7, 180..220, None)
            .kernel("gemm", 8, 190..230, None)
            .memcpy("Memcpy DtoD", 7, 240..300, None)
            .memset(7, 110..120, None)
            .build();
        assert_eq!(
            json(&loaded.ask(&Overlap)),
            serde_json::json!({"ranks": [{"rank": 3, "comm_ns": 200, "overlap_ns": 50, "overlap_pct": 25.0}]})
        );
    }

    #[test]
    fn without_communication_the_share_is_null() {
        let loaded = trace().kernel("gemm", 7, 1..2, None).kernel("ncclEmpty", 20, 1..1, None).build();
        assert_eq!(
            json(&loaded.ask(&Overlap)),
            serde_json::json!({"ranks": [{"rank": 3, "comm_ns": 0, "overlap_ns": 0, "overlap_pct": null}]})
        );
    }
}
