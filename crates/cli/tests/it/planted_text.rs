//! Script, quotes and control characters planted in every string of a trace and in its file's name: every answer in every
//! form shows them as text, and every file is what its ending says.

use gpuscope_testkit::{Compression, Plan, write_job};
use serde_json::Value;

use crate::bench::measured;
use crate::support::Folder;

/// What ends a string, a tag, a comment and a script in some language, and what no XML can hold.
const EVIL: &str = "\u{1b}[31m\u{9b}2J\u{7}\u{0}\u{b}\u{202e}\r\n</script><script>alert(1)</script><img src=x onerror=alert(1)>\
                    \"'`${alert(1)}]]>-->|=\u{fffe}\u{ffff}";
const NAME: &str = "rank0\u{1b}[31m\u{9b}\u{7}<img src=x onerror=alert(1)>\"'&.json";

/// All that answers from one trace without being told more.
fn questions() -> Vec<String> {
    let takes = |command: &clap::Command, id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    let all = gpuscope_cli::command();
    let answers = all.get_subcommands().filter(|command| takes(command, "traces") && takes(command, "csv"));
    let names = answers.map(|command| command.get_name().to_owned());
    // These compare two runs, want a change, or read other files.
    names.filter(|name| !["diff", "whatif", "compile"].contains(&name.as_str())).collect()
}

/// Behind every text but those by which events are recognised.
fn plant(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(EVIL),
        Value::Array(values) => values.iter_mut().for_each(plant),
        Value::Object(members) => {
            let is_step = |text: &Value| text.as_str().is_some_and(|text| text.starts_with("ProfilerStep"));
            let is_step = members.get("name").is_some_and(is_step);
            for (key, value) in members.iter_mut() {
                let is_name_of_metadata =
                    key == "name" && (is_step || value.as_str().is_some_and(is_metadata));
                if !is_name_of_metadata && !matches!(key.as_str(), "ph" | "cat") {
                    plant(value);
                }
            }
        }
        _ => {}
    }
}

fn is_metadata(name: &str) -> bool {
    matches!(
        name,
        "process_name" | "process_labels" | "process_sort_index" | "thread_name" | "thread_sort_index"
    )
}

fn folder() -> Folder {
    let folder = Folder::new();
    write_job(&Plan::small().with_events(1500), &folder.path("plain"), Compression::None).unwrap();
    let mut trace: Value = serde_json::from_str(&folder.read("plain/rank-0.json")).unwrap();
    plant(&mut trace);
    folder.write(&format!("in/{NAME}"), trace.to_string());
    folder
}

/// Only what a text needs: nothing that steers a terminal.
fn has_control(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// Fails unless a file is what its ending says, and nothing that was planted has become more than text.
fn check(folder: &Folder, name: &str, about: &str) {
    let bytes = std::fs::read(folder.path(name)).unwrap();
    let ending = name.rsplit('.').next().unwrap();
    match ending {
        "json" => {
            let read = serde_json::from_slice::<Value>(&bytes);
            assert!(read.is_ok(), "{about}: {read:?}");
        }
        "xlsx" => workbook(&bytes, about),
        "pdf" => assert!(bytes.starts_with(b"%PDF"), "{about}"),
        "png" => assert!(bytes.starts_with(b"\x89PNG"), "{about}"),
        "parquet" => assert!(bytes.starts_with(b"PAR1"), "{about}"),
        _ => {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!has_control(&text), "{about}: {:?}", text.chars().find(|c| has_control(&c.to_string())));
            match ending {
                "svg" | "xml" => xml(&text, about),
                "html" => {
                    assert!(!text.contains("<img src=x"), "{about}");
                    assert!(!text.contains("<script>alert"), "{about}");
                }
                "md" => assert!(!text.contains("<img") && !text.contains("<script"), "{about}"),
                _ => {}
            }
        }
    }
}

fn xml(text: &str, about: &str) {
    let read = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{about}: {error}"));
    let harm = |node: &roxmltree::Node<'_, '_>| matches!(node.tag_name().name(), "script" | "img");
    assert!(!read.descendants().any(|node| harm(&node)), "{about}");
}

fn workbook(bytes: &[u8], about: &str) {
    let mut parts = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    for part in 0..parts.len() {
        let mut text = String::new();
        let mut part = parts.by_index(part).unwrap();
        let name = format!("{about}: {:?}", part.name());
        std::io::Read::read_to_string(&mut part, &mut text).unwrap();
        xml(&text, &name);
    }
}

