//! In what the ranks differ most. Ranks that wait for each other have one step time, however unlike they are in it.

use gpuscope_trace::Ns;
use serde::Serialize;

use crate::breakdown::RankBreakdown;

/// Points of their time in which ranks are unlike.
const UNLIKE_POINTS: f64 = 1.0;

type TimeOf = fn(&RankBreakdown) -> Ns;

/// The rank that is furthest from the median one, and the part of its time in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Differs {
    pub rank: u32,
    pub part: &'static str,
    pub pct: f64,
    pub median_pct: f64,
}

impl Differs {
    pub fn sentence(&self) -> String {
        let Differs { rank, part, pct, median_pct } = self;
        format!("Ranks differ: {part} {pct:.1} % on rank {rank}, {median_pct:.1} % on the median rank")
    }

    pub(super) fn of(ranks: &[RankBreakdown]) -> Option<Differs> {
        let parts: [(&'static str, TimeOf); 4] = [
            ("communication", |rank| rank.total.exposed_comm_ns),
            ("computation", |rank| rank.total.computation_ns),
            ("idle", |rank| rank.total.idle_ns - rank.unrecorded_ns),
            ("copies", |rank| rank.total.exposed_memcpy_ns),
        ];
        let mut most: Option<Differs> = None;
        for (part, time) in parts {
            let found = furthest(part, ranks, time);
            let further = |found: &Differs| most.is_none_or(|most| found.points() > most.points());
            most = found.filter(further).or(most);
        }
        most.filter(|most| most.points() >= UNLIKE_POINTS)
    }

    fn points(&self) -> f64 {
        (self.pct - self.median_pct).abs()
    }
}

fn furthest(part: &'static str, ranks: &[RankBreakdown], time: TimeOf) -> Option<Differs> {
    let whole = |rank: &RankBreakdown| rank.total.total_ns - rank.unrecorded_ns;
    let working = ranks.iter().filter(|rank| rank.total.total_ns > Ns::ZERO);
    let mut shares: Vec<(f64, u32)> =
        working.map(|rank| (time(rank).pct_of(whole(rank)), rank.rank)).collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (&lowest, &highest) = (shares.first()?, shares.last()?);
    let median_pct = shares[(shares.len() - 1) / 2].0;
    let (pct, rank) = if highest.0 - median_pct >= median_pct - lowest.0 { highest } else { lowest };
    Some(Differs { rank, part, pct, median_pct })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;
    use crate::{Breakdown, Question};

    fn rank(rank: u32, computing: i64) -> RankBreakdown {
        let loaded = trace()
            .kernel("gemm", 7, 0..computing, None)
            .kernel("ncclDevKernel_AllReduce", 20, computing..1_000, None)
            .build();
        let selection = gpuscope_trace::Selection::everything();
        Breakdown::default().local(rank, loaded.view(&selection))
    }

    #[test]
    fn a_rank_that_others_wait_for_is_unlike_them() {
        let ranks = [rank(0, 700), rank(1, 820), rank(2, 695), rank(3, 700)];
        let found = Differs::of(&ranks).unwrap();
        assert_eq!((found.rank, found.part), (1, "communication"));
        assert_eq!(
            found.sentence(),
            "Ranks differ: communication 18.0 % on rank 1, 30.0 % on the median rank"
        );
        assert_eq!(Differs::of(&[rank(0, 700), rank(1, 705)]), None);
        assert_eq!(Differs::of(&ranks[..1]), None);
    }
}
