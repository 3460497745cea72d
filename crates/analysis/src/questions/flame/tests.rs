use gpuscope_trace::Selection;

use super::*;
use crate::testing::{Sample, trace};

fn asked() -> Flame {
    Flame::default()
}

/// A step in which a module's operator launches a long kernel, and another operator small ones.
fn sample(short: i64, long: i64) -> Sample {
    let mut sample = trace()
        .step(0, 0..900)
        .host("python_function", "train.py(3): main", 10..800)
        .host("python_function", "nn.Module: Linear_0", 20..400)
        .host("cpu_op", "aten::linear", 30..300)
        .call(1, 50..60)
        .kernel("gemm", 7, 100..100 + long, 1)
        .host("cpu_op", "aten::add", 500..600);
    for i in 0..short {
        let at = 1000 + i * 10;
        sample = sample.call(10 + i, 510 + i..511 + i).kernel(&format!("short{i}"), 7, at..at + 3, 10 + i);
    }
    sample.kernel("lost", 7, 5000..5005, None)
}

fn lines(answer: &FlameAnswer) -> Vec<String> {
    let line = |n: &FlameNode| {
        let before = n.before.map_or(String::new(), |before| format!(" was {}", before.total()));
        format!("{}{} {} {}{before}", "-".repeat(n.depth as usize), n.name, n.weight.total(), n.weight.own())
    };
    answer.nodes.iter().map(line).collect()
}

#[test]
fn boxes_are_call_paths_in_order_of_time() {
    let answer = sample(1, 40).build().ask(&asked()).answer();
    assert_eq!(
        lines(&answer),
        [
            "thread 43 0",
            "-ProfilerStep 43 0",
            "--train.py(3): main 43 0",
            "---nn.Module: Linear_0 40 0",
            "----aten::linear 40 0",
            "-----cudaLaunchKernel 40 0",
            "------gemm 40 40",
            "---aten::add 3 0",
            "----cudaLaunchKernel 3 0",
            "-----short0 3 3",
            "unlinked 5 0",
            "-lost 5 5",
        ]
    );
    assert_eq!(answer.weight, Weighed::Time { total_ns: 48, own_ns: 0 });
}

#[test]
fn the_order_of_time_is_not_that_of_the_file() {
    let answer = trace()
        .host("cpu_op", "late", 500..600)
        .host("cpu_op", "early", 0..100)
        .call(1, 510..520)
        .call(2, 10..20)
        .kernel("a", 7, 600..610, 1)
        .kernel("b", 7, 700..710, 2)
        .build()
        .ask(&Flame { paths: Paths::Operators, ..asked() })
        .answer();
    assert_eq!(lines(&answer), ["early 10 0", "-b 10 10", "late 10 0", "-a 10 10"]);
}

#[test]
fn modules_and_operators_leave_the_program_out() {
    let modules = sample(1, 40).build().ask(&Flame { paths: Paths::Modules, ..asked() }).answer();
    assert_eq!(
        lines(&modules)[..5],
        ["nn.Module: Linear_0 40 0", "-aten::linear 40 0", "--gemm 40 40", "aten::add 3 0", "-short0 3 3"]
    );
    let operators = sample(1, 40).build().ask(&Flame { paths: Paths::Operators, ..asked() }).answer();
    assert_eq!(lines(&operators)[..2], ["aten::linear 40 0", "-gemm 40 40"]);
}

#[test]
fn small_kernels_below_one_call_are_one_box() {
    let operators = Flame { paths: Paths::Operators, small: Ns(10), ..asked() };
    let answer = sample(4, 40).build().ask(&operators).answer();
    assert_eq!(
        lines(&answer),
        [
            "aten::linear 40 0",
            "-gemm 40 40",
            "aten::add 12 0",
            "-4 small kernels 12 12",
            "unlinked 5 0",
            "-lost 5 5"
        ]
    );
    assert_eq!(answer.nodes[3].count, 4);
}

#[test]
fn what_is_light_or_deep_is_part_of_what_is_above() {
    let light = sample(4, 40).build().ask(&Flame { min: Ns(10), ..asked() }).answer();
    assert_eq!(lines(&light).last().map(String::as_str), Some("----cudaLaunchKernel 12 12"));
    assert_eq!(light.weight, Weighed::Time { total_ns: 57, own_ns: 5 });
    // Of 57 ns that is a little more than 10.
    let least_share = Flame { least_share: 0.18, ..asked() };
    assert_eq!(sample(4, 40).build().ask(&least_share).answer(), light);
    let shallow = sample(4, 40).build().ask(&Flame { max_depth: Some(2), ..asked() }).answer();
    assert_eq!(lines(&shallow)[..2], ["thread 52 0", "-ProfilerStep 52 52"]);
}

#[test]
fn own_weights_always_add_up_to_the_whole() {
    let cuts = [(None, 0, 0), (Some(3), 0, 10), (None, 10, 10), (Some(1), 4, 0)];
    for by in [Weight::Gpu, Weight::Host, Weight::Bytes] {
        for paths in [Paths::Python, Paths::Modules, Paths::Operators] {
            for (max_depth, min, small) in cuts {
                let flame = Flame { by, paths, max_depth, min: Ns(min), small: Ns(small), ..asked() };
                let answer = sample(5, 40).build().ask(&flame).answer();
                let own: i64 = answer.nodes.iter().map(|node| node.weight.own()).sum();
                assert_eq!(own + answer.weight.own(), answer.weight.total(), "{flame:?}");
                for (place, node) in answer.nodes.iter().enumerate() {
                    let below = answer.nodes.iter().filter(|n| n.parent == Some(place as u32));
                    let below: i64 = below.map(|n| n.weight.total()).sum();
                    assert_eq!(below + node.weight.own(), node.weight.total(), "{flame:?}");
                }
            }
        }
    }
}

#[test]
fn host_time_has_paths_that_launched_nothing() {
    let flame = Flame { by: Weight::Host, paths: Paths::Operators, ..asked() };
    let sample = trace().host("cpu_op", "outer", 0..100).host("cpu_op", "inner", 10..40);
    assert_eq!(lines(&sample.build().ask(&flame).answer()), ["outer 100 70", "-inner 30 30"]);
}

#[test]
fn another_run_is_laid_over_path_by_path() {
    let compared = Flame { paths: Paths::Operators, compared: true, ..asked() };
    let before = sample(2, 30).build().ask(&compared);
    let after = sample(1, 40).build().ask(&compared);
    let answer = after.against(&before);
    assert_eq!(
        lines(&answer),
        [
            "aten::linear 40 0 was 30",
            "-gemm 40 40 was 30",
            "aten::add 3 0 was 6",
            "-short0 3 3 was 3",
            "-short1 0 0 was 3",
            "unlinked 5 0 was 5",
            "-lost 5 5 was 5",
        ]
    );
    assert_eq!(answer.before, Some(Weighed::Time { total_ns: 41, own_ns: 0 }));
    assert_eq!(answer.weight.total(), 48);
}

#[test]
fn the_same_paths_of_several_ranks_are_one_box() {
    let flame = asked();
    let ranks = [sample(1, 40), sample(1, 60)].map(|sample| {
        let loaded = sample.build();
        flame.local(0, loaded.view(&Selection::everything()))
    });
    let answer = flame.merge(ranks.into()).answer();
    assert_eq!(lines(&answer)[0], "thread 106 0");
    assert_eq!(answer.weight.total(), 116);
}
