//! Every command's table and JSON on one small trace.

use gpuscope_testkit::text::{TraceText, trace};

use crate::support::{Folder, host_only, rank};

fn both(command: &[&str]) -> (String, serde_json::Value) {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let mut arguments = command.to_vec();
    arguments.push("@rank0.json");
    let table = folder.run(&arguments);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    arguments.push("--json");
    (table.out, folder.run(&arguments).json())
}

macro_rules! snapshot {
    ($name:ident, $($argument:literal),+) => {
        #[test]
        fn $name() {
            let (table, json) = both(&[$($argument),+]);
            insta::assert_snapshot!(concat!(stringify!($name), "_table"), table);
            insta::assert_json_snapshot!(concat!(stringify!($name), "_json"), json);
        }
    };
}

snapshot!(info, "info");
snapshot!(breakdown, "breakdown", "--micro-idle-us", "8");
snapshot!(temporal, "temporal");
snapshot!(kernels, "kernels");
snapshot!(kernels_folded, "kernels", "--num-kernels", "0", "--exclude-memory");
snapshot!(overlap, "overlap");
snapshot!(idle, "idle");
snapshot!(launches, "launches");
snapshot!(queue, "queue", "--series");
snapshot!(bandwidth, "bandwidth");
snapshot!(patterns, "patterns", "--operator", "ProfilerStep", "--min-pattern-len", "1");
snapshot!(annotations, "annotations");
snapshot!(phases, "phases");
snapshot!(layers, "layers");
snapshot!(stacks, "stacks");
snapshot!(flame, "flame", "--stacks", "operators");
snapshot!(collectives, "collectives");
snapshot!(stragglers, "stragglers");
snapshot!(annotations_kernels, "annotations", "--cpu", "--kernels");
snapshot!(profile, "profile");
snapshot!(hta, "hta");
snapshot!(critical_path, "critical-path");
snapshot!(whatif, "whatif", "--scale", "gemm=0.5", "--no-launch-overhead");
snapshot!(check, "check");

/// A rank of three that computes for so long before each of two all-reduces.
fn reducing(rank: u32, compute: i64) -> TraceText {
    (0..2).fold(trace().rank(rank, 4).top_level("host_name", "\"node-a\""), |trace, round| {
        let from = round * 100_000;
        let reduce = format!("ncclDevKernel_AllReduce_Sum_bf16_RING_LL({round})");
        trace
            .step(round, from..from + 90_000)
            .kernel("gemm", from + 5_000..from + 5_000 + compute)
            .launched_at(from + 1_000..from + 2_000)
            .kernel(&reduce, from + 5_000 + compute..from + 80_000)
            .on(0, 20)
            .launched_at(from + 3_000..from + 4_000)
            .text_arg("Collective name", "allreduce")
            .text_arg("Process Group Name", "1")
            .text_arg("Process Group Description", "dp")
            .text_arg("Process Group Ranks", "[0, 1, 2, 3]")
            .text_arg("dtype", "BFloat16")
            .arg("In msg nelems", 1_000_000)
            .arg("Out msg nelems", 1_000_000)
            .arg("Group size", 4)
            .arg("Seq", 7 + round)
    })
}

#[test]
fn ranks_that_communicate() {
    let folder = Folder::new();
    for (rank, compute) in [(0, 20_000), (1, 50_000), (2, 21_000)] {
        folder.write(&format!("rank{rank}.json"), reducing(rank, compute).to_json());
    }
    for command in ["collectives", "stragglers"] {
        let table = folder.run(&[command, "@"]);
        assert_eq!((table.exit, table.err.as_str()), (0, ""));
        insta::assert_snapshot!(format!("{command}_of_ranks_table"), table.out);
        let data = &folder.run(&[command, "@", "--json"]).json()["data"];
        insta::assert_json_snapshot!(format!("{command}_of_ranks_json"), data);
    }
}

