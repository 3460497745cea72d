use super::super::{Diff, DiffAnswer, RankSide, Side};
use crate::diff_tree::Why;
use crate::testing::{Loaded, Sample, trace};

fn rank(loaded: &Loaded) -> RankSide {
    loaded.ask(&Diff).0.remove(0)
}

fn side(sample: Sample) -> Side {
    Side::rank(&rank(&sample.build()))
}

fn on(mut side: Side, hardware: &str) -> Side {
    side.recorded.hardware.insert(hardware.to_owned());
    side
}

fn verdict(a: &Side, b: &Side) -> String {
    DiffAnswer::between(a, b).verdict
}

/// Kernels of `aten::mm`, and one of an operator that may be another, one after the other.
fn work(products: &[i64], other: (&str, i64)) -> Sample {
    let mut sample = trace();
    for (i, time) in products.iter().enumerate() {
        let (corr, at) = (i as i64 + 1, 100 * i as i64);
        sample = sample.host("cpu_op", "aten::mm", at..at + 50).call(corr, at + 10..at + 20);
        sample = sample.kernel("gemm", 7, 10_000 * corr..10_000 * corr + time, corr);
    }
    let (name, time) = other;
    sample.host("cpu_op", name, 900..950).call(99, 910..920).kernel(
        &format!("{name}_kernel"),
        7,
        900_000..900_000 + time,
        99,
    )
}

#[test]
fn the_same_twice_is_no_difference() {
    let a = on(side(work(&[500, 500], ("aten::relu", 100))), "H100");
    assert_eq!(verdict(&a, &a), "No difference: GPU time 1.10 µs on both sides, both on H100.");
}

#[test]
fn the_few_causes_of_most_of_it_are_named_with_the_hardware() {
    let a = on(side(work(&[500, 500], ("aten::relu", 100))), "A100");
    let slower = on(side(work(&[500, 900], ("aten::relu", 110))), "H100");
    assert_eq!(
        verdict(&a, &slower),
        "GPU time 1.10 µs → 1.51 µs (+37 %), on A100 → H100; 98 % of that change from aten::mm +400 ns \
         (the same number of kernels, slower)."
    );
    let more = on(side(work(&[500, 500, 500], ("aten::relu", 100))), "A100");
    assert_eq!(
        verdict(&a, &more),
        "GPU time 1.10 µs → 1.60 µs (+45 %), both on A100; 100 % of that change from aten::mm +500 ns \
         (2 → 3 kernels)."
    );
}

#[test]
fn work_of_one_run_is_told_from_work_that_is_slower() {
    let a = side(work(&[5_000], ("aten::relu", 1_000)));
    let b = side(work(&[5_000], ("aten::gelu", 1_500)));
    let answer = DiffAnswer::between(&a, &b);
    let causes: Vec<_> = answer.causes.iter().map(|c| (c.name.as_str(), c.delta_ns.0, c.why)).collect();
    assert_eq!(
        causes,
        [("aten::gelu", 1_500, Why::OnlyB), ("aten::relu", -1_000, Why::OnlyA), ("aten::mm", 0, Why::Same)]
    );
    // Every nanosecond of GPU time has its cause.
    assert_eq!(answer.causes.iter().map(|cause| cause.delta_ns.0).sum::<i64>(), 500);
    assert_eq!(
        answer.verdict,
        "GPU time 6.00 µs → 6.50 µs (+8.3 %), both on a GPU not named in the trace; 100 % of all changes, up or \
         down, from aten::gelu +1.50 µs (only in B), aten::relu −1.00 µs (only in A)."
    );
}

#[test]
fn unrelated_runs_are_not_explained() {
    let other =
        trace().host("cpu_op", "aten::conv2d", 0..50).call(1, 10..20).kernel("conv", 7, 100..5_100, 1);
    assert_eq!(
        verdict(&side(work(&[500], ("aten::relu", 100))), &side(other)),
        "Hardly comparable: only 0 % of the operators are in both runs, and kernels of the same name take 0 % of the \
         GPU time; GPU time 600 ns → 5.00 µs (+733 %), both on a GPU not named in the trace."
    );
}

/// Steps that take so long, in which the host runs something before it launches.
fn steps(numbers: std::ops::Range<i64>, period: i64, host: (&str, i64)) -> Sample {
    let mut sample = trace();
    for number in numbers.clone() {
        let (start, corr) = (period * (number - numbers.start), number + 1);
        let launch = start + host.1 + 10;
        sample = sample
            .step(number, start..start + period - 10)
            .host("python_function", host.0, start + 1..start + 1 + host.1)
            .host("cpu_op", "aten::mm", launch..launch + 20)
            .call(corr, launch + 1..launch + 2)
            .kernel("gemm", 7, start + period - 1_050..start + period - 50, corr);
    }
    sample
}

#[test]
fn step_time_leads_and_idle_time_is_put_down_to_the_host() {
    let a = side(steps(1..5, 10_000, ("load.py(10): next", 1_000)));
    // Other steps, more of them, and another version of the file.
    let b = side(steps(11..21, 15_000, ("load.py(99): next", 6_000)));
    let answer = DiffAnswer::between(&a, &b);
    assert_eq!(
        answer.verdict,
        "Step time 10.0 µs → 15.0 µs (+50 %), both on a GPU not named in the trace: GPU idle +5.00 µs; on the host \
         most in load.py: next itself +5.00 µs; the GPU's work is the same."
    );
    assert_eq!((answer.per.a, answer.per.b, answer.per.step), (4, 10, true));
    let met = answer.host.iter().find(|host| host.row.name == "load.py: next").unwrap();
    assert_eq!((met.row.a.count, met.row.b.count), (4, 10));
    let names: Vec<&str> = answer.rows.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"load.py(10): next") && names.contains(&"load.py(99): next"), "{names:?}");
}

#[test]
fn runs_without_gpu_work_are_about_the_host() {
    let host = |time: i64| side(trace().host("cpu_op", "aten::mm", 0..time));
    assert_eq!(
        verdict(&host(5_000), &host(8_000)),
        "No GPU work on either side; on the host most in aten::mm itself +3.00 µs."
    );
    assert_eq!(
        verdict(&host(5_000), &side(work(&[500], ("aten::relu", 100)))),
        "Only B has GPU work; on the host most in aten::mm itself −4.96 µs."
    );
}

#[test]
fn work_counts_for_the_innermost_operator_that_both_runs_have() {
    let convolution = |inner: &str, time: i64| {
        let operators = trace()
            .host("cpu_op", "CompiledRegion", 0..900)
            .host("cpu_op", "aten::conv2d", 10..800)
            .host("cpu_op", inner, 20..700);
        side(operators.call(1, 30..40).kernel(inner, 7, 1_000..1_000 + time, 1))
    };
    let answer = DiffAnswer::between(&convolution("aten::miopen", 500), &convolution("aten::cudnn", 300));
    let causes: Vec<_> = answer.causes.iter().map(|c| (c.name.as_str(), c.delta_ns.0, c.why)).collect();
    assert_eq!(causes, [("aten::conv2d", -200, Why::OtherKernels)]);
}