#[test]
fn every_answer_in_every_form_shows_what_was_planted_as_text() {
    let folder = folder();
    let input = format!("@in/{NAME}");
    let questions = questions();
    assert!(questions.len() > 25, "{questions:?}");
    for question in questions.iter().map(String::as_str) {
        // Unless told where, its report goes to the current folder.
        let report: &[&str] = if question == "analyze" { &["-o", "@report.html"] } else { &[] };
        let ran = folder.run(&[&[question, &*input, "--color", "never"][..], report].concat());
        assert!(ran.exit < 2, "{question}: {}", ran.err);
        assert!(!has_control(&ran.out) && !has_control(&ran.err), "{question}: {:?}", ran.out);
        for ending in ["json", "csv", "xlsx", "html", "md", "parquet"] {
            let name = format!("{question}.{ending}");
            let ran = folder.run(&[question, &input, "-o", &format!("@{name}")]);
            assert!(ran.exit < 2 && !has_control(&ran.err), "{question} {ending}: {}", ran.err);
            check(&folder, &name, &name);
        }
    }
}

#[test]
fn pictures_and_files_for_other_tools_hold_it_as_text() {
    let folder = folder();
    let input = format!("@in/{NAME}");
    let mut lines: Vec<(Vec<&str>, &str)> = vec![
        (vec!["flame"], "f.svg"),
        (vec!["flame", "--stacks", "operators", "--by", "host"], "h.svg"),
        (vec!["flame"], "f.png"),
        (vec!["flame"], "f.pdf"),
        (vec!["flame"], "f.collapsed"),
        (vec!["flame"], "f.speedscope.json"),
        (vec!["stacks", "--all"], "s.collapsed"),
        (vec!["stacks", "--all"], "s.speedscope.json"),
        (vec!["kernels"], "k.svg"),
        (vec!["kernels"], "k.pdf"),
        (vec!["analyze"], "a.pdf"),
        (vec!["convert"], "c.json"),
        (vec!["convert", "--anonymize"], "d.json"),
        (vec!["critical-path"], "p.trace.json"),
    ];
    let charts = folder.run(&["plot", "--list"]).out;
    let charts: Vec<&str> = charts.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for chart in &charts {
        for ending in ["p.svg", "p.html"] {
            lines.push((vec!["plot", chart], ending));
        }
    }
    let mut drawn = 0;
    for (words, name) in lines {
        let at = format!("@{name}");
        let ran = folder.run(&[&words[..], &[&input, "-o", &at]].concat());
        assert!(!has_control(&ran.err), "{words:?}: {:?}", ran.err);
        // Some charts have nothing to draw here, and some compare two runs.
        if ran.exit == 0 {
            check(&folder, name, &format!("{words:?} {name}"));
            drawn += 1;
        } else {
            assert!(words[0] == "plot", "{words:?}: {}", ran.err);
        }
    }
    assert!(drawn > 40, "{drawn}");
}

#[test]
fn measured_runs_and_their_history_show_it_as_text() {
    let folder = Folder::new();
    let db = ["--db", "@h\u{1b}[31m\u{9b}<img src=x>.db", "--project", "p"];
    for nth in 0..8 {
        let mut data: Value = serde_json::from_str(&measured(&format!("r{nth}"), nth, 1.3)).unwrap();
        data["benchmarks"][format!("b{EVIL}")] = data["benchmarks"]["gpt_nano"].clone();
        data["metadata"]["gpu_name"] = format!("GPU{EVIL}").into();
        data["metadata"]["note"] = EVIL.into();
        let name = format!("@{nth}\u{1b}[31m<img src=x>.json");
        folder.write(&name[1..], data.to_string());
        let ran = folder.run(
            &[&["history", "add", &name, "--label", &format!("l{}", EVIL.replace('\0', ""))], &db[..]]
                .concat(),
        );
        assert!(ran.exit == 0 && !has_control(&ran.out), "{:?} {}", ran.out, ran.err);
    }
    let commands: [&[&str]; 6] = [
        &["history", "list"],
        &["history", "show", "1"],
        &["history", "trend"],
        &["bench", "gate"],
        &["bench", "report", "@0\u{1b}[31m<img src=x>.json"],
        &["bench", "compare", "@0\u{1b}[31m<img src=x>.json", "@1\u{1b}[31m<img src=x>.json"],
    ];
    for command in commands {
        let is_about_files = matches!(command[1], "report" | "compare");
        let is_one = command[1] == "show";
        let db = if is_about_files {
            &[][..]
        } else if is_one {
            &db[..2]
        } else {
            &db[..]
        };
        for ending in ["", "json", "csv", "xlsx", "html", "md"] {
            let (name, at) = (format!("a.{ending}"), format!("@a.{ending}"));
            let output: &[&str] = if ending.is_empty() { &["--color", "never"] } else { &["-o", &at] };
            let ran = folder.run(&[command, db, output].concat());
            assert!(
                ran.exit < 2 && !has_control(&ran.out),
                "{command:?} {ending}: {:?} {}",
                ran.out,
                ran.err
            );
            if !ending.is_empty() {
                check(&folder, &name, &format!("{command:?} {name}"));
            }
        }
    }
    let ran = folder.run(&[&["bench", "gate", "--markdown", "@g.md", "--junit", "@g.xml"], &db[..]].concat());
    assert!(ran.exit < 2, "{}", ran.err);
    check(&folder, "g.md", "gate");
    check(&folder, "g.xml", "gate");
}
