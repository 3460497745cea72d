//! The same selection flags on every command.

use gpuscope_testkit::text::trace;

use crate::support::{Folder, nameless, rank};

/// `kernel_ns` of each rank.
fn kernel_ns(more: &[&str]) -> Vec<i64> {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", rank(1).to_json());
    let mut arguments = vec!["temporal", "@", "--json"];
    arguments.extend(more);
    let json = folder.run(&arguments).json();
    json["data"]["ranks"].as_array().unwrap().iter().map(|row| row["kernel_ns"].as_i64().unwrap()).collect()
}

#[test]
fn parts_of_a_trace() {
    // Kernels at 10..40, 110..150 and 30..60 (stream 20), a copy at 70..75; rank 1's first kernel starts 1 later.
    assert_eq!(kernel_ns(&[]), [140_000, 139_000]);
    assert_eq!(kernel_ns(&["--rank", "1"]), [139_000]);
    assert_eq!(kernel_ns(&["--stream", "20"]), [30_000, 30_000]);
    assert_eq!(kernel_ns(&["--device", "3"]), [0, 0]);
    assert_eq!(kernel_ns(&["--step", "8"]), [40_000, 40_000]);
    assert_eq!(kernel_ns(&["--step", "7..8"]), [140_000, 139_000]);
    assert_eq!(kernel_ns(&["--drop-last-step"]), [65_000, 64_000]);
    assert_eq!(kernel_ns(&["--from", "20000"]), [120_000, 120_000]);
    assert_eq!(kernel_ns(&["--from", "20us", "--to", "65us"]), [30_000, 30_000]);
}

#[test]
fn one_rank_of_many_is_read_alone() {
    let folder = Folder::new();
    for n in 0..3 {
        folder.write(&format!("job/{n}.json"), rank(n).to_json());
    }
    // Damage behind the first bytes of another rank is not even seen.
    let text = rank(3).to_json();
    folder.write("job/3.json", &text[..text.len() / 2]);
    let ran = folder.run(&["temporal", "@job", "--rank", "1", "--json"]);
    assert_eq!((ran.ranks(), ran.inputs()), (vec![1], vec!["1.json".to_owned()]));
    assert!(!ran.codes().contains(&"truncated".to_owned()));
    let ran = folder.run(&["temporal", "@job", "--rank", "7"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.ends_with("there are ranks 0-3\n"), "{}", ran.err);
}

#[test]
fn rules_of_the_user_come_first() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    folder.write(
        "rules.toml",
        "[[rule]]\nkind = \"communication\"\nmatch = \"contains\"\nnames = [\"gemm\"]\n",
    );
    let comm = |more: &[&str]| {
        let mut arguments = vec!["overlap", "@rank0.json", "--json"];
        arguments.extend(more);
        folder.run(&arguments).json()["data"]["ranks"][0]["comm_ns"].as_i64().unwrap()
    };
    assert_eq!(comm(&[]), 30_000);
    assert_eq!(comm(&["--classify", "@rules.toml"]), 90_000);
}

#[test]
fn steps_of_the_user_hold_for_every_command() {
    let folder = Folder::new();
    let text = nameless().annotation("train 1", 0..50).annotation("train 2", 50..100);
    folder.write("a.json", text.kernel("late", 60..95).launched_at(55..56).to_json());
    for command in ["temporal", "kernels", "overlap", "breakdown", "check", "info"] {
        let with = folder.run(&[command, "@a.json", "--step-marker", "^train", "--json"]);
        assert!(!with.codes().contains(&"inferred_steps".to_owned()), "{command}");
    }
    let arguments = ["temporal", "@a.json", "--step-marker", "^train", "--step", "1", "--json"];
    assert_eq!(folder.run(&arguments).json()["data"]["ranks"][0]["kernel_ns"], 35);
    let ran = folder.run(&["breakdown", "@a.json", "--step-marker", "^trian", "--json"]);
    assert!(ran.codes().contains(&"unmatched_step_marker".to_owned()));
    assert!(
        ran.out.contains("matches none of 2 annotations, so there are no steps; there are train 1, train 2")
    );
}

#[test]
fn a_step_that_is_not_there_is_refused_by_every_command() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let commands: [&[&str]; 8] = [
        &["analyze"],
        &["breakdown"],
        &["idle"],
        &["critical-path"],
        &["whatif", "--no-launch-overhead"],
        &["kernels"],
        &["collectives"],
        &["convert", "-o", "@cut.json"],
    ];
    for command in commands {
        let ran = folder.run(&[command, &["@rank0.json", "--step", "99"]].concat());
        assert_eq!(ran.exit, 2, "{command:?}: {}", ran.err);
        assert!(
            ran.err.contains("--step 99: no such step; there are steps 7 to 8"),
            "{command:?}: {}",
            ran.err
        );
    }
    assert!(!folder.path("cut.json").exists());
    let none = folder.write("none.json", trace().kernel("gemm", 0..10).to_json());
    let ran = none.run(&["breakdown", "@none.json", "--step", "1..3"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("--step 1..3: no such step; there are no steps"), "{}", ran.err);
    // Some of a range are enough.
    assert_eq!(folder.run(&["breakdown", "@rank0.json", "--step", "8..20", "--json"]).exit, 0);
}

#[test]
fn an_annotation_that_is_not_there_is_refused() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let ran = folder.run(&["critical-path", "@rank0.json", "--annotation", "forward"]);
    assert_eq!(ran.exit, 2);
    let said =
        "--annotation forward: no annotation has that in its name; there are ProfilerStep#7, ProfilerStep#8";
    assert!(ran.err.contains(said), "{}", ran.err);
    let ran =
        folder.run(&["critical-path", "@rank0.json", "--annotation", "ProfilerStep", "--instance", "5"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("--instance 5: `ProfilerStep` occurs 2 times"), "{}", ran.err);
    let drawn = ["critical-path", "@rank0.json", "--annotation", "forward", "-o", "@path.json.gz"];
    assert_eq!(folder.run(&drawn).exit, 2);
    assert!(!folder.path("path.json.gz").exists());
}

#[test]
fn the_critical_path_is_that_of_the_median_step() {
    // The middle one launches nothing, and one takes twice as long.
    let steps = [(1, 40_000), (2, 50_000), (3, 0), (4, 90_000), (5, 50_000), (6, 50_000)];
    let text = steps.iter().fold(trace(), |trace, (number, length)| {
        let from = number * 100_000;
        let trace = trace.step(*number, from..from + 95_000);
        if *length == 0 {
            return trace;
        }
        trace.kernel("gemm", from + 2_000..from + 2_000 + length).launched_at(from + 500..from + 1_000)
    });
    let folder = Folder::new();
    folder.write("rank0.json", text.to_json());
    let step = folder.run(&["breakdown", "@rank0.json", "--json"]).json();
    let step = step["data"]["ranks"][0]["step_time"].clone();
    let path = folder.run(&["critical-path", "@rank0.json", "--json"]).json();
    assert_eq!(path["data"]["window"], "ProfilerStep#6", "{step}");
}
