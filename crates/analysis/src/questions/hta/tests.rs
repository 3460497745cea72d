use super::*;
use crate::testing::{json, trace};

#[test]
fn the_four_shares_make_a_hundred() {
    let loaded = trace()
        .call(1, 0..2)
        .kernel("gemm", 7, 10..50, 1)
        .kernel("ncclAllReduce", 20, 40..80, None)
        .memcpy("Memcpy DtoH", 7, 80..90, None)
        .kernel("gemm", 7, 100..110, None)
        .build();
    let answer = loaded.ask(&Hta);
    let shares = answer.mean;
    assert_eq!(
        [
            shares.compute_time_pct,
            shares.communication_time_pct,
            shares.memcpy_time_pct,
            shares.gpu_idle_time_pct,
            shares.communication_total_pct
        ]
        .map(|share| share.round() as i64),
        [50, 30, 10, 10, 40]
    );
    assert_eq!(answer.ranks[0].shares, shares);
    let top: Vec<_> = answer.top_kernels.iter().map(|k| (k.name.as_str(), k.count, k.time_ns.0)).collect();
    assert_eq!(top, [("gemm", 2, 50), ("ncclAllReduce", 1, 40), ("Memcpy DtoH", 1, 10)]);
    assert_eq!((answer.bottlenecks.len(), answer.recommendations.len()), (3, 3));
    let json = json(&answer);
    assert_eq!(json["breakdown"], crate::testing::json(&loaded.ask(&Breakdown::default())));
    assert_eq!(json["overlap"], crate::testing::json(&loaded.ask(&Overlap)));
    assert_eq!(json["gpu_idle_time_pct"], 10.0);
}

#[test]
fn a_rank_that_computes_longer_is_named() {
    let rank = |rank: u32, time: i64| {
        let loaded = trace().kernel("gemm", 7, 0..time, None).build();
        Hta.local(rank, loaded.view(&gpuscope_trace::Selection::everything()))
    };
    let answer = Hta.merge(vec![rank(0, 100), rank(1, 100), rank(2, 118), rank(3, 101)]);
    assert_eq!(answer.bottlenecks, ["rank 2 computes 16.8 % longer than the median rank"]);
    let even = Hta.merge(vec![rank(0, 100), rank(1, 100), rank(2, 101)]);
    assert!(even.bottlenecks.is_empty());
    assert!((even.mean.compute_time_pct - 100.0).abs() < 1e-9);
}

#[test]
fn without_gpu_work_there_is_nothing_to_say() {
    let answer = trace().call(1, 0..2).build().ask(&Hta);
    assert_eq!(answer.mean, Shares::default());
    assert!(answer.bottlenecks.is_empty() && answer.top_kernels.is_empty());
}
