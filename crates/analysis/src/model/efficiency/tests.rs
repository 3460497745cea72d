//! Each detector on a small trace that has what it looks for, and on one that nearly has.

use gpuscope_trace::metadata::Device;
use gpuscope_trace::{Arg, Id, Phase, Selection};

use super::*;
use crate::collectives::tests::{ALL_REDUCE, Said};
use crate::testing::{Loaded, Sample, trace};

const SOFTMAX: &str = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>";
const SOFTMAX_BACKWARD: &str = "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float>";
const MUL: &str = "void at::native::vectorized_elementwise_kernel<4, MulFunctor<float>>";
const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>";
const MEAN: &str = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps>>";
const SGEMM: &str = "ampere_sgemm_32x32_sliced1x4_tn";
const TF32: &str = "cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4";

/// What is found, all of which must be as the documentation says.
fn found(loaded: &Loaded) -> Vec<Opportunity> {
    let found = opportunities(loaded.view(&Selection::everything()));
    let page = gpuscope_testkit::findings_page();
    for found in &found {
        // The part of the time that is inside the steps is added to the claim later.
        let claim = found.claim.iter().map(|(name, _)| *name).chain(["time_ns"]);
        page[found.id].hold(&found.title, claim);
    }
    found
}

fn ids(loaded: &Loaded) -> Vec<&'static str> {
    found(loaded).iter().map(|found| found.id).collect()
}

/// Kernels one after the other, each of 100 ns and launched by an operator of its own. `""` has no operator.
fn run(kernels: &[(&str, &str)]) -> Sample {
    after(trace(), 0, kernels)
}

fn after(sample: Sample, from: i64, kernels: &[(&str, &str)]) -> Sample {
    kernels.iter().zip(from..).fold(sample, |sample, ((operator, kernel), i)| {
        let (host, gpu) = (20 * i, 10_000 + 100 * i);
        let sample =
            if operator.is_empty() { sample } else { sample.host("cpu_op", operator, host..host + 10) };
        sample.call(i + 1, host + 2..host + 4).kernel(kernel, 7, gpu..gpu + 100, i + 1)
    })
}

fn on_gpu(sample: Sample, name: &str, compute: (i64, i64)) -> Sample {
    sample.about(|metadata| {
        let device = Device {
            name: Some(name.to_owned()),
            compute_major: Some(compute.0),
            compute_minor: Some(compute.1),
            ..Device::default()
        };
        metadata.devices = vec![device];
    })
}

/// The share left of each event that an opportunity names, by the name of its kernel.
fn left<'l>(loaded: &'l Loaded, found: &Opportunity) -> Vec<(&'l str, f32)> {
    found.events.iter().map(|(row, left)| (loaded.trace.name(*row), *left)).collect()
}

#[test]
fn a_softmax_between_batched_products_is_attention() {
    let loaded = run(&[
        ("aten::mm", "gemm"),
        ("aten::bmm", "gemm"),
        ("aten::mul", MUL),
        ("aten::_softmax", SOFTMAX),
        ("aten::bmm", "gemm"),
        ("aten::mm", "gemm"),
    ])
    .build();
    let [found] = &found(&loaded)[..] else { panic!("one") };
    assert_eq!(found.id, "eager_attention");
    assert_eq!(left(&loaded, found), [("gemm", 1.0), (MUL, 0.0), (SOFTMAX, 0.0), ("gemm", 1.0)]);
    assert_eq!(found.removed_launches.len(), 3);
    assert_eq!(found.claim, [("attentions", 1), ("events", 4), ("gpu_ns", 400)]);
    assert_eq!(
        found.title,
        "attention runs as 4 separate GPU operations, a softmax between batched products once, 400 ns in all"
    );
}

