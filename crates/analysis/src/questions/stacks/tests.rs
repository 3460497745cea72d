use gpuscope_trace::Arg;
use proptest::prelude::*;

use super::*;
use crate::testing::{Loaded, Sample, trace};

fn sample() -> Sample {
    (0..2).fold(trace(), |s, i| {
        let at = i * 1000;
        s.step(i, at..at + 900)
            .host("python_function", "train.py(3): main", at + 10..at + 800)
            .host("python_function", "nn.Module: Linear_0", at + 20..at + 400)
            .host("cpu_op", "aten::linear", at + 30..at + 300)
            .host("cpu_op", "aten::addmm", at + 40..at + 200)
            .call(10 * i + 1, at + 50..at + 60)
            .kernel("gemm", 7, at + 100..at + 107, 10 * i + 1)
            .call(10 * i + 2, at + 250..at + 260)
            .kernel("bias", 7, at + 300..at + 302, 10 * i + 2)
            .host("cpu_op", "aten::item", at + 500..at + 600)
    })
}

fn lines(answer: &StacksAnswer) -> Vec<String> {
    let line = |n: &StackNode| {
        let indent = "-".repeat(n.depth as usize);
        format!("{indent}{} {} {} {} {}", n.name, n.count, n.gpu_ns, n.direct_gpu_ns, n.own)
    };
    answer.ranks[0].nodes.iter().map(line).collect()
}

fn text(answer: &StacksAnswer) -> Vec<String> {
    lines(answer).into_iter().map(|line| line.replace(" ns", "")).collect()
}

#[test]
fn equal_paths_are_one_node_and_what_launched_nothing_is_left_out() {
    let answer = sample().kernel("lost", 7, 5000..5003, None).build().ask(&Stacks::default());
    assert_eq!(
        text(&answer),
        [
            "thread 1 0 18 0 0",
            "-ProfilerStep 2 18 0 0",
            "--train.py(3): main 2 18 0 0",
            "---nn.Module: Linear_0 2 18 0 0",
            "----aten::linear 2 18 4 0",
            "-----aten::addmm 2 14 14 0",
            "------cudaLaunchKernel 2 14 14 0",
            "-------gemm 2 14 14 14",
            "-----cudaLaunchKernel 2 4 4 0",
            "------bias 2 4 4 4",
            "unlinked 0 3 3 0",
            "-lost 1 3 3 3",
        ]
    );
    let rank = &answer.ranks[0];
    assert_eq!((rank.gpu_ns, rank.unlinked_ns), (Ns(21), Ns(3)));
}

#[test]
fn depth_and_least_weight_fold_what_is_below_into_what_is_above() {
    let shallow = sample().build().ask(&Stacks { depth: Some(3), ..Stacks::default() });
    assert_eq!(text(&shallow).last().map(String::as_str), Some("---nn.Module: Linear_0 2 18 0 18"));
    let heavy = sample().build().ask(&Stacks { min: 10, ..Stacks::default() });
    assert_eq!(text(&heavy)[4], "----aten::linear 2 18 4 4");
    assert!(!text(&heavy).iter().any(|line| line.contains("bias")));
}

#[test]
fn frames_that_only_pass_on_are_no_depth() {
    let loaded = trace()
        .host("python_function", "train.py(3): main", 0..100)
        .host("python_function", "wrapper.py(7): inner", 1..99)
        .host("cpu_op", "aten::mm", 10..50)
        .call(1, 20..30)
        .kernel("gemm", 7, 40..60, 1)
        .build();
    let answer = loaded.ask(&Stacks { depth: Some(2), ..Stacks::default() });
    assert_eq!(text(&answer).last().map(String::as_str), Some("---aten::mm 1 20 20 20"));
}

#[test]
fn a_filter_keeps_what_is_below_a_match_and_the_way_to_it() {
    let filter = NamePattern::new("addmm", |name| name.contains("addmm"));
    let answer = sample().build().ask(&Stacks { filter: Some(filter), ..Stacks::default() });
    assert_eq!(text(&answer)[4..6], ["----aten::linear 2 14 0 0", "-----aten::addmm 2 14 14 0"]);
    assert!(!text(&answer).iter().any(|line| line.contains("bias")));
}

