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
snapshot!(annotations, "annotations");
snapshot!(collectives, "collectives");
snapshot!(stragglers, "stragglers");
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
    let alone = folder.run(&["diff", "@a.json"]);
    assert_eq!(alone.exit, 2);
    assert!(alone.err.contains("two runs"), "{}", alone.err);
}

#[test]
fn help() {
    let folder = Folder::new();
    insta::assert_snapshot!("help", folder.run(&["--help"]).out);
    insta::assert_snapshot!("help_kernels", folder.run(&["kernels", "-h"]).out);
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
fn the_demo_finds_what_it_planted_in_a_screenful() {
    let folder = Folder::new();
    let terminal = gpuscope_cli::Terminal { width: 80, ..gpuscope_cli::Terminal::none() };
    let ran = folder.run_on(terminal, &["demo", "-o", "@demo"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!("demo", ran.out);
    assert!(ran.out.lines().count() <= 32 && ran.out.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_smaller_demo_says_only_what_is_in_it() {
    let folder = Folder::new();
    let ran = folder.run(&["demo", "-o", "@demo", "--ranks", "2", "--bytes", "300kB"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("Wrote 2 ranks to demo"), "{}", ran.out);
    assert!(ran.out.contains("exposed all-reduce") && !ran.out.contains("straggler"), "{}", ran.out);
    assert!(ran.out.ends_with("is the simulated one, to the nanosecond.\n"), "{}", ran.out);
    let written = folder.run(&["demo", "-o", "@plain", "--only-write", "--ranks", "2", "--bytes", "300kB"]);
    assert_eq!(written.out, "plain/rank-0.json\nplain/rank-1.json\n");
    let size = folder.read("plain/rank-0.json").len();
    assert!((200_000..450_000).contains(&size), "{size}");
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