#[test]
fn backward_has_two_products_on_either_side() {
    let backward = [
        ("aten::bmm", "gemm"),
        ("aten::bmm", "gemm"),
        ("aten::_softmax_backward_data", SOFTMAX_BACKWARD),
        ("aten::mul", MUL),
        ("aten::bmm", "gemm"),
        ("aten::bmm", "gemm"),
    ];
    let twice: Vec<_> = backward.iter().chain(&backward).copied().collect();
    let found = found(&run(&twice).build());
    assert_eq!(found[0].claim, [("attentions", 2), ("events", 12), ("gpu_ns", 1200)]);
}

#[test]
fn what_is_not_between_batched_products_is_no_attention() {
    let projection_between =
        [("aten::bmm", "gemm"), ("aten::_softmax", SOFTMAX), ("aten::mm", "gemm"), ("aten::bmm", "gemm")];
    assert_eq!(ids(&run(&projection_between).build()), [] as [&str; 0]);
    let loss = [("aten::bmm", "gemm"), ("aten::_log_softmax", SOFTMAX), ("aten::bmm", "gemm")];
    assert_eq!(ids(&run(&loss).build()), [] as [&str; 0]);
    let unknown = [("", "gemm"), ("", SOFTMAX), ("", "gemm")];
    assert_eq!(ids(&run(&unknown).build()), [] as [&str; 0]);
}

/// A product and its kernel; attention of one head on an H100.
fn sized(sample: Sample, i: i64, shapes: &str, kernel: &str, ns: i64) -> Sample {
    let (host, gpu) = (20 * i, 10_000_000 * (i + 1));
    let sample = sample.op_on("aten::bmm", shapes, host..host + 10);
    sample.call(i + 1, host + 2..host + 4).kernel(kernel, 7, gpu..gpu + ns, i + 1)
}

#[test]
fn with_sizes_attention_is_held_to_the_gpu() {
    let attention = |values: &str| {
        let sample = sized(trace(), 0, "[[96, 1024, 64], [96, 64, 1024]]", "gemm", 1_000_000);
        let sample = sample.host("cpu_op", "aten::_softmax", 20..30);
        let sample = sample.call(2, 22..24).kernel(SOFTMAX, 7, 15_000_000..17_000_000, 2);
        let sample = sized(sample, 2, values, "gemm", 1_000_000);
        on_gpu(sample, "NVIDIA H100 80GB HBM3", (9, 0)).build()
    };
    let loaded = attention("[[96, 1024, 1024], [96, 1024, 64]]");
    let found = found(&loaded);
    // 4 · 96 · 1024² · 64 operations at a third of 989.4 TFLOP/s take 78.1 µs, of 4 ms.
    let expected = 4.0 * 96.0 * 1024.0 * 1024.0 * 64.0 / (989.4e3 / 3.0) / 4e6;
    for (_, left) in &found[0].events {
        assert!((f64::from(*left) - expected).abs() < 1e-6, "{left} {expected}");
    }
    assert_eq!(
        ids(&attention("[[96, 1024, 512], [96, 512, 64]]")),
        [] as [&str; 0],
        "the scores are of other sizes"
    );
}

#[test]
fn kernels_that_follow_one_another_are_a_chain() {
    let kernels = [
        ("aten::pow", MUL),
        ("aten::mean", MEAN),
        ("aten::add", ADD),
        ("aten::mm", "gemm"),
        ("aten::add", ADD),
        ("aten::mm", "gemm"),
        ("aten::sum", MEAN),
        ("aten::add", ADD),
        ("aten::mm", "gemm"),
    ];
    assert_eq!(ids(&run(&kernels.repeat(3)).build()), [] as [&str; 0], "nine are no habit");
    let loaded = run(&kernels.repeat(4)).build();
    let [found] = &found(&loaded)[..] else { panic!("one") };
    assert_eq!(found.id, "elementwise_chains");
    let chain = [(MUL, 5.0 / 9.0), (MEAN, 5.0 / 9.0), (ADD, 5.0 / 9.0)];
    assert_eq!(left(&loaded, found), chain.repeat(4));
    assert_eq!(found.removed_launches.len(), 8);
    assert_eq!(found.claim, [("events", 12), ("chains", 4), ("gpu_ns", 1200)]);
}

