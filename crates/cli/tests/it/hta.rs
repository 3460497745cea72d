//! Where HTA is wrong, the right number: one test per row of docs/differences-from-hta.md, named after it.

use gpuscope_testkit::text::{TraceText, trace};
use serde_json::{Value, json};

use crate::support::{Folder, Ran, rank};

fn ran(text: &TraceText, command: &[&str]) -> Ran {
    let folder = Folder::new();
    folder.write("trace.json", text.to_json());
    let arguments: Vec<&str> = command.iter().copied().chain(["@trace.json", "--json"]).collect();
    folder.run(&arguments)
}

fn data(text: &TraceText, command: &[&str]) -> Value {
    ran(text, command).json()["data"].take()
}

/// The values of one field, row by row.
fn field(rows: &Value, name: &str) -> Vec<Value> {
    rows.as_array().expect("rows").iter().map(|row| row[name].clone()).collect()
}

#[test]
fn bug_01_an_event_inside_one_microsecond_keeps_its_length() {
    let text = trace().kernel("short", 5_200..5_800).kernel("next", 7_100..7_900);
    let temporal = data(&text, &["temporal"]);
    assert_eq!(temporal["ranks"][0]["compute_ns"], 1_400);
    assert_eq!(temporal["ranks"][0]["kernel_ns"], 2_700);
    let broken =
        r#"{"ph": "X", "cat": "kernel", "name": "broken", "pid": 0, "tid": 7, "ts": 0.04, "dur": -0.01}"#;
    let negative = ran(&trace().kernel("a", 10..20).raw(broken), &["temporal"]);
    assert!(negative.codes().contains(&"negative_duration".to_owned()));
    assert_eq!(negative.json()["data"]["ranks"][0]["compute_ns"], 10);
}

#[test]
fn bug_02_ends_follow_from_start_and_duration_whatever_the_epoch() {
    let epoch = 1_679_055_454_045_054_000;
    let text = trace()
        .span("cpu_op", "op", epoch..epoch + 9_000)
        .kernel("k", epoch + 5_000..epoch + 6_000)
        .launched_at(epoch + 1_000..epoch + 2_000);
    assert_eq!(data(&text, &["breakdown"])["ranks"][0]["total"]["total_ns"], 1_000);
    assert_eq!(data(&text, &["patterns", "--min-pattern-len", "1"])["patterns"][0]["gpu_ns"], 1_000);
}

#[test]
fn bug_03_kernels_that_are_kept_keep_their_true_figures() {
    let text =
        trace().kernel("big", 0..10).kernel("big", 10..40).kernel("mid", 50..60).kernel("small", 70..72);
    let kernels = data(&text, &["kernels", "--num-kernels", "1"]);
    let big = &kernels["kernels"][0];
    assert_eq!((&big["sum_ns"], &big["max_ns"], &big["min_ns"]), (&json!(40), &json!(30), &json!(10)));
    assert_eq!(big["mean_ns"], 20.0);
    let others = &kernels["kernels"][1];
    assert_eq!(
        (&others["name"], &others["count"], &others["max_ns"]),
        (&json!("others"), &json!(2), &json!(10))
    );
    // 40 of 52 are more than three quarters: the fewest that make up the share, no percentile of running sums.
    let names = field(&data(&text, &["kernels", "--duration-ratio", "0.75"])["kernels"], "name");
    assert_eq!(names, ["big", "others"]);
}

#[test]
fn bug_04_every_stream_says_how_long_its_queue_was_full() {
    let mut text = trace();
    for stream in [7, 20, 22] {
        text = text.kernel("a", 100..110).on(0, stream).launched_at(stream..stream + 1);
        text = text.kernel("b", 110..120).on(0, stream).launched_at(50..51);
    }
    let queue = data(&text, &["queue", "--max-queue-length", "2"]);
    assert_eq!(field(&queue["streams"], "full_ns"), [50, 50, 50]);
}