#[test]
fn host_time_is_split_into_own_and_below() {
    let answer = sample().build().ask(&Stacks { by: Weight::Host, everything: true, ..Stacks::default() });
    let nodes = &answer.ranks[0].nodes;
    let of = |name: &str| {
        let node = nodes.iter().find(|node| node.name == name).unwrap();
        (node.host_ns.0, node.host_self_ns.0)
    };
    assert_eq!(of("aten::addmm"), (320, 300));
    assert_eq!(of("train.py(3): main"), (1580, 1580 - 760 - 200));
    assert_eq!(of("aten::item"), (200, 200));
    assert_eq!(of("thread 1"), (1800, 0));
}

fn with_backward() -> Loaded {
    let s =
        trace().on_thread(1, "cpu_op", "aten::mm", 0..50, &[(Arg::SequenceNumber, 4), (Arg::FwdThreadId, 0)]);
    let mut s = s.call(1, 10..20).kernel("gemm", 7, 30..40, 1);
    // The engine's frame and the operator in it have the same link.
    for (name, time) in [("engine", 90..210), ("MmBackward0", 100..200)] {
        s = s.on_thread(2, "cpu_op", name, time, &[(Arg::SequenceNumber, 4), (Arg::FwdThreadId, 1)]);
    }
    let s = s.on_thread(2, "cuda_runtime", "cudaLaunchKernel", 120..125, &[(Arg::Correlation, 2)]);
    s.kernel("gemm backward", 7, 150..170, 2).build()
}

#[test]
fn backward_operators_know_their_forward_ones() {
    let answer = with_backward().ask(&Stacks::default());
    let nodes = &answer.ranks[0].nodes;
    let backward = nodes.iter().find(|node| node.name == "engine").unwrap();
    assert_eq!(nodes[backward.forward.unwrap() as usize].name, "aten::mm");
    let below = Stacks { backward_below_forward: true, ..Stacks::default() };
    assert_eq!(
        text(&with_backward().ask(&below))[..5],
        [
            "thread 1 0 30 0 0",
            "-aten::mm 1 30 10 0",
            "--backward 0 20 0 0",
            "---engine 1 20 0 0",
            "----MmBackward0 1 20 20 0",
        ]
    );
}

#[test]
fn one_thread_alone() {
    let only = |thread: &str| {
        let answer = with_backward().ask(&Stacks { thread: Some(thread.to_owned()), ..Stacks::default() });
        text(&answer).first().cloned()
    };
    assert_eq!(only("2").as_deref(), Some("thread 2 0 20 0 0"));
    assert_eq!(only("77"), None);
}

proptest! {
    #[test]
    fn no_nanosecond_is_lost_however_spans_lie(
        spans in proptest::collection::vec((0..60i64, 0..30i64, 0..4usize), 0..25),
        launches in proptest::collection::vec((0..90i64, 1..9i64, any::<bool>()), 0..12),
        depth in proptest::option::of(1..5u32),
        min in 0..9i64,
    ) {
        let mut s = trace();
        for (start, length, name) in &spans {
            s = s.host("cpu_op", ["a", "b", "c", "d"][*name], *start..start + length);
        }
        for (i, (at, dur, linked)) in launches.iter().enumerate() {
            let corr = i as i64 + 1;
            if *linked {
                s = s.call(corr, *at..at + 1);
            }
            s = s.kernel("k", 7, 100 + at..100 + at + dur, corr);
        }
        let answer = s.build().ask(&Stacks { depth, min, everything: true, ..Stacks::default() });
        let rank = &answer.ranks[0];
        let roots = rank.nodes.iter().filter(|node| node.parent.is_none());
        let own: i64 = rank.nodes.iter().map(|node| node.own).sum();
        // What is too light to be listed at all has no node to be part of.
        if min == 0 {
            prop_assert_eq!(roots.map(|node| node.gpu_ns).sum::<Ns>(), rank.gpu_ns);
            prop_assert_eq!(own, rank.gpu_ns.0);
        }
        for (i, node) in rank.nodes.iter().enumerate() {
            prop_assert!(node.parent.is_none_or(|parent| (parent as usize) < i));
            let below: i64 =
                rank.nodes.iter().filter(|child| child.parent == Some(i as u32)).map(|child| child.gpu_ns.0).sum();
            prop_assert_eq!(node.gpu_ns.0, node.own + below);
        }
    }
}