#[test]
fn loops_over_parameters_are_no_chains() {
    let (product, add) = (("aten::mm", "gemm"), ("aten::add_", ADD));
    let often = |kernels: &[(&str, &str)]| ids(&run(&kernels.repeat(5)).build());
    assert_eq!(often(&[add, add, add, product]), ["elementwise_chains"]);
    assert_eq!(often(&[add, add, add, add, product]), [] as [&str; 0]);
    let summed = ("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", ADD);
    assert_eq!(often(&[summed, summed, product]), [] as [&str; 0]);
    let unlinked = |kernels: i64| {
        let kernel = |sample: Sample, i: i64| {
            sample.kernel(if i % 2 == 0 { ADD } else { MUL }, 7, 100 * i..100 * i + 100, None)
        };
        ids(&(0..kernels).fold(trace(), kernel).build())
    };
    assert_eq!(unlinked(16), ["elementwise_chains"]);
    assert_eq!(unlinked(17), [] as [&str; 0]);
}

#[test]
fn fp32_is_slow_where_tensor_cores_are() {
    let product = [("aten::mm", SGEMM)];
    let of = |name, compute| found(&on_gpu(run(&product), name, compute).build());
    let a100 = of("NVIDIA A100-SXM4-80GB", (8, 0));
    assert_eq!((a100[0].id, a100[0].events[0].1), ("fp32_products", 1.0 / 3.0));
    assert!(a100[0].advice.contains("set_float32_matmul_precision"));
    let turing = of("NVIDIA GeForce RTX 2080 Ti", (7, 5));
    assert!((turing[0].events[0].1 - 2.0 * 13.4 / 53.8).abs() < 1e-6);
    assert!(turing[0].advice.contains("float16"), "no TF32 there: {}", turing[0].advice);
    let other = of("NVIDIA Z999", (9, 0));
    assert_eq!((other[0].events[0].1, other[0].confident), (0.5, false));
    assert_eq!(of("NVIDIA GeForce RTX 3090", (8, 6)), [], "TF32 is no faster there");
    assert_eq!(of("NVIDIA GeForce GTX 1660", (7, 5)), []);
    assert_eq!(of("Tesla P100", (6, 0)), []);
}

#[test]
fn products_and_convolutions_are_switched_apart() {
    let convolution = ("aten::cudnn_convolution", TF32);
    let on_a100 =
        |kernels: &[(&str, &str)]| ids(&on_gpu(run(kernels), "NVIDIA A100-SXM4-80GB", (8, 0)).build());
    assert_eq!(on_a100(&[("aten::mm", SGEMM), convolution]), ["fp32_products"]);
    assert_eq!(on_a100(&[("aten::cudnn_convolution", SGEMM), convolution]), [] as [&str; 0], "TF32 is on");
    assert_eq!(on_a100(&[("aten::cudnn_convolution", SGEMM), ("aten::mm", TF32)]), ["fp32_convolutions"]);
    let amp = [("aten::mm", "volta_sgemm_64x64_nt"), ("aten::mm", "volta_fp16_s884gemm_fp16_128x128_nn")];
    assert_eq!(
        ids(&on_gpu(run(&amp), "Tesla V100-SXM2-16GB", (7, 0)).build()),
        [] as [&str; 0],
        "fp16 is on"
    );
    assert_eq!(ids(&run(&amp[..1]).build()), ["fp32_products"], "made for a GPU with tensor cores");
}