#[test]
fn bug_05_synchronisation_rows_are_not_work() {
    let text = trace()
        .kernel("k", 0..10)
        .span("cuda_sync", "Context Sync", 0..500)
        .on(0, 4_294_967_295)
        .kernel("k", 90..100);
    let temporal = data(&text, &["temporal"]);
    assert_eq!(temporal["ranks"][0]["kernel_ns"], 100);
    assert_eq!(temporal["ranks"][0]["idle_ns"], 80);
}

#[test]
fn bug_06_a_host_operator_with_a_stream_is_not_a_kernel() {
    let text = trace().cpu_op("triton_poi_fused", 0..94_000).arg("stream", 0).kernel("k", 100_000..100_010);
    assert_eq!(data(&text, &["temporal"])["ranks"][0]["compute_ns"], 10);
}

#[test]
fn bug_07_amd_kernels_on_stream_0_have_launch_step_and_kind() {
    let text = trace()
        .step(1, 0..100)
        .runtime("hipLaunchKernel", 10..12, 5)
        .text_arg("stream", "0x0")
        .kernel("hipcub_reduce", 50..60)
        .on(0, 0)
        .correlation(5);
    let breakdown = data(&text, &["breakdown"]);
    assert_eq!(breakdown["ranks"][0]["steps"][0]["computation_ns"], 10);
    assert_eq!(breakdown["ranks"][0]["total"]["comm_ns"], 0);
    let launches = data(&text, &["launches"]);
    assert_eq!(launches["ranks"][0]["launches"][0]["delay_ns"], 38);
}

#[test]
fn bug_08_collectives_are_known_under_every_name() {
    let names =
        ["ncclKernel_AllReduce_RING", "ncclDevKernel_AllGather", "rccl_kernel", "multimem_all_reduce"];
    for name in names {
        let text = trace().kernel(name, 0..10).kernel("gemm", 5..20).on(0, 20);
        assert_eq!(data(&text, &["overlap"])["ranks"][0]["overlap_ns"], 5, "{name}");
    }
    // Nor does it take names of one prefix, steps or more than one rank to ask who was late.
    let folder = Folder::new();
    for (n, start) in [0, 700].into_iter().enumerate() {
        let text = rank(n as u32).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 300_000..301_000);
        folder.write(&format!("rank{n}.json"), text.to_json());
    }
    let both = folder.run(&["stragglers", "@", "--json"]).json();
    assert!(both["data"]["ranks"].as_array().unwrap().iter().all(|rank| rank["collectives"] != 0), "{both}");
    assert_eq!(folder.run(&["stragglers", "@rank0.json", "--json"]).exit, 0);
}

#[test]
fn bug_09_texts_are_texts_and_expressions_are_expressions() {
    let text = trace()
        .annotation("train_1", 0..50)
        .cpu_op("aten::mm (fused)", 0..40)
        .kernel("k", 100..110)
        .launched_at(10..12)
        .annotation("train_2", 60..90);
    let patterns = |operator: &str| {
        data(&text, &["patterns", "--min-pattern-len", "1", "--operator", operator])["ranks"][0]["roots"]
            .clone()
    };
    assert_eq!(patterns("mm (fused)"), 1);
    assert_eq!(patterns("mm.*"), 0);
    let steps = data(&text, &["breakdown", "--step-marker", "^train_[0-9]$"]);
    assert_eq!(steps["ranks"][0]["steps"].as_array().expect("steps").len(), 2);
}

