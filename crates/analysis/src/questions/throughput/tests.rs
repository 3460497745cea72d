use gpuscope_trace::Code;

use super::*;
use crate::testing::{Sample, trace};

/// 2·8·16·32.
const FLOPS: f64 = 8192.0;

/// A call of a linear layer at a time: a fill, a product, and something of which nobody knows how much it is.
fn linear(sample: Sample, at: i64, product_ns: i64) -> Sample {
    let gpu = 10_000 + 10 * at;
    sample
        .host("python_function", "nn.Module: Net_0", at..at + 100)
        .host("python_function", "nn.Module: Linear_0", at + 5..at + 60)
        .op_on("vllm::rocm_unquantized_gemm", "[[8, 16], [32, 16]]", at + 10..at + 50)
        .call(at + 1, at + 11..at + 12)
        .memset(7, gpu..gpu + 3, at + 1)
        .op_on("aten::mm", "[[8, 16], [16, 32]]", at + 14..at + 48)
        .call(at + 2, at + 20..at + 21)
        .kernel("gemm", 7, gpu + 10..gpu + 10 + product_ns, at + 2)
        .op_on("mine::magic", "[[8, 16]]", at + 70..at + 90)
        .call(at + 3, at + 75..at + 76)
        .kernel("magic", 7, gpu + 500..gpu + 510, at + 3)
}

fn sample() -> Sample {
    let s = linear(trace(), 0, 7);
    let s = linear(s, 200, 17);
    linear(s, 400, 37).op_on("aten::mm", "[[8, 16], [16, 32]]", 600..650).call(700, 610..611).kernel(
        "gemm",
        7,
        30_000..30_100,
        700,
    )
}

#[test]
fn operations_count_once_over_all_time_of_a_module() {
    let answer = sample().build().ask(&Throughput::default());
    let row = |r: &LayerRate| (r.module.clone(), r.depth, r.calls, r.compute_ns.0, r.gflops.unwrap() * 1e9);
    assert_eq!(
        answer.layers.iter().map(row).collect::<Vec<_>>(),
        [
            ("Net_0".to_owned(), 0, 3, 9 + 61 + 30, 3.0 * FLOPS),
            ("Linear_0".to_owned(), 1, 3, 9 + 61, 3.0 * FLOPS),
        ]
    );
    let linear = &answer.layers[1];
    assert_eq!(linear.tflops_per_s, Some(3.0 * FLOPS / 70.0 / 1e3));
    let calls = linear.call_tflops_per_s.unwrap();
    let rate = |ns: f64| FLOPS / ns / 1e3;
    assert_eq!((calls.count, calls.min, calls.median, calls.max), (3, rate(40.0), rate(20.0), rate(10.0)));
    assert_eq!((linear.known_pct, answer.layers[0].known_pct), (100.0, 70.0));
    let rank = &answer.ranks[0];
    assert_eq!((rank.compute_ns, rank.without_module_ns), (Ns(200), Ns(100)));
    assert_eq!(
        (rank.gflops * 1e9, rank.without_module_gflops * 1e9, rank.known_pct),
        (4.0 * FLOPS, FLOPS, 85.0)
    );
}

#[test]
fn tokens_and_samples_go_by_the_steps_that_count() {
    // The first has no period, and the last is far from the others.
    let s =
        [(1, 1000), (2, 2000), (3, 3000), (4, 4000), (5, 9000)].into_iter().fold(trace(), |s, (step, at)| {
            s.step(step, at..at + 900).call(step, at + 10..at + 20).kernel(
                "k",
                7,
                at + 30..at + 100 + step,
                step,
            )
        });
    let per_step = PerStep { tokens: Some(2002.0), samples: None };
    let answer = s.build().ask(&Throughput { per_step, ..Throughput::default() });
    let steps = &answer.steps[0];
    assert_eq!((steps.steps, steps.spread.min_ns, steps.spread.max_ns), (3, Ns(1001), Ns(1001)));
    let tokens = steps.tokens_per_s.unwrap();
    assert_eq!((tokens.count, tokens.min, tokens.median), (3, 2e9, 2e9));
    assert_eq!((steps.samples_per_s, steps.from), (None, Some(crate::model::step_time::Basis::Period)));
}

#[test]
fn without_steps_all_of_the_trace_is_one_and_without_modules_it_says_so() {
    let question =
        Throughput { per_step: PerStep { tokens: None, samples: Some(3.0) }, ..Throughput::default() };
    let loaded = trace().call(1, 0..5).kernel("k", 7, 10..25, 1).build();
    let answer = loaded.ask(&question);
    assert_eq!((answer.steps[0].steps, answer.steps[0].from), (0, None));
    assert_eq!(answer.steps[0].samples_per_s.map(|samples| samples.mean), Some(3e9 / 15.0));
    assert!(answer.layers.is_empty());
    assert_eq!(question.quality(&answer)[0].code, Code::MissingModules);
    assert!(trace().build().ask(&question).steps.is_empty());
}