#[test]
fn an_optimizer_should_not_go_over_parameters_one_by_one() {
    let steps = |name: &str, kernels: &[(&str, &str)]| {
        let all: Vec<_> = kernels.iter().cycle().take(20).copied().collect();
        let loaded = run(&all).host("user_annotation", name, 0..1_000).build();
        let found = found(&loaded);
        found
            .iter()
            .map(|found| (found.id, found.events[0].1, found.removed_launches.len()))
            .collect::<Vec<_>>()
    };
    let adam = [("aten::lerp_", ADD), ("aten::addcdiv_", MUL)];
    assert_eq!(steps("Optimizer.step#AdamW.step", &adam), [("unfused_optimizer", 1.0 / 3.0, 19)]);
    assert_eq!(steps("Optimizer.step#SGD.step", &adam), [("unfused_optimizer", 0.6, 19)]);
    assert_eq!(
        steps("Optimizer.step#SGD.step", &adam[..1]),
        [("unfused_optimizer", 1.0, 19)],
        "launches alone"
    );
    let together = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<…>";
    assert_eq!(steps("Optimizer.step#Adam.step", &[("aten::_foreach_add_", together)]), []);
    assert_eq!(steps("Optimizer.step#Shampoo.step", &adam), [], "it has no fused form in PyTorch");
}

/// One step of Adam over two groups of parameters, as `PyTorch` 2.4 launches it without `fused=True`.
const ADAM: [(&str, &str); 8] = [
    ("aten::_foreach_mul_", "BinaryOpScalarFunctor"),
    ("aten::_foreach_lerp_", "TernaryOpScalarFunctor"),
    ("aten::_foreach_mul_", "BinaryOpScalarFunctor"),
    ("aten::_foreach_addcmul_", "PointwiseOpScalarFunctor"),
    ("aten::_foreach_sqrt", "UnaryOpFunctor"),
    ("aten::_foreach_div_", "BinaryOpScalarListFunctor"),
    ("aten::_foreach_add_", "BinaryOpScalarFunctor"),
    ("aten::_foreach_addcdiv_", "PointwiseOpScalarListFunctor"),
];

#[test]
fn an_optimizer_should_go_over_its_parameters_once() {
    let step = |annotation: &str, operators: &[(&str, &str)]| {
        let kernels: Vec<String> = operators
            .iter()
            .map(|(_, functor)| format!("void at::native::multi_tensor_apply_kernel<{functor}<float>>"))
            .collect();
        let all: Vec<(&str, &str)> =
            operators.iter().map(|(name, _)| *name).zip(kernels.iter().map(String::as_str)).collect();
        let loaded = run(&all.repeat(2)).host("user_annotation", annotation, 0..1_000).build();
        found(&loaded)
    };
    let [adam] = &step("Optimizer.step#AdamW.step", &ADAM)[..] else { panic!("one") };
    assert_eq!(adam.id, "foreach_optimizer");
    assert_eq!(adam.claim, [("events", 16), ("steps", 1), ("passes", 8), ("gpu_ns", 1600)]);
    // 2 + 3 + 2 + 3 + 2 + 2 + 2 + 4 tensors, where 7 would do.
    assert!((adam.events[0].1 - 7.0 / 20.0).abs() < 1e-6, "{adam:?}");
    assert_eq!(adam.removed_launches.len(), 15);
    let momentum = [
        ("aten::_foreach_add", "BinaryOpListAlphaFunctor"),
        ("aten::_foreach_mul_", "BinaryOpScalarFunctor"),
        ("aten::_foreach_add_", "BinaryOpListAlphaFunctor"),
        ("aten::_foreach_add_", "BinaryOpListAlphaFunctor"),
    ];
    let sgd = step("Optimizer.step#SGD.step", &momentum);
    assert!((sgd[0].events[0].1 - 5.0 / 11.0).abs() < 1e-6, "{sgd:?}");
    assert_eq!(step("Optimizer.step#SGD.step", &momentum[2..]), [], "there is nothing to fuse");
    assert_eq!(step("Optimizer.step#RAdam.step", &ADAM), [], "it has no fused form");
    let fused = [("aten::_fused_adamw_", "FusedAdamMathFunctor")];
    assert_eq!(step("Optimizer.step#AdamW.step", &fused.repeat(8)), []);
}