#[test]
fn bug_10_a_launch_belongs_to_an_operator_of_its_own_thread_and_rank() {
    let text = |kernel: &str, number: u32| {
        trace()
            .rank(number, 2)
            .cpu_op("aten::mm", 0..40)
            .cpu_op("aten::add", 5..60)
            .thread(2)
            .kernel(kernel, 100..110)
            .launched_at(10..12)
            .to_json()
    };
    let folder = Folder::new();
    folder.write("rank0.json", text("gemm", 0)).write("rank1.json", text("conv", 1));
    let rows = folder.run(&["op-kernels", "@", "--json"]).json()["data"]["rows"].take();
    assert_eq!(field(&rows, "op"), ["aten::mm", "aten::mm"]);
    assert_eq!(field(&rows, "kernels"), [json!(["gemm"]), json!(["conv"])]);
    assert_eq!(field(&rows, "mean_op_delay_ns"), [10.0, 10.0]);
    let none = ran(&trace().kernel("k", 0..10), &["op-kernels"]);
    assert_eq!(none.json()["data"]["rows"], json!([]));
}

#[test]
fn bug_11_ranks_are_read_from_compact_json_and_never_overwrite_each_other() {
    let folder = Folder::new();
    let compact = r#"{"distributedInfo":{"rank":3,"world_size":4},"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2}]}"#;
    folder.write("a.json", compact);
    assert_eq!(folder.run(&["temporal", "@a.json", "--json"]).ranks(), [3]);
    folder.write("b.json", compact);
    let both = folder.run(&["temporal", "@a.json", "@b.json", "--json"]);
    assert_eq!(both.ranks(), [3, 3]);
    assert!(both.codes().contains(&"duplicate_rank".to_owned()));
}

#[test]
fn bug_12_graphs_and_blocking_copies_are_launches_too() {
    let text = trace()
        .runtime("cudaGraphLaunch", 0..5, 1)
        .kernel("a", 10..20)
        .correlation(1)
        .kernel("b", 20..30)
        .correlation(1)
        .runtime("cudaMemcpy", 30..60, 2)
        .memcpy("Memcpy DtoH (Device -> Pageable)", 40..50, 64)
        .correlation(2);
    let queue = data(&text, &["queue"]);
    assert_eq!((&queue["streams"][0]["points"], &queue["streams"][0]["max"]), (&json!(6), &json!(2)));
    // At one instant the queue grows before it shrinks, whatever the order in the file.
    let tie = trace().kernel("a", 10..20).launched_at(0..2).kernel("b", 30..40).launched_at(10..12);
    assert_eq!(data(&tie, &["queue"])["streams"][0]["max"], 2);
}

#[test]
fn bug_13_a_gap_begins_where_the_stream_last_was_busy() {
    let text = trace().kernel("long", 0..100).kernel("inside", 10..20).kernel("after", 130..140);
    let idle = data(&text, &["idle"]);
    let categories = &idle["streams"][0]["categories"];
    let (kernel_wait, other) = (&categories["kernel_wait"], &categories["other"]);
    assert_eq!(kernel_wait["idle_ns"].as_i64().zip(other["idle_ns"].as_i64()), Some((30, 0)));
    assert_eq!(kernel_wait["count"].as_i64().zip(other["count"].as_i64()), Some((2, 0)));
}

#[test]
fn bug_14_the_first_event_of_a_file_can_be_a_launch() {
    let text = trace().runtime("cudaLaunchKernel", 0..2, 1).kernel("k", 10..20).correlation(1);
    assert_eq!(data(&text, &["launches"])["ranks"][0]["summary"]["count"], 1);
}

#[test]
fn bug_15_every_time_says_its_unit() {
    let temporal = data(&rank(0), &["temporal"]);
    for (key, value) in temporal["ranks"][0].as_object().expect("a row") {
        let said = key == "rank" || (key.ends_with("_ns") && value.is_i64()) || key.ends_with("_pct");
        assert!(said, "{key}: {value}");
    }
}

#[test]
fn bug_16_all_ranks_are_answered_for_whatever_their_numbers() {
    assert_eq!(ran(&rank(3), &["temporal"]).ranks(), [3]);
}

