use proptest::prelude::*;

use super::*;
use crate::testing::{Sample, trace};

fn tree(sample: Sample) -> RunTree {
    sample.build().ask(&TreeDiff)
}

/// A convolution of which the inner operator and the kernels depend on the library.
fn convolution(inner: &str, kernels: &[(&str, i64)]) -> Sample {
    let mut s = trace()
        .host("python_function", "nn.Module: Conv2d_0", 0..1000)
        .host("python_function", "/opt/x-packages/torch/conv.py(12): forward", 5..990)
        .host("cpu_op", "aten::conv2d", 10..900)
        .host("cpu_op", inner, 20..800);
    for (i, (kernel, ns)) in kernels.iter().enumerate() {
        let at = 30 + 10 * i as i64;
        s = s.call(i as i64 + 1, at..at + 1).kernel(kernel, 7, 100 * at..100 * at + ns, i as i64 + 1);
    }
    s.host("cpu_op", "aten::relu", 910..950).call(90, 920..921).kernel(
        if inner.contains("cudnn") { "relu_nv" } else { "relu_amd" },
        7,
        90_000..90_010,
        90,
    )
}

#[test]
fn a_difference_goes_to_its_lowest_common_ancestor() {
    let a = tree(convolution("aten::miopen_convolution", &[("igemm", 30), ("transpose", 5)]));
    let b = tree(convolution("aten::cudnn_convolution", &[("sm90_conv", 20)]));
    let diff = TreeDiffAnswer::between(&a, &b);
    assert_eq!((diff.a_ns, diff.b_ns, diff.delta_ns), (Ns(45), Ns(30), Ns(-15)));
    let rows: Vec<_> =
        diff.rows.iter().map(|r| (r.path.join(" > "), r.a.gpu_ns.0, r.b.gpu_ns.0, r.a.count)).collect();
    assert_eq!(
        rows,
        [
            ("nn.Module: Conv2d_0 > aten::conv2d".to_owned(), 35, 20, 2),
            ("nn.Module: Conv2d_0 > aten::relu".to_owned(), 10, 10, 1),
        ]
    );
    assert_eq!(diff.rows[0].a.parts, [Part { name: "aten::miopen_convolution".to_owned(), gpu_ns: Ns(35) }]);
    assert_eq!(diff.rows[1].b.parts, [Part { name: "relu_nv".to_owned(), gpu_ns: Ns(10) }]);
}

/// A product of so many rows, in two launches of which the second is the product.
fn product(rows: i64, ns: i64) -> RunTree {
    tree(
        trace()
            .op_on("vllm::rocm_unquantized_gemm", &format!("[[{rows}, 16], [32, 16]]"), 0..100)
            .op_on("aten::mm", &format!("[[{rows}, 16], [16, 32]]"), 5..90)
            .call(1, 10..11)
            .kernel("fill", 7, 200..203, 1)
            .call(2, 20..21)
            .kernel("gemm", 7, 300..300 + ns, 2),
    )
}

#[test]
fn operations_tell_more_work_from_slower_work() {
    let flops = |rows: i64| Some((2 * rows * 16 * 32) as f64 / 1e9);
    let whys = |b: &RunTree| {
        let diff = TreeDiffAnswer::between(&product(8, 100), b);
        let seen = |o: &OperatorChange| (o.a_gflops, o.b_gflops, o.why);
        diff.operators.iter().map(seen).collect::<Vec<_>>()
    };
    assert_eq!(whys(&product(8, 300)), [(flops(8), flops(8), Why::Slower)]);
    assert_eq!(whys(&product(8, 50)), [(flops(8), flops(8), Why::Faster)]);
    // With other shapes they meet where both have a path.
    assert_eq!(whys(&product(24, 300)), [(flops(8), flops(24), Why::MoreWork)]);
    assert_eq!(whys(&product(8, 100)), [(flops(8), flops(8), Why::Same)]);
}

#[test]
fn nothing_has_changed_against_itself() {
    let a = tree(convolution("aten::cudnn_convolution", &[("sm90_conv", 20)]));
    let diff = TreeDiffAnswer::between(&a, &a);
    assert!(diff.rows.iter().all(|row| row.delta_ns == Ns::ZERO));
    assert_eq!(diff.rows.len(), 2);
}

fn run() -> impl Strategy<Value = Vec<(i64, i64, usize, i64)>> {
    proptest::collection::vec((0..60i64, 1..40i64, 0..5usize, 0..9i64), 0..20)
}

fn any_tree(spans: &[(i64, i64, usize, i64)]) -> (RunTree, i64) {
    let mut s = trace();
    let mut sum = 0;
    for (i, (start, length, name, dur)) in spans.iter().enumerate() {
        let corr = i as i64 + 1;
        s = s.host("cpu_op", ["a", "b", "c", "d", "e"][*name], *start..start + length);
        if *name > 0 {
            s = s.call(corr, start + length / 2..start + length / 2);
        }
        s = s.kernel(["k", "l"][name % 2], 7, 1000 * corr..1000 * corr + dur, corr);
        sum += dur;
    }
    (tree(s), sum)
}

proptest! {
    #[test]
    fn the_parts_make_up_the_change(a in run(), b in run()) {
        let ((a, a_sum), (b, b_sum)) = (any_tree(&a), any_tree(&b));
        let diff = TreeDiffAnswer::between(&a, &b);
        prop_assert_eq!((diff.a_ns.0, diff.b_ns.0), (a_sum, b_sum));
        prop_assert_eq!(diff.rows.iter().map(|row| row.delta_ns).sum::<Ns>(), diff.delta_ns);
        prop_assert_eq!(diff.rows.iter().map(|row| row.a.gpu_ns).sum::<Ns>(), diff.a_ns);
        prop_assert_eq!(diff.operators.iter().map(|sum| sum.delta_ns).sum::<Ns>(), diff.delta_ns);
        let mirrored = TreeDiffAnswer::between(&b, &a);
        prop_assert_eq!(mirrored.rows.iter().map(|row| row.delta_ns).sum::<Ns>(), Ns::ZERO - diff.delta_ns);
    }
}

#[test]
fn no_time_is_lost_where_paths_are_too_deep() {
    let deep = (0..3000).fold(trace(), |s, i| s.host("cpu_op", "level", i..10_000 - i));
    let a = tree(deep.call(1, 4000..4001).kernel("k", 7, 20_000..20_007, 1));
    let diff = TreeDiffAnswer::between(&a, &RunTree::default());
    assert_eq!((diff.a_ns, diff.delta_ns, diff.rows.len()), (Ns(7), Ns(-7), 1));
}