/// Kernels of copies that operators around `aten::clone` ask for.
fn rearranged(asker: &str, count: i64) -> Loaded {
    let copy = "void at::native::elementwise_kernel<128, 2, direct_copy_kernel_cuda>";
    (0..count)
        .fold(trace(), |sample, i| {
            let (host, gpu) = (100 * i, 100_000 + 200 * i);
            let sample = sample.host("cpu_op", asker, host..host + 50).host(
                "cpu_op",
                "aten::clone",
                host + 1..host + 40,
            );
            let sample = sample.host("cpu_op", "aten::copy_", host + 2..host + 30);
            let sample =
                sample.call(2 * i + 1, host + 3..host + 4).kernel(copy, 7, gpu..gpu + 100, 2 * i + 1);
            let sample = sample.host("cpu_op", "aten::mm", host + 60..host + 70);
            sample.call(2 * i + 2, host + 62..host + 64).kernel("gemm", 7, gpu + 100..gpu + 150, 2 * i + 2)
        })
        .build()
}

#[test]
fn copies_that_only_rearrange_are_named() {
    let loaded = rearranged("aten::contiguous", 10);
    let [copies] = &found(&loaded)[..] else { panic!("one") };
    assert_eq!(
        (copies.id, &copies.claim[..]),
        ("transposing_copies", &[("events", 10), ("gpu_ns", 1000)][..])
    );
    assert!(copies.events.iter().all(|(_, left)| (left - 0.5).abs() < 1e-6));
    assert!(copies.evidence.ends_with("10 for aten::contiguous"), "{}", copies.evidence);
    assert_eq!(ids(&rearranged("aten::reshape", 10)), ["transposing_copies"]);
    assert_eq!(ids(&rearranged("aten::contiguous", 9)), [] as [&str; 0]);
    assert_eq!(ids(&rearranged("MyFunction", 10)), [] as [&str; 0], "a clone that somebody wants");
    let by_name = vec![("aten::miopen_convolution", "transpose_NCHW2CNHW_V2_2D_WG_off64"); 10];
    assert_eq!(ids(&run(&by_name).build()), ["transposing_copies"]);
}

#[test]
fn layouts_are_converted_for_nothing() {
    let kernel = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>";
    let convert = |times: usize| vec![("aten::cudnn_convolution", kernel); times];
    assert_eq!(ids(&run(&convert(10)).build()), ["layout_conversions"]);
    assert_eq!(ids(&run(&convert(9)).build()), [] as [&str; 0]);
}

fn copies(sample: Sample, count: i64, bytes: i64, around: Option<&str>) -> Loaded {
    (0..count)
        .fold(sample, |mut sample, i| {
            let host = 50 * i;
            if let Some(around) = around {
                sample = sample.host("cpu_op", around, host..host + 40);
            }
            let sample = sample.host("cpu_op", "aten::copy_", host + 1..host + 30);
            let sample = sample.named_call("cudaMemcpyAsync", i + 1, host + 2..host + 20);
            let start = 100_000 + 100 * i;
            let name = "Memcpy DtoD (Device -> Device)";
            sample.event(Phase::Complete, "gpu_memcpy", name, Some(start), Some(50), |record| {
                (record.pid, record.tid) = (Id::Int(0), Id::Int(7));
                (record.device, record.stream) = (Id::Int(0), Id::Int(7));
                record.set_int(Arg::Correlation, i + 1);
                record.set_int(Arg::Bytes, bytes);
            })
        })
        .build()
}

#[test]
fn copies_have_their_reasons() {
    assert_eq!(ids(&copies(trace(), 100, 4096, None)), ["tiny_copies"]);
    assert_eq!(ids(&copies(trace(), 99, 4096, None)), [] as [&str; 0]);
    assert_eq!(ids(&copies(trace(), 100, 65_537, None)), [] as [&str; 0]);
    let to_gradients = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
    assert_eq!(ids(&copies(trace(), 10, 1 << 30, Some(to_gradients))), ["ddp_gradient_copies"]);
    let forward = "DistributedDataParallel.forward";
    let broadcast = trace().kernel("ncclKernel_Broadcast_RING_LL_Sum_int8_t", 9, 90_000..90_100, None);
    assert_eq!(ids(&copies(broadcast, 10, 64, Some(forward))), ["ddp_buffer_broadcasts"]);
    assert_eq!(ids(&copies(trace(), 10, 64, Some(forward))), [] as [&str; 0], "nothing is broadcast");
}

