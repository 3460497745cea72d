//! What goes wrong is said with the file, the place and the way out, and told to scripts by the exit code.

use crate::support::{Folder, rank};

#[test]
fn a_missing_file() {
    let ran = Folder::new().run(&["breakdown", "@nothing.json"]);
    assert_eq!((ran.exit, ran.out.as_str()), (3, ""));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn not_a_trace() {
    let folder = Folder::new();
    folder.write("a.json", "{\"hello\": [1, 2, 3]}");
    let ran = folder.run(&["breakdown", "@a.json"]);
    assert_eq!((ran.exit, ran.out.as_str()), (3, ""));
    assert!(ran.err.starts_with("error: a.json: at byte "), "{}", ran.err);
    assert!(ran.err.contains("\n\nhint: "), "{}", ran.err);
}

#[test]
fn an_empty_file_and_bytes_of_something_else() {
    let folder = Folder::new();
    folder.write("empty.json", "").write("noise.json", b"\x7fELF\x00\x01\x02");
    folder.write("cut.json.gz", b"\x1f\x8b\x08\x00\x00");
    for name in ["empty.json", "noise.json", "cut.json.gz"] {
        let ran = folder.run(&["info", &format!("@{name}")]);
        assert_eq!(ran.exit, 3, "{name}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("error: {name}: ")), "{}", ran.err);
    }
}

#[test]
fn a_folder_without_traces() {
    let folder = Folder::new();
    folder.write("job/notes.txt", "hello");
    let ran = folder.run(&["info", "@job"]);
    assert_eq!(ran.exit, 3);
    insta::assert_snapshot!(ran.err);
    assert!(folder.run(&["info", "@job/*.json"]).err.contains("job/*.json: no file matches"));
}

#[test]
fn one_bad_input_among_good_ones_is_answered_and_said() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", "{}");
    for inputs in [&["@rank0.json", "@rank1.json"][..], &["@"][..], &["@rank0.json", "@missing.json"][..]] {
        let mut arguments = vec!["temporal", "--json"];
        arguments.extend(inputs);
        let ran = folder.run(&arguments);
        assert_eq!(ran.ranks(), [0]);
        assert_eq!(ran.codes()[0], "unreadable_input");
        assert_eq!(ran.json()["quality"][0]["severity"], "error");
    }
    let table = folder.run(&["temporal", "@"]);
    assert_eq!(table.exit, 0);
    assert!(table.out.contains("error: rank1.json: at byte"), "{}", table.out);
    assert_eq!(folder.run(&["check", "@"]).exit, 1);
    assert_eq!(folder.run(&["check", "@rank0.json"]).exit, 0);
}

#[test]
fn all_unreadable_inputs_are_named() {
    let folder = Folder::new();
    folder.write("b.json", "{}");
    let ran = folder.run(&["temporal", "@missing.json", "@b.json"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.contains("error: missing.json") && ran.err.contains("error: b.json"), "{}", ran.err);
}

#[test]
fn two_files_of_one_rank_are_both_answered() {
    let folder = Folder::new();
    folder.write("a.json", rank(1).to_json()).write("b.json", rank(1).to_json());
    let ran = folder.run(&["temporal", "@a.json", "@b.json", "--json"]);
    assert_eq!(ran.ranks(), [1, 1]);
    assert!(ran.codes().contains(&"duplicate_rank".to_owned()));
}

#[test]
fn ranks_that_are_not_there_are_counted() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", rank(1).to_json());
    let one = folder.run(&["temporal", "@rank0.json", "--json"]);
    assert!(one.codes().contains(&"missing_ranks".to_owned()));
    assert!(!folder.run(&["temporal", "@", "--json"]).codes().contains(&"missing_ranks".to_owned()));
    assert!(
        !folder
            .run(&["temporal", "@", "--rank", "0", "--json"])
            .codes()
            .contains(&"missing_ranks".to_owned())
    );
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    for arguments in [
        &["breakdown", "--no-such-flag", "@rank0.json"][..],
        &["no-such-command"],
        &[],
        &["temporal"],
        &["temporal", "@rank0.json", "--json", "--csv"],
        &["temporal", "@rank0.json", "--step", "9..7"],
        &["temporal", "@rank0.json", "--rank", "9"],
        &["temporal", "@rank0.json", "--rank-regex", "("],
        &["breakdown", "@rank0.json", "--step-marker", "("],
        &["temporal", "@rank0.json", "--memory", "lots"],
        &["temporal", "@rank0.json", "-o", "@a.xyz"],
        &["temporal", "@rank0.json", "--csv", "--table", "nothing"],
        &["temporal", "@rank0.json", "--json", "--table", "ranks"],
        &["temporal", "@rank0.json", "--select-capture", "9"],
        &["kernels", "@rank0.json", "--duration-ratio", "2"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with("error: ") || ran.err.contains("Usage"), "{}", ran.err);
    }
    insta::assert_snapshot!(folder.run(&["temporal", "@rank0.json", "--rank", "9"]).err);
}

#[test]
fn rules_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rules.toml", "[[rule]]\nkind = \"magic\"");
    let ran = folder.run(&["kernels", "@rank0.json", "--classify", "@rules.toml"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.starts_with("error: rules.toml: "), "{}", ran.err);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let path = folder.path("rank0.json").to_string_lossy().into_owned();
    for more in [&[][..], &["--json"], &["--csv"]] {
        let mut err = Vec::new();
        let arguments = ["gpuscope", "info", &path].into_iter().chain(more.iter().copied());
        let exit = gpuscope_cli::run(arguments, &mut Closed, &mut err, gpuscope_cli::Terminal::none());
        assert_eq!((exit.0, err.len()), (0, 0));
    }
}

#[test]
fn a_rank_that_is_not_there_cannot_be_as_the_median() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", rank(1).to_json());
    let ran = folder.run(&["whatif", "@", "--rank-as-median", "77"]);
    assert_eq!((ran.exit, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--rank-as-median 77: the ranks here are 0, 1"), "{}", ran.err);
    assert_eq!(folder.run(&["whatif", "@rank0.json", "--rank-as-median", "0"]).exit, 2);
    assert_eq!(folder.run(&["whatif", "@", "--rank-as-median", "1"]).exit, 0);
}