#[test]
fn diff() {
    let folder = Folder::new();
    folder
        .write("a.json", rank(0).to_json())
        .write("b.json", rank(0).kernel("extra", 200_000..210_000).to_json());
    let table = folder.run(&["diff", "@a.json", "@b.json"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("diff_table", table.out);
    insta::assert_json_snapshot!(
        "diff_json",
        folder.run(&["diff", "@a.json", "@b.json", "--json"]).json()["data"]
    );
    let gated = folder.run(&["diff", "@a.json", "@b.json", "--fail-on", "busy > +5% and gpu_events > +0"]);
    assert_eq!((gated.exit, gated.err.as_str()), (1, ""));
    insta::assert_snapshot!("diff_gate", gated.out.lines().take(6).collect::<Vec<_>>().join("\n"));
    let passed = folder.run(&["diff", "@a.json", "@b.json", "--fail-on", "step_time > +1%", "--json"]).json();
    assert_eq!(passed["data"]["gate"]["failed"], false);
    let filed = folder.run(&["diff", "@a.json", "@b.json", "--fail-on", "busy > +5%", "-o", "@diff.html"]);
    assert_eq!(filed.exit, 1);
    assert!(filed.out.starts_with("failed: busy > +5%: busy went from 95 µs to 105 µs"), "{}", filed.out);
    let misread = folder.run(&["diff", "@a.json", "@b.json", "--fail-on", "bussy > +5%"]);
    assert_eq!(misread.exit, 2);
    assert!(
        misread.err.contains("at character 1: expected a metric (step_time, total, busy"),
        "{}",
        misread.err
    );
    let alone = folder.run(&["diff", "@a.json"]);
    assert_eq!(alone.exit, 2);
    assert!(alone.err.contains("two runs"), "{}", alone.err);
}

#[test]
fn diff_by_call_paths() {
    let folder = Folder::new();
    folder
        .write("a.json", rank(0).to_json())
        .write("b.json", rank(0).kernel("extra", 200_000..210_000).to_json());
    let table = folder.run(&["diff", "@a.json", "@b.json", "--tree"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("diff_tree_table", table.out);
    let data = &folder.run(&["diff", "@a.json", "@b.json", "--tree", "--json"]).json()["data"];
    insta::assert_json_snapshot!("diff_tree_json", data);
    assert_eq!(folder.run(&["diff", "@a.json", "--tree"]).exit, 2);
}

#[test]
fn stacks_for_other_tools() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let collapsed = folder.run(&["stacks", "@rank0.json", "--format", "collapsed"]);
    insta::assert_snapshot!("stacks_collapsed", collapsed.out);
    let filed = folder.run(&["stacks", "@rank0.json", "-o", "@x.collapsed"]);
    assert_eq!((filed.exit, filed.out.as_str()), (0, ""));
    assert_eq!(folder.read("x.collapsed"), collapsed.out);
    assert_eq!(folder.run(&["stacks", "@rank0.json", "-o", "@x.speedscope.json"]).exit, 0);
    let file: serde_json::Value = serde_json::from_str(&folder.read("x.speedscope.json")).unwrap();
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    assert_eq!(file["profiles"][0]["endValue"], 30_000 + 30_000 + 5_000 + 40_000);
    assert_eq!(folder.run(&["stacks", "@rank0.json", "--filter", "("]).exit, 2);
}

#[test]
fn flames_in_every_form() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    folder.write("before.json", rank(0).to_json());
    for (file, holds) in [
        ("x.html", "id=\"flame-data\""),
        ("x.svg", "<title>all GPU work: "),
        ("x.collapsed", "cudaLaunchKernel;"),
        ("x.speedscope.json", "\"profiles\""),
        ("x.json", "\"command\""),
        ("x.csv", "total_ns"),
    ] {
        let output = format!("@{file}");
        let ran = folder.run(&["flame", "@rank0.json", "-o", &output]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{file}");
        assert!(folder.read(file).contains(holds), "{file}");
    }
    for (file, begins) in [("x.png", &b"\x89PNG"[..]), ("x.pdf", b"%PDF")] {
        let output = format!("@{file}");
        assert_eq!(folder.run(&["flame", "@rank0.json", "-o", &output]).exit, 0, "{file}");
        assert!(std::fs::read(folder.path(file)).unwrap().starts_with(begins), "{file}");
    }
    let same = folder.run(&["flame", "@rank0.json", "--against", "@before.json", "--json"]).json();
    assert_eq!(
        same["data"]["before"],
        serde_json::json!({"total_ns": same["data"]["total_ns"], "own_ns": 0})
    );
    assert_eq!(folder.run(&["flame", "@rank0.json", "-o", "@rank0.json"]).exit, 2);
    assert_eq!(folder.run(&["flame", "@rank0.json", "--against", "@no-such.json"]).exit, 3);
}

#[test]
fn analyze() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let ran = folder.run(&["analyze", "@rank0.json", "-o", "@why.html"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!("analyze", ran.out);
    assert!(folder.read("why.html").contains("What to do") || folder.read("why.html").contains("Kernels"));
    let json = folder.run(&["analyze", "@rank0.json", "--json"]).json();
    assert_eq!(json["data"]["breakdown"]["ranks"][0]["rank"], 0);
    let csv = folder.run(&["analyze", "@rank0.json", "--csv", "--table", "top_kernels"]);
    assert!(csv.out.starts_with("name,operator,count"), "{}", csv.out);
}

#[test]
fn the_path_is_drawn_on_the_trace() {
    let folder = Folder::new();
    folder.run(&["demo", "-o", "@", "--only-write", "--ranks", "1", "--bytes", "300kB"]);
    let ran = folder.run(&["critical-path", "@rank-0.json", "-o", "@path.trace.json"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let drawn: serde_json::Value = serde_json::from_str(&folder.read("path.trace.json")).unwrap();
    let events = drawn["traceEvents"].as_array().unwrap();
    let marked: i64 = events.iter().filter_map(|event| event["args"]["critical_ns"].as_i64()).sum();
    let path = folder.run(&["critical-path", "@rank-0.json", "--json"]).json()["data"]["path"].clone();
    let named = path.as_array().unwrap().iter().filter(|part| !part["element"].is_null());
    assert_eq!(marked, named.map(|part| part["dur_ns"].as_i64().unwrap()).sum::<i64>());
    let arrows = events.iter().filter(|event| event["cat"] == "critical_path");
    assert!(arrows.count() > 1, "{path}");
    let added = ["convert", "@rank-0.json", "--add", "critical-path,patterns", "-o", "@more.json"];
    assert_eq!(folder.run(&added).exit, 0);
    let more = folder.read("more.json");
    assert!(more.contains("\"critical\":1") && more.contains("\"pattern_count\":"));
}

/// A linear layer on an H100 whose product and bias are two kernels, one of them beside a copy.
fn linear() -> TraceText {
    let device = r#"[{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936, "computeMajor": 9,
        "computeMinor": 0, "numSms": 132}]"#;
    let product = |trace: TraceText, at: std::ops::Range<i64>| {
        trace
            .cpu_op("aten::mm", at)
            .raw_arg("Input Dims", "[[4096, 1024], [1024, 512]]")
            .raw_arg("Input type", r#"["c10::BFloat16", "c10::BFloat16"]"#)
            .raw_arg("Input Strides", "[[1024, 1], [512, 1]]")
            .raw_arg("Concrete Inputs", r#"["", ""]"#)
    };
    let trace = trace().rank(0, 1).top_level("deviceProperties", device).step(1, 0..100_000);
    let trace = product(trace, 1_000..20_000);
    let trace = trace
        .kernel("gemm_bf16", 30_000..45_000)
        .launched_at(5_000..6_000)
        .kernel("splitk_reduce", 46_000..50_000)
        .launched_at(8_000..9_000)
        .cpu_op("aten::copy_", 21_000..29_000)
        .memcpy("Memcpy HtoD (Pinned -> Device)", 40_000..48_000, 1_000_000)
        .on(0, 24)
        .launched_at(22_000..23_000);
    product(trace, 50_000..60_000).kernel("gemm_bf16", 61_000..77_000).launched_at(51_000..52_000)
}

#[test]
fn ops() {
    let folder = Folder::new();
    folder.write("rank0.json", linear().to_json());
    let run = |flags: &[&str]| folder.run(&[&["ops", "@rank0.json"], flags].concat());
    let all = ["--kernels", "--overlap", "--recompute", "--short-kernels-us", "10"];
    insta::assert_snapshot!("ops_table", run(&all).out);
    insta::assert_json_snapshot!("ops_json", run(&[&all[..], &["--json"]].concat()).json()["data"]);
    insta::assert_snapshot!("ops_by_arguments_table", run(&["--unique-args"]).out);
    insta::assert_json_snapshot!("ops_by_arguments_json", run(&["--by", "args", "--json"]).json()["data"]);
    insta::assert_snapshot!("ops_by_arguments_csv", run(&["--unique-args", "--csv"]).out);
    insta::assert_snapshot!("ops_by_category_table", run(&["--by", "category"]).out);
    let data = |flags: &[&str]| run(&[flags, &["--json"]].concat()).json()["data"].take();
    assert_eq!(data(&["--top", "1"])["ops"].as_array().unwrap().len(), 1);
    let (h100, a100) = (data(&[])["mfu"].take(), data(&["--gpu", "a100 sxm 80gb"])["mfu"].take());
    assert!(a100["mfu_pct"].as_f64() > h100["mfu_pct"].as_f64(), "{a100}");
    let told = data(&["--peak", "bf16=1", "--model-flops", "5e9", "--tokens-per-step", "1000"])["mfu"].take();
    assert_eq!(told["model_flops"], 5_000_000_000_u64);
    assert_eq!(told["flops_per_token"], 5e6);
    assert_eq!(told["by_precision"][0]["peak_tflops_per_s"], 1.0);
    folder.write("own.toml", "[[model]]\nname = \"aten::copy_\"\ncategory = \"mine\"\nflops = \"7\"\n");
    let own = data(&["--models", &folder.path("own.toml").to_string_lossy()])["ops"].take();
    assert!(own.as_array().unwrap().iter().any(|row| row["category"] == "mine"), "{own}");
    for (flags, message) in [
        (["--gpu", "h"], "no such GPU"),
        (["--gpu", "h100"], "which of"),
        (["--peak", "bf17=3"], "known are fp64"),
        (["--by", "shape"], "possible values"),
    ] {
        let refused = run(&flags);
        assert_eq!(refused.exit, 2);
        assert!(refused.err.contains(message), "{}", refused.err);
    }
}

#[test]
fn throughput() {
    let folder = Folder::new();
    let modules = linear()
        .python("nn.Module: Net_0", 0..99_000, 1, None)
        .python("nn.Module: Linear_0", 500..20_500, 2, Some(1))
        .python("nn.Module: Linear_0", 49_000..60_500, 3, Some(1));
    folder.write("rank0.json", modules.to_json());
    let run = |flags: &[&str]| folder.run(&[&["throughput", "@rank0.json"], flags].concat());
    let all = ["--tokens-per-step", "4096", "--samples-per-step", "2"];
    let table = run(&all);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("throughput_table", table.out);
    insta::assert_json_snapshot!("throughput_json", run(&[&all[..], &["--json"]].concat()).json()["data"]);
    let data = |flags: &[&str]| run(&[flags, &["--json"]].concat()).json()["data"].take();
    assert_eq!(data(&["--depth", "1"])["layers"].as_array().unwrap().len(), 1);
    folder.write("own.toml", "[[model]]\nname = \"aten::mm\"\ncategory = \"mine\"\nflops = \"1000000000\"\n");
    let own = data(&["--models", &folder.path("own.toml").to_string_lossy()]);
    let linear = &own["layers"][1];
    assert_eq!((&linear["module"], &linear["gflops"]), (&"Linear_0".into(), &2.0.into()));
    assert_eq!(run(&["--models", &folder.path("none.toml").to_string_lossy()]).exit, 3);
}

#[test]
fn a_gpu_that_is_not_known_is_asked_for() {
    let folder = Folder::new();
    let unknown = linear().to_json().replace("NVIDIA H100 80GB HBM3", "NVIDIA X1");
    folder.write("rank0.json", unknown);
    let asked = folder.run(&["ops", "@rank0.json", "--json"]);
    assert!(asked.codes().contains(&"unknown_gpu".to_owned()), "{:?}", asked.codes());
    assert!(
        !folder
            .run(&["ops", "@rank0.json", "--json", "--peak", "bf16=1"])
            .codes()
            .contains(&"unknown_gpu".to_owned())
    );
}

#[test]
fn op_kernels() {
    let folder = Folder::new();
    let text = rank(0).cpu_op("aten::mm", 500..4_500).cpu_op("aten::mm", 100_500..103_000);
    folder.write("rank0.json", text.to_json());
    let table = folder.run(&["op-kernels", "@rank0.json"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("op_kernels_table", table.out);
    let json = folder.run(&["op-kernels", "@rank0.json", "--json"]).json();
    insta::assert_json_snapshot!("op_kernels_json", json["data"]);
}

#[test]
fn counters() {
    let folder = Folder::new();
    let measured = rank(0)
        .cpu_op("aten::mm", 500..4_500)
        .span("cuda_profiler_range", "gemm", 0..10)
        .arg("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 4096);
    folder.write("rank0.json", measured.to_json());
    let table = folder.run(&["counters", "@rank0.json"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("counters_table", table.out);
    let ran = folder.run(&["counters", "@rank0.json", "--json"]);
    insta::assert_json_snapshot!("counters_json", ran.json()["data"]);
    assert!(ran.codes().contains(&"unlinked_counters".to_owned()), "{:?}", ran.codes());
    let none = folder.write("none.json", rank(0).to_json()).run(&["counters", "@none.json", "--json"]);
    assert!(none.codes().contains(&"no_counters".to_owned()), "{:?}", none.codes());
}

#[test]
fn memory() {
    let text = rank(0)
        .python("train.py(3): main", 0..180_000, 1, None)
        .python("nn.Module: Linear_0", 0..50_000, 2, Some(1))
        .cpu_op("aten::linear", 1_000..40_000)
        .memory(2_000, 4096, 1_004_096)
        .memory(60_000, -4096, 1_000_000);
    let folder = Folder::new();
    folder
        .write("rank0.json", text.to_json())
        .write("timeline.raw.json", "[[-1, 1, 4096, 0], [5000, 2, 512, 4], [6000, 4, -512, 4]]");
    let table = folder.run(&["memory", "@rank0.json"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("memory_table", table.out);
    let json = folder.run(&["memory", "@rank0.json", "--series", "--json"]).json();
    insta::assert_json_snapshot!("memory_json", json["data"]);
    insta::assert_snapshot!("memory_timeline_table", folder.run(&["memory", "@timeline.raw.json"]).out);
    let both = folder.run(&["memory", "@", "--json"]);
    assert_eq!(both.json()["data"]["timeline"]["peak_bytes"], 4608);
    assert_eq!(both.json()["data"]["devices"][0]["peak"]["allocated_bytes"], 1_004_096);
    assert!(!both.codes().contains(&"duplicate_rank".to_owned()), "{:?}", both.codes());
    assert_eq!(folder.run(&["temporal", "@", "--json"]).ranks(), [0]);
    let none = folder.write("none.json", rank(0).to_json()).run(&["memory", "@none.json", "--json"]);
    assert!(none.codes().contains(&"no_memory_events".to_owned()), "{:?}", none.codes());
}

#[test]
fn ranks_of_one_run_are_compared() {
    let folder = Folder::new();
    for n in 0..4 {
        let extra = if n == 3 { 260_000 } else { 210_000 };
        let text = rank(n).kernel("extra", 200_000..extra).to_json();
        folder.write(&format!("job/rank{n}.json"), text);
    }
    let extra = |more: &[&str]| {
        let mut arguments = vec!["diff", "@job", "--json"];
        arguments.extend(more);
        let ran = folder.run(&arguments).json();
        assert_eq!(ran["inputs"].as_array().unwrap().len(), 4);
        assert_eq!(ran["data"]["rows"][0]["name"], "extra");
        ran["data"]["rows"][0]["delta_ns"].as_i64().unwrap()
    };
    assert_eq!(extra(&["--rank", "3", "--against", "median"]), 50_000);
    assert_eq!(extra(&["--rank", "0", "--against", "3"]), -50_000);
    for (flags, said) in [
        (&["--against", "median"][..], "--rank"),
        (&["--rank", "9", "--against", "median"], "no input is of that rank"),
        (&["--rank", "1", "--against", "mean"], "expected `median` or the number of a rank"),
        (&["--rank", "1"], "two runs"),
    ] {
        let mut arguments = vec!["diff", "@job"];
        arguments.extend(flags);
        let ran = folder.run(&arguments);
        assert_eq!(ran.exit, 2, "{flags:?}");
        assert!(ran.err.contains(said), "{flags:?}: {}", ran.err);
    }
}

#[test]
fn help() {
    let folder = Folder::new();
    insta::assert_snapshot!("help", folder.run(&["--help"]).out);
    insta::assert_snapshot!("help_kernels", folder.run(&["kernels", "-h"]).out);
    insta::assert_snapshot!("help_flame", folder.run(&["flame", "-h"]).out);
    assert_eq!(folder.run(&["--version"]).out, format!("gpuscope {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_lone_trace_without_gpu_work_is_answered_with_zeros() {
    let folder = Folder::new();
    folder.write("a.json", host_only().to_json());
    let ran = folder.run(&["temporal", "@a.json", "--json"]);
    assert_eq!(ran.json()["data"]["ranks"][0]["kernel_ns"], 0);
}

#[test]
fn a_trace_without_gpu_work_beside_others_is_no_idle_rank() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", host_only().to_json());
    let ran = folder.run(&["temporal", "@", "--json"]);
    assert_eq!(ran.ranks(), [0]);
    assert_eq!(ran.inputs(), ["rank0.json", "rank1.json"]);
    assert!(ran.codes().contains(&"host_only".to_owned()), "{:?}", ran.codes());
    assert!(!ran.codes().contains(&"no_gpu_events".to_owned()), "{:?}", ran.codes());
    assert_eq!(folder.run(&["info", "@", "--json"]).ranks(), [0, 1]);
    assert_eq!(folder.run(&["temporal", "@", "--rank", "1", "--json"]).ranks(), [1]);
}

#[test]
fn completions_are_printed() {
    let ran = Folder::new().run(&["completions", "bash"]);
    assert_eq!(ran.exit, 0);
    assert!(ran.out.contains("_gpuscope") && ran.out.contains("--drop-last-step"));
}

#[test]
fn the_demo_finds_what_it_planted_on_a_page() {
    let folder = Folder::new();
    let terminal = gpuscope_cli::Terminal { width: 80, ..gpuscope_cli::Terminal::none() };
    let ran = folder.run_on(terminal, &["demo", "-o", "@demo"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!("demo", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let analysed = ran.out.lines().skip_while(|line| !line.starts_with("$ gpuscope analyze")).skip(1);
    assert!(analysed.count() <= 52, "{}", ran.out);
    assert!(folder.read("demo/report.html").contains("exposed_communication"));
}

#[test]
fn a_smaller_demo_says_only_what_is_in_it() {
    let folder = Folder::new();
    let ran = folder.run(&["demo", "-o", "@demo", "--ranks", "2", "--bytes", "300kB"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("Wrote a simulated job to demo: 2 ranks"), "{}", ran.out);
    assert!(
        ran.out.contains("gradients are reduced only after") && !ran.out.contains("slow,"),
        "{}",
        ran.out
    );
    let written = folder.run(&["demo", "-o", "@plain", "--only-write", "--ranks", "2", "--bytes", "300kB"]);
    assert_eq!(written.out, "plain/rank-0.json\nplain/rank-1.json\n");
    let size = folder.read("plain/rank-0.json").len();
    assert!((200_000..450_000).contains(&size), "{size}");
}

#[test]
fn the_demo_writes_over_its_own_files_only() {
    let folder = Folder::new();
    let demo = ["demo", "-o", "@demo", "--ranks", "2", "--bytes", "300kB"];
    assert_eq!(folder.run(&demo).exit, 0);
    assert_eq!(folder.run(&demo).exit, 0);
    folder.write("demo/rank-1.json.gz", "mine");
    let ran = folder.run(&demo);
    assert_eq!(ran.exit, 2);
    assert!(
        ran.err.contains("would write over demo/rank-1.json.gz, which is not of the demo"),
        "{}",
        ran.err
    );
    assert_eq!(folder.read("demo/rank-1.json.gz"), "mine");
    let plain = ["demo", "-o", "@demo", "--ranks", "2", "--bytes", "300kB", "--only-write"];
    assert_eq!((folder.run(&plain).exit, folder.run(&plain).exit), (0, 0));
}

#[test]
fn limits_are_measured() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    for what in ["scan", "inflate", "parse"] {
        let json = folder.run(&["limits", "@rank0.json", "--what", what]).json();
        assert_eq!(json["what"], what);
        assert_eq!(json["bytes"], folder.read("rank0.json").len());
    }
}

/// A server that reads a prompt and then decodes, each step replayed from a graph.
fn served() -> TraceText {
    (0..4).fold(trace(), |trace, step| {
        let from = step * 100_000;
        let name = match step {
            0 => "execute_context_2(300)_generation_0(0)",
            _ => "execute_context_0(0)_generation_2(2)",
        };
        trace
            .annotation(name, from..from + 60_000)
            .runtime("cudaGraphLaunch", from + 1_000..from + 2_000, 900 + step)
            .kernel("gemm", from + 20_000..from + 70_000)
            .correlation(900 + step)
    })
}

#[test]
fn inference() {
    let folder = Folder::new();
    folder.write("serve.json", served().to_json());
    let table = folder.run(&["inference", "@serve.json"]);
    assert_eq!(table.exit, 0);
    insta::assert_snapshot!("inference_table", table.out);
    insta::assert_json_snapshot!(
        "inference_json",
        folder.run(&["inference", "@serve.json", "--json"]).json()["data"]
    );
    let cut = folder.run(&["convert", "@serve.json", "-o", "@cut.json", "--step", "1..2"]);
    assert_eq!((cut.exit, cut.err.as_str()), (0, ""));
    let steps = &folder.run(&["inference", "@cut.json", "--json"]).json()["data"]["steps"];
    assert_eq!(steps.as_array().map(Vec::len), Some(2));
    let none = folder.run(&["inference", "@serve.json", "--capture", "@serve.json"]);
    assert_eq!(none.exit, 2);
    assert!(none.err.contains("no graph was captured"), "{}", none.err);
}