#[test]
fn odd_sizes_and_products_below_others_are_named() {
    let h100 = |sample| on_gpu(sample, "NVIDIA H100 80GB HBM3", (9, 0)).build();
    let product = |k: i64| format!("[[1, 4096, {k}], [1, {k}, 4096]]");
    // 139 µs at best.
    let odd = h100(sized(trace(), 0, &product(4099), "gemm", 600_000));
    assert_eq!(ids(&odd), ["odd_sizes"]);
    assert_eq!(ids(&h100(sized(trace(), 0, &product(4096), "gemm", 600_000))), [] as [&str; 0]);
    assert_eq!(
        ids(&h100(sized(trace(), 0, &product(4099), "gemm", 500_000))),
        [] as [&str; 0],
        "near enough to the roof"
    );
    let reached = |aligned_ns: i64| {
        let aligned = sized(trace(), 0, &product(4096), "gemm", aligned_ns);
        let both = h100(sized(aligned, 1, &product(4099), "gemm", 600_000));
        let found = found(&both);
        assert_eq!(
            (found[0].id, found[0].claim[0]),
            ("odd_sizes", ("events", 1)),
            "the aligned one is not counted"
        );
        found[0].events[0].1
    };
    // 138.9 µs at best for the aligned product, and for the odd one padded from 4099 to 4104.
    let best = 2.0 * 4096.0_f64.powi(3) / 989.4e3;
    let expected = best * 4104.0 / 4096.0 / (best / 200_000.0) / 600_000.0;
    assert!((f64::from(reached(200_000)) - expected).abs() < 1e-4, "{} {expected}", reached(200_000));
    let slow = |count: i64| {
        let good = sized(trace(), 0, &product(4096), "gemm", 200_000);
        found(&h100((1..=count).fold(good, |all, i| sized(all, i, &product(8192), "gemm", 600_000))))
    };
    assert_eq!(slow(7), []);
    let [slow] = &slow(8)[..] else { panic!("one") };
    assert_eq!((slow.id, slow.claim[1], slow.events.len()), ("slow_products", ("best_pct", 69), 8));
    let expected = 2.0 * 200.0 / 600.0;
    assert!((slow.events[0].1 - expected).abs() < 1e-3, "{slow:?}");
}

#[test]
fn skinny_products_are_held_to_the_memory() {
    // Sixteen rows by 8192 × 8192 weights of 128 MiB: 40.2 µs at 3350 GB/s.
    let skinny = |count: i64, ns: i64, rows: i64| {
        let shapes = format!("[[1, {rows}, 8192], [1, 8192, 8192]]");
        let all = (0..count).fold(trace(), |all, i| sized(all, i, &shapes, "gemm", ns));
        found(&on_gpu(all, "NVIDIA H100 80GB HBM3", (9, 0)).build())
    };
    let [found] = &skinny(8, 200_000, 16)[..] else { panic!("one") };
    assert_eq!(
        (found.id, &found.claim[..]),
        ("skinny_products", &[("events", 8), ("gpu_ns", 1_600_000)][..])
    );
    let bytes = 2.0 * (8192.0 * 8192.0 + 2.0 * 16.0 * 8192.0);
    let expected = bytes / 3350.0 / 0.7 / 200_000.0;
    assert!((f64::from(found.events[0].1) - expected).abs() < 1e-4, "{} {expected}", found.events[0].1);
    assert!(found.evidence.contains("M=16 N=8192 K=8192, which reaches 20 %"), "{}", found.evidence);
    assert_eq!(skinny(7, 200_000, 16), [], "no habit");
    assert_eq!(skinny(8, 80_000, 16), [], "near enough to the roof");
    assert_eq!(skinny(8, 200_000, 65), [], "not skinny");
}

