//! Every device that a trace of the corpus describes.

use std::io::Read as _;
use std::path::Path;

use gpuscope_work::gpus::{Device, Recognised, recognise};
use serde_json::Value;

use crate::corpus;

/// The first device of a trace, as JSON.
fn first_device(path: &Path) -> Option<Value> {
    let bytes = std::fs::read(path).unwrap();
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    } else {
        text = bytes;
    }
    let text = String::from_utf8_lossy(&text);
    let (_, after) = text.split_once("\"deviceProperties\":")?;
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
    values.next()?.ok()?.get(0).cloned()
}

fn recognised(device: &Value) -> Recognised {
    let number = |key: &str| device[key].as_u64();
    let small = |key: &str| number(key).and_then(|value| u32::try_from(value).ok());
    recognise(&Device {
        name: device["name"].as_str().unwrap_or_default(),
        compute_major: small("computeMajor"),
        compute_minor: small("computeMinor"),
        sms: small("numSms"),
        memory_bytes: number("totalGlobalMem"),
    })
}

#[test]
fn devices_of_real_traces_are_recognised() {
    let Some(corpus) = corpus() else { return };
    for (trace, expected) in [
        ("amd_mi250.json.gz", "MI210 or MI250 (one die)"),
        ("b200_eager.json.gz", "B200"),
        ("cp_alexnet.json.gz", "A100 SXM 40GB"),
        ("cupti_a100.json.gz", "A100 SXM 40GB"),
        ("h100_qwen.json.gz", "H100 SXM"),
        ("mi210_gpu_only.json.gz", "MI210"),
        ("mi300_normalization.json.gz", "MI300X"),
        ("mi300_resnet_act_checkpoint.json.gz", "MI300X"),
        ("mi300_timesformer.json.gz", "MI300X"),
        ("nccl_4ranks/rank0_trace.json", ""),
        ("nccl_a100.json.gz", "A100 SXM 40GB"),
        ("ns_resolution_rank-0.json.gz", "V100 SXM2 32GB"),
        ("sglang_prefilldecode.json.gz", "MI300X"),
        ("synth_rules.json", ""),
        ("torch_compile_triton.json.gz", "MI300X"),
        ("trace_diff_control.json.gz", "A100 SXM 40GB"),
        ("triton_example.json.gz", "A100 SXM 40GB"),
        ("vllm_decode_full/graph_execution.json.gz", "MI300X"),
    ] {
        let device = first_device(&corpus.join("traces").join(trace)).expect(trace);
        let found = recognised(&device);
        let names: Vec<_> = found.candidates().iter().map(|gpu| gpu.name.as_str()).collect();
        assert_eq!(names.join(" or "), expected, "{trace}: {device}");
    }
}
