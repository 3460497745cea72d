//! Several captures of one job in one folder.

use crate::support::{Folder, rank};

#[test]
fn the_newest_of_several_captures_is_answered_and_the_others_are_listed() {
    let folder = Folder::new();
    for iteration in [9, 10] {
        for n in 0..2 {
            folder.write(&format!("log/iter_{iteration}/rank{n}.json"), rank(n).to_json());
        }
    }
    let first = |more: &[&str]| {
        let mut arguments = vec!["temporal", "@log", "--json"];
        arguments.extend(more);
        let ran = folder.run(&arguments);
        assert_eq!(ran.ranks(), [0, 1]);
        assert!(!ran.codes().contains(&"duplicate_rank".to_owned()));
        ran.json()["inputs"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(first(&[]), "log/iter_10/rank0.json");
    assert_eq!(first(&["--select-capture", "2"]), "log/iter_9/rank0.json");
    assert_eq!(first(&["--select-capture", "iter_9"]), "log/iter_9/rank0.json");
    let ran = folder.run(&["check", "@log"]);
    assert!(ran.out.contains("other_captures"), "{}", ran.out);
    let ran = folder.run(&["temporal", "@log", "--select-capture", "iter_7"]);
    assert_eq!(ran.exit, 2);
    insta::assert_snapshot!(ran.err);
}

#[test]
fn files_of_a_repeating_schedule_are_told_apart_by_the_time_in_their_names() {
    let folder = Folder::new();
    for (stamp, n) in [("1712345678000000000", 0), ("1712345679000000000", 0), ("1712345679100000000", 1)] {
        folder.write(&format!("log/host_{n}.{stamp}.pt.trace.json"), rank(n).to_json());
    }
    let ran = folder.run(&["temporal", "@log", "--json"]);
    assert_eq!(ran.ranks(), [0, 1]);
    assert_eq!(ran.inputs()[0], "host_0.1712345679000000000.pt.trace.json");
    let named: Vec<String> = ["1712345678000000000", "1712345679000000000"]
        .iter()
        .map(|stamp| format!("@log/host_0.{stamp}.pt.trace.json"))
        .collect();
    let ran = folder.run(&["temporal", &named[0], &named[1], "--json"]);
    assert_eq!(ran.ranks(), [0, 0]);
}
