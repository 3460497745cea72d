//! Where answers go and in what form.

use gpuscope_cli::Terminal;

use crate::support::{Folder, rank};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    folder
}

#[test]
fn the_extension_decides_the_format_of_a_file() {
    let folder = folder();
    for (name, start) in [
        ("a.json", "{\"schema\":\"gpuscope/1\",\"command\":\"overlap\""),
        ("a.csv", "rank,comm_ns,overlap_ns,overlap_pct\r\n0,30000,10000,"),
        ("a.html", "<!doctype html>"),
        ("a.md", "# gpuscope overlap"),
    ] {
        let ran = folder.run(&["overlap", "@rank0.json", "-o", &format!("@{name}")]);
        assert_eq!((ran.exit, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
        assert!(folder.read(name).starts_with(start), "{}", folder.read(name));
    }
    let ran = folder.run(&["overlap", "@rank0.json", "-o", "@a.xyz"]);
    assert_eq!(ran.exit, 2);
    insta::assert_snapshot!(ran.err);
}

#[test]
fn an_extension_that_says_nothing_is_refused_in_the_same_words_everywhere() {
    let folder = folder();
    let commands: [&[&str]; 6] =
        [&["kernels"], &["analyze"], &["plot", "kernel_types"], &["flame"], &["stacks"], &["convert"]];
    for command in commands {
        for name in ["@a.xyz", "@a", "@.json"] {
            let ran = folder.run(&[command, &["@rank0.json", "-o", name]].concat());
            let said = format!("error: -o {}: the extension says no format that can be written", &name[1..]);
            assert_eq!((ran.exit, ran.err.lines().next()), (2, Some(&*said)), "{command:?}");
            assert!(ran.err.contains("\nhint: use ."), "{}", ran.err);
        }
    }
}

#[test]
fn with_json_a_file_is_json_whatever_its_name() {
    let folder = folder();
    let ran = folder.run(&["overlap", "@rank0.json", "--output", "@answer.txt", "--json"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&folder.read("answer.txt")).unwrap();
    assert_eq!(json["data"]["ranks"][0]["overlap_ns"], 10_000);
}

#[test]
fn an_input_is_never_written_over() {
    let folder = folder();
    let before = folder.read("rank0.json");
    let ran = folder.run(&["overlap", "@rank0.json", "-o", "@rank0.json"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("would write over an input"), "{}", ran.err);
    assert_eq!(folder.read("rank0.json"), before);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let ran = folder().run(&["overlap", "@rank0.json", "-o", "@no/such/folder/a.csv"]);
    assert_eq!(ran.exit, 2);
    assert!(
        ran.err.starts_with("error: -o no/such/folder/a.csv: there is no folder no/such/folder"),
        "{}",
        ran.err
    );
    let ran = folder().run(&["overlap", "@rank0.json", "-o", "@no/folder/"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("there is no folder no"), "{}", ran.err);
}

#[test]
fn an_answer_beside_the_traces_is_no_input_and_takes_none_of_their_places() {
    let folder = folder();
    folder.write("rank1.json", rank(1).to_json());
    let before = folder.read("rank1.json");
    let ran = folder.run(&["overlap", "@", "-o", "@rank1.json"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("would write over an input"), "{}", ran.err);
    assert_eq!(folder.read("rank1.json"), before);
    for _ in 0..2 {
        assert_eq!(folder.run(&["overlap", "@", "-o", "@answer.json"]).exit, 0);
        let ran = folder.run(&["overlap", "@", "--json"]);
        assert_eq!(ran.inputs(), ["rank0.json", "rank1.json"]);
        assert!(!ran.codes().contains(&"unreadable_input".to_owned()));
    }
}

#[test]
fn csv_is_the_first_table_or_the_named_one() {
    let folder = folder();
    let first = folder.run(&["kernels", "@rank0.json", "--csv"]).out;
    assert!(first.starts_with("kernel_type,sum_ns,pct\r\n"), "{first}");
    let named = folder.run(&["kernels", "@rank0.json", "--csv", "--table", "kernels"]).out;
    assert!(named.contains("\"gemm<128, 64>\""), "{named}");
    let ran = folder.run(&["kernels", "@rank0.json", "--csv", "--table", "nothing"]);
    insta::assert_snapshot!(ran.err);
}

#[test]
fn colours_only_on_a_terminal_or_on_request() {
    let folder = folder();
    let terminal = Terminal { color: true, ..Terminal::none() };
    let colored = |terminal, more: &[&str]| {
        let mut arguments = vec!["overlap", "@rank0.json"];
        arguments.extend(more);
        folder.run_on(terminal, &arguments).out.contains('\u{1b}')
    };
    assert!(!colored(Terminal::none(), &[]));
    assert!(colored(Terminal::none(), &["--color", "always"]));
    assert!(colored(terminal, &[]));
    assert!(!colored(terminal, &["--color", "never"]));
    assert!(!colored(terminal, &["--json"]) && !colored(terminal, &["--csv"]));
}

#[test]
fn no_color_is_honoured() {
    let folder = folder();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gpuscope"))
        .args(["overlap", "rank0.json"])
        .current_dir(folder.root())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(!out.contains('\u{1b}') && out.lines().all(|line| line.chars().count() <= 60), "{out}");
}

#[test]
fn tables_fit_narrow_terminals() {
    let folder = folder();
    for width in [60, 80, 200] {
        let terminal = Terminal { width, ..Terminal::none() };
        for command in ["breakdown", "overlap", "kernels", "temporal", "check", "info"] {
            let out = folder.run_on(terminal, &[command, "@rank0.json"]).out;
            assert!(out.lines().all(|line| line.chars().count() <= width), "{command} at {width}:\n{out}");
        }
    }
}

#[test]
fn pages_of_answers_that_can_be_drawn_have_their_charts() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let page = |command: &[&str]| {
        let ran = folder.run(&[command, &["@rank0.json", "-o", "@x.html"]].concat());
        assert_eq!(ran.exit, 0, "{command:?}: {}", ran.err);
        folder.read("x.html")
    };
    let kernels = page(&["kernels"]);
    assert!(
        kernels.contains("<figure data-figure=\"kernel_types\"")
            && kernels.contains("<figure data-figure=\"bottlenecks\"")
    );
    assert!(!page(&["kernels", "--table", "kernels"]).contains("<figure data-figure"));
    // The chart shows the course over time; its points are listed only for who asks.
    let (drawn, listed) = (page(&["queue"]), page(&["queue", "--series"]));
    assert!(
        drawn.contains("<figure data-figure=\"queue\"") && !drawn.contains("<table data-name=\"series\"")
    );
    assert!(
        listed.contains("<figure data-figure=\"queue\"") && listed.contains("<table data-name=\"series\"")
    );
}

#[test]
fn answers_that_can_be_drawn_are_pictures_too() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    assert_eq!(folder.run(&["breakdown", "@rank0.json", "-o", "@x.svg"]).exit, 0);
    assert!(folder.read("x.svg").contains("Where did GPU time go?"));
    assert_eq!(folder.run(&["breakdown", "@rank0.json", "-o", "@x.png"]).exit, 0);
    assert!(std::fs::read(folder.path("x.png")).unwrap().starts_with(b"\x89PNG"));
    let refused = folder.run(&["info", "@rank0.json", "-o", "@x.png"]);
    assert_eq!(refused.exit, 2);
    assert!(refused.err.contains("gpuscope plot --list"), "{}", refused.err);
}
