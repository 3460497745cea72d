//! Runs that are open, asked by programs: within reach of strangers, and by the catalogue's words.

use std::collections::BTreeSet;

use gpuscope_cli::catalog;
use gpuscope_cli::session::{self, Asking, OpenRun, Reach, Refusal, Wanted};
use gpuscope_server::catalog::Kind;
use serde_json::{Map, Value, json};

use crate::support::{Folder, rank};

fn open() -> (Folder, OpenRun) {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("other.json", rank(1).to_json());
    let run = OpenRun::open(&[folder.path("rank0.json").display().to_string()], &[]).unwrap();
    (folder, run.renamed("mine"))
}

fn as_stranger(run: &OpenRun, words: &[&str]) -> Result<session::Answered, Refusal> {
    let asking = Asking { wanted: Wanted::Json, reach: Reach::OpenRunsOnly, ..Asking::default() };
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    session::ask(&[run], &words, &asking)
}

#[test]
fn a_stranger_is_answered_what_the_shell_prints() {
    let (folder, run) = open();
    let answered = as_stranger(&run, &["kernels", "mine", "--num-kernels", "2"]).unwrap();
    let shell = folder.run(&["kernels", "@rank0.json", "--num-kernels", "2", "--json"]);
    let answer: Value = serde_json::from_slice(&answered.text).unwrap();
    assert_eq!(answer["data"], shell.json()["data"]);
    assert_eq!(answer["schema"], "gpuscope/1");
}

#[test]
fn a_stranger_reaches_no_file() {
    let (folder, run) = open();
    let path = |name: &str| folder.path(name).display().to_string();
    let (other, out) = (path("other.json"), path("out.json"));
    for words in [
        vec!["kernels", other.as_str()],
        vec!["kernels", "mine", other.as_str()],
        vec!["diff", "mine", other.as_str()],
        vec!["flame", "mine", "--against", other.as_str()],
        vec!["inference", "mine", "--capture", other.as_str()],
        vec!["kernels", "mine", "-o", out.as_str()],
        vec!["kernels", "mine", "--classify", other.as_str()],
        vec!["ops", "mine", "--models", other.as_str()],
        vec!["plot", "kernels", "mine", "-o", out.as_str()],
        vec!["convert", "mine", "-o", out.as_str()],
        vec!["compile", other.as_str()],
        vec!["history", "list", "--db", out.as_str()],
        vec!["bench", "report", other.as_str()],
        vec!["demo", "-o", out.as_str()],
        vec!["view", "mine"],
        vec!["serve"],
        vec!["mcp"],
        vec!["kernels", "-"],
    ] {
        let refusal = as_stranger(&run, &words).expect_err(&words.join(" "));
        assert_eq!(refusal.exit.0, 2, "{words:?}: {:?}", refusal.messages);
    }
    assert!(!folder.path("out.json").exists());
}

#[test]
fn pages_are_made_without_a_file_of_the_strangers() {
    let (_folder, run) = open();
    for question in ["kernels", "flame", "timeline", "analyze"] {
        let asking =
            Asking { wanted: Wanted::File(".html"), reach: Reach::OpenRunsOnly, ..Asking::default() };
        let answered = session::ask(&[&run], &[question.to_owned(), "--".into(), "mine".into()], &asking);
        let text = String::from_utf8(answered.unwrap().text).unwrap();
        assert!(text.starts_with("<!doctype html>"), "{question}");
    }
}

#[test]
fn every_question_of_the_catalogue_can_be_put() {
    let (_folder, run) = open();
    for question in catalog::questions() {
        let mut options = Map::new();
        if question.name == "plot" {
            options.insert("name".to_owned(), json!("kernels"));
        }
        let runs = vec!["mine"; question.runs];
        let words = catalog::words(&question, &runs, &options).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match as_stranger(&run, &words) {
            Ok(answered) => {
                let answer: Value = serde_json::from_slice(&answered.text).expect(&question.name);
                assert_eq!(answer["command"], question.name);
            }
            // A trace is no log of torch.compile, and a picture needs a file.
            Err(refusal) => {
                assert!(
                    ["compile", "plot"].contains(&question.name.as_str()),
                    "{}: {refusal:?}",
                    question.name
                );
            }
        }
    }
}

#[test]
fn options_are_typed_and_unknown_ones_refused_with_the_nearest() {
    let questions = catalog::questions();
    let kernels = questions.iter().find(|question| question.name == "kernels").unwrap();
    let kind = |name: &str| kernels.option(name).map(|option| option.kind);
    assert_eq!(kind("num_kernels"), Some(Kind::Integer));
    assert_eq!(kind("duration_ratio"), Some(Kind::Float));
    assert_eq!(kind("exclude_memory"), Some(Kind::Flag));
    assert_eq!(kind("step"), Some(Kind::Text));
    assert!(kernels.option("classify").unwrap().for_files && kernels.option("output").unwrap().for_files);
    let object = |value: Value| value.as_object().cloned().unwrap();
    let options = object(json!({"num_kernels": 3, "exclude_memory": true, "step": [1, 2], "rank": null}));
    assert_eq!(
        catalog::words(kernels, &["mine"], &options).unwrap(),
        ["kernels", "--exclude-memory", "--num-kernels=3", "--step=1..2", "--", "mine"]
    );
    let (_folder, run) = open();
    let refused = |value| {
        let words = catalog::words(kernels, &["mine"], &object(value));
        format!("{:?}", words.err())
    };
    assert!(refused(json!({"num_kernel": 3})).contains("is it num_kernels?"));
    assert!(refused(json!({"output": "x"})).contains("there is no option output"));
    assert!(as_stranger(&run, &["kernels", "--num-kernels=many", "--", "mine"]).is_err());
}

/// Lists that people read name every question.
#[test]
fn the_readme_names_every_question() {
    let readme = include_str!("../../../../README.md");
    let named: BTreeSet<&str> =
        readme.split("`gpuscope ").skip(1).filter_map(|rest| rest.split([' ', '`', ',']).next()).collect();
    for question in catalog::questions() {
        assert!(named.contains(question.name.as_str()), "README.md does not name {}", question.name);
    }
}

/// What `cargo xtask questions` measures is every question but those that are made of measured ones, and drawings.
#[test]
fn every_question_is_measured() {
    const MADE_OF_OTHERS: [&str; 14] = [
        "check",
        "compile",
        "flame",
        "inference",
        "layers",
        "phases",
        "plot",
        "profile",
        "stacks",
        "throughput",
        "timeline",
        "op-kernels",
        "temporal",
        "whatif",
    ];
    let measured = include_str!("../../../analysis/examples/cost.rs");
    for question in catalog::questions() {
        let name = question.name.as_str();
        let is_measured = measured.contains(&format!("(\"{name}\", "));
        assert!(
            is_measured || MADE_OF_OTHERS.contains(&name),
            "cargo xtask questions does not measure {name}"
        );
    }
}