#[test]
fn small_collectives_add_up() {
    let reduced = |count: i64, elements: i64| {
        let said =
            Said { ints: &[(Arg::InMsgNelems, elements), (Arg::OutMsgNelems, elements)], ..ALL_REDUCE };
        ids(&(0..count).fold(trace(), |sample, i| sample.nccl(said, 100 * i..100 * i + 50)).build())
    };
    assert_eq!(reduced(50, 16_384), ["tiny_collectives"]);
    assert_eq!(reduced(50, 16_385), [] as [&str; 0]);
    assert_eq!(reduced(49, 16_384), [] as [&str; 0]);
}

/// What an expert sees on real traces; each has its share of the GPU's time that the title speaks of, in per cent.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn real_traces_show_what_an_expert_sees() {
    let Some(corpus) = std::env::var_os("GPUSCOPE_CORPUS").map(std::path::PathBuf::from) else {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
        return;
    };
    let expected: [(&str, &[(&str, i64)]); 6] = [
        ("h100_qwen.json.gz", &[("elementwise_chains", 54)]),
        ("h100_timesformer.json.gz", &[("eager_attention", 83), ("elementwise_chains", 7)]),
        ("mi300_timesformer.json.gz", &[("eager_attention", 79), ("elementwise_chains", 7)]),
        ("b200_eager.json.gz", &[]),
        ("vllm_decode_full/graph_execution.json.gz", &[]),
        ("torch_compile_triton.json.gz", &[]),
    ];
    for (name, expected) in expected {
        let found: Vec<(&str, i64)> = of_trace(&corpus.join("traces").join(name), |view| {
            let busy = Scene::of(view).busy;
            let share = |found: &Opportunity| {
                let rows = found.events.iter().filter_map(|(row, _)| view.trace.dur(*row));
                rows.sum::<Ns>().pct_of(busy).round() as i64
            };
            opportunities(view).iter().map(|found| (found.id, share(found))).collect()
        });
        assert_eq!(found, expected, "{name}");
    }
    let of_v100 = of_trace(&corpus.join("traces/ns_resolution_rank-0.json.gz"), |view| {
        opportunities(view).into_iter().map(|found| (found.id, found.claim[0].1)).collect::<Vec<_>>()
    });
    assert_eq!(
        of_v100,
        [
            ("fp32_convolutions", 1315),
            ("elementwise_chains", 1410),
            ("ddp_gradient_copies", 805),
            ("ddp_buffer_broadcasts", 795)
        ]
    );
}

fn of_trace<T>(path: &std::path::Path, ask: impl FnOnce(View<'_>) -> T) -> T {
    let file = std::fs::File::open(path).unwrap();
    let trace = gpuscope_formats::read(file, gpuscope_formats::ReadOptions::default()).unwrap().into_trace();
    let (index, selection) = (gpuscope_trace::Index::default(), Selection::everything());
    ask(View { trace: &trace, index: &index, selection: &selection })
}

/// `GPUSCOPE_TRACE=… cargo test -p gpuscope-analysis efficiency -- --ignored --nocapture`
#[test]
#[ignore = "for people to look at a trace of theirs"]
#[expect(clippy::print_stderr, reason = "it is for people to read")]
fn of_a_real_trace() {
    let Some(path) = std::env::var_os("GPUSCOPE_TRACE") else { return };
    of_trace(path.as_ref(), |view| {
        let busy = Scene::of(view).busy;
        for found in opportunities(view) {
            let saved = 100.0 * found.saved(view) / busy.as_f64();
            let launches = found.removed_launches.len();
            eprintln!("{}: {} [saves {saved:.1} % of GPU time, {launches} launches]", found.id, found.title);
            eprintln!("    target: {}\n    evidence: {}", found.target, found.evidence);
            for name in &found.names {
                eprintln!("    - {}", name.chars().take(110).collect::<String>());
            }
        }
    });
}