#[test]
fn bug_17_what_is_written_beside_the_traces_is_never_taken_for_one() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let before = folder.run(&["temporal", "@", "--json"]).json();
    assert_eq!(folder.run(&["queue", "@", "--series", "-o", "@rank0_with_counters.json"]).exit, 0);
    assert_eq!(folder.run(&["temporal", "@", "--json"]).json(), before);
}

#[test]
fn bug_19_written_traces_are_as_compact_as_what_was_read() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    assert_eq!(
        folder.run(&["convert", "@rank0.json", "--add", "queue,bandwidth", "-o", "@out.json"]).exit,
        0
    );
    let (read, written) = (folder.read("rank0.json"), folder.read("out.json"));
    let shared = read.bytes().zip(written.bytes()).take_while(|(a, b)| a == b).count();
    assert!(shared * 10 > read.len() * 8, "only {shared} of {} bytes are copied as they are", read.len());
    let folder_before = folder.run(&["info", "@rank0.json", "--json"]).json();
    assert_eq!(folder_before["inputs"][0]["events"], 10, "the input is left alone");
}

#[test]
fn bug_18_pickles_are_refused() {
    let folder = Folder::new();
    folder.write("graph.json", b"\x80\x04\x95cos\nsystem\n.");
    let ran = folder.run(&["temporal", "@graph.json"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.contains("pickle"), "{}", ran.err);
}

#[test]
fn bug_20_equal_rows_have_one_order() {
    let mut text = trace();
    for i in 0..40 {
        text = text.kernel(&format!("kernel {}", i * 7 % 40), i * 10..i * 10 + 5).launched_at(i..i + 1);
    }
    for command in ["kernels", "patterns", "op-kernels", "annotations", "queue"] {
        assert_eq!(ran(&text, &[command]).out, ran(&text, &[command]).out, "{command}");
    }
    let names = field(&data(&text, &["kernels"])["kernels"], "name");
    assert!(names.is_sorted_by_key(|name| name.as_str().map(str::to_owned)), "{names:?}");
}

#[test]
fn bug_21_no_bandwidth_is_left_over_when_copies_end() {
    let copy = |text: TraceText, from: i64, to: i64, bytes: i64| {
        text.memcpy("Memcpy DtoD (Device -> Device)", from..to, bytes)
    };
    // 0.1 + 0.2 − 0.1 − 0.2 is not zero in floats: HTA counts the rest as a bandwidth.
    let text = copy(copy(copy(trace(), 0, 100, 10), 50, 150, 20), 1_000_000, 1_000_010, 30);
    let over = data(&text, &["bandwidth"])["copies"][0]["over_time"].take();
    assert_eq!(over["busy_ns"], 160);
    let near = |key: &str, expected: f64| (over[key].as_f64().expect("a rate") - expected).abs() < 1e-9;
    assert!(near("min_gb_per_s", 0.1) && near("mean_gb_per_s", 60.0 / 160.0), "{over}");
}

#[test]
fn bug_22_idle_time_is_never_negative() {
    let text = trace().kernel("long", 0..100).kernel("early", 10..20).kernel("later", 15..120);
    let ran = ran(&text, &["idle"]);
    let stream = &ran.json()["data"]["streams"][0]["categories"];
    for category in ["host_wait", "kernel_wait", "other"] {
        assert_eq!(stream[category]["idle_ns"], 0, "{category}");
    }
    assert!(ran.codes().contains(&"same_stream_overlap".to_owned()));
}

#[test]
fn bug_23_a_trace_without_gpu_work_is_answered_for() {
    let text = trace().cpu_op("aten::add", 0..50);
    let commands = [
        "info",
        "breakdown",
        "temporal",
        "kernels",
        "overlap",
        "idle",
        "launches",
        "queue",
        "bandwidth",
        "annotations",
        "patterns",
        "op-kernels",
    ];
    for command in commands {
        let ran = ran(&text, &[command]);
        assert_eq!(ran.exit, 0, "{command}: {}", ran.err);
        assert!(ran.codes().contains(&"no_gpu_events".to_owned()), "{command}");
    }
}
