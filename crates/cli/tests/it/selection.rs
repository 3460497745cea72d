//! The same selection flags on every command.

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
