//! Traces written anew, and read again: the answers stay what they were.

use std::path::Path;

use gpuscope_testkit::text::trace;
use gpuscope_testkit::{Compression, Plan, write_job};
use serde_json::Value;

use crate::support::{Folder, gzip, rank};

const QUESTIONS: [&str; 9] =
    ["breakdown", "temporal", "kernels", "overlap", "idle", "launches", "queue", "bandwidth", "annotations"];

fn data(folder: &Folder, command: &str, trace: &str, more: &[&str]) -> Value {
    let mut arguments = vec![command, trace, "--json"];
    arguments.extend(more);
    folder.run(&arguments).json()["data"].take()
}

/// The numbers of an answer: names are blanked, and rows sorted, as those of equal time come by name.
pub(crate) fn numbers(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from("…"),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(numbers).collect();
            items.sort_by_cached_key(Value::to_string);
            Value::Array(items)
        }
        // Their keys are names.
        Value::Object(members) if members.values().all(Value::is_string) => Value::from(members.len()),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), numbers(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn assert_same_numbers(folder: &Folder, a: &str, b: &str) {
    for command in QUESTIONS.into_iter().chain(["check", "info"]) {
        let (before, after) = (data(folder, command, a, &[]), data(folder, command, b, &[]));
        assert_eq!(numbers(&before), numbers(&after), "{command} {a} {b}");
    }
}

fn job(folder: &Folder, plan: &Plan) {
    write_job(plan, &folder.path("job"), Compression::Gzip).expect("a job");
}

fn corpus() -> Vec<String> {
    let Some(corpus) = std::env::var_os("GPUSCOPE_CORPUS") else { return Vec::new() };
    let folder = std::fs::read_dir(Path::new(&corpus).join("traces")).expect("traces");
    let files = folder.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    files.map(|path| path.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_trace_in_another_compression_gives_the_same_answers() {
    let folder = Folder::new();
    job(&folder, &Plan::small().with_sync_rows());
    for out in ["@a.json", "@a.json.gz", "@a.json.zst"] {
        let ran = folder.run(&["convert", "@job/rank-0.json.gz", "-o", out]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        for command in QUESTIONS {
            assert_eq!(data(&folder, command, "@job/rank-0.json.gz", &[]), data(&folder, command, out, &[]));
        }
    }
    let mut text = Vec::new();
    gpuscope_testkit::write_rank(&Plan::small().with_sync_rows(), 0, &mut text).unwrap();
    assert!(folder.read("a.json").as_bytes() == text, "not the text it was");
    let ran = folder.run(&["convert", "@a.json.zst", "-o", "-"]);
    assert!(ran.out.as_bytes() == text, "not the text it was");
}

#[test]
fn real_traces_give_the_same_answers_anonymised() {
    let folder = Folder::new();
    for path in corpus() {
        // A memory timeline is read, but has no events to copy.
        let asked = folder.run(&["info", &path, "--json"]);
        if asked.exit != 0 || asked.json()["inputs"][0]["format"] == "memory_timeline" {
            assert_ne!(folder.run(&["convert", &path, "-o", "@b.json"]).exit, 0, "{path}");
            continue;
        }
        let ran = folder.run(&["convert", &path, "-o", "@rank0.json.gz", "--anonymize"]);
        assert_eq!(ran.exit, 0, "{path}: {}", ran.err);
        // A copy of what breaks off does not.
        if !folder.run(&["check", &path, "--json"]).codes().contains(&"truncated".to_owned()) {
            assert_same_numbers(&folder, &path, "@rank0.json.gz");
        }
    }
}

#[test]
fn a_cut_holds_what_the_selection_selects() {
    let folder = Folder::new();
    job(&folder, &Plan::small().with_sync_rows());
    let input = "@job/rank-1.json.gz";
    for flags in [
        &["--step", "11"][..],
        &["--step", "10..11"],
        &["--from", "20ms", "--to", "60ms"],
        &["--stream", "7"],
        &["--drop-last-step"],
        &["--device", "0"],
    ] {
        let mut arguments = vec!["convert", input, "-o", "@cut.json", "--json"];
        arguments.extend(flags);
        let ran = folder.run(&arguments).json();
        let file = &ran["data"]["files"][0];
        assert!(file["events_kept"].as_u64() < file["events_read"].as_u64(), "{flags:?}: {file}");
        assert!(serde_json::from_str::<Value>(&folder.read("cut.json")).is_ok(), "{flags:?}");
        for command in ["temporal", "kernels", "overlap", "bandwidth", "annotations"] {
            assert_eq!(
                data(&folder, command, input, flags),
                data(&folder, command, "@cut.json", &[]),
                "{command} {flags:?}"
            );
        }
    }
    // Nothing that launched, and nothing that was launched, is missing in a step.
    let cut = folder.run(&["convert", input, "-o", "@cut.json", "--step", "11"]);
    assert_eq!(cut.exit, 0);
    for command in ["idle", "launches", "queue"] {
        assert_eq!(
            data(&folder, command, input, &["--step", "11"]),
            data(&folder, command, "@cut.json", &[])
        );
    }
}

#[test]
fn arrows_of_a_cut_have_both_ends() {
    let folder = Folder::new();
    job(&folder, &Plan::small());
    folder.run(&["convert", "@job/rank-0.json.gz", "-o", "@cut.json", "--from", "20ms", "--to", "60ms"]);
    let json: Value = serde_json::from_str(&folder.read("cut.json")).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let mut arrows: std::collections::BTreeMap<String, Vec<&str>> = std::collections::BTreeMap::new();
    for event in events.iter().filter(|event| ["s", "f"].contains(&event["ph"].as_str().unwrap_or_default()))
    {
        let key = format!("{} {}", event["cat"], event["id"]);
        arrows.entry(key).or_default().push(event["ph"].as_str().unwrap());
    }
    assert!(arrows.len() > 20, "{}", arrows.len());
    for (key, mut ends) in arrows {
        ends.sort_unstable();
        assert_eq!(ends, ["f", "s"], "{key}");
    }
    assert!(events.iter().any(|event| event["ph"] == "M"));
}

#[test]
fn counters_are_those_of_the_questions() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let ran =
        folder.run(&["convert", "@rank0.json", "-o", "@out.json", "--add", "queue,bandwidth", "--json"]);
    let json: Value = serde_json::from_str(&folder.read("out.json")).unwrap();
    let counters: Vec<String> = json["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "C")
        .map(|event| {
            format!("{} {} {} {} {}", event["name"], event["pid"], event["id"], event["ts"], event["args"])
        })
        .collect();
    assert_eq!(ran.json()["data"]["files"][0]["events_added"], counters.len());
    insta::assert_snapshot!("convert_counters", counters.join("\n"));
    for command in QUESTIONS {
        assert_eq!(data(&folder, command, "@rank0.json", &[]), data(&folder, command, "@out.json", &[]));
    }
    let real = folder.run(&["convert", "@out.json", "-o", "@again.json", "--add", "bandwidth"]);
    assert_eq!(real.exit, 0, "{}", real.err);
}

/// Every place in a trace where somebody's name may stand, with a name in it.
fn telling() -> String {
    let text = trace()
        .rank(0, 2)
        .step(1, 0..100_000)
        .annotation("sesame phase", 100..90_000)
        .annotation("Optimizer.step#SesameOptimizer.step", 90_000..95_000)
        .annotation("sesame_compile", 96_000..97_000)
        .python("/data/sesame/train.py(12): sesame_step", 200..80_000, 1, None)
        .python("nn.Module: SesameNet_0", 300..70_000, 2, Some(1))
        .python("sesameDataLoader.py(3): sesame", 71_000..72_000, 3, Some(1))
        .cpu_op("load /data/sesame/weights.bin", 400..500)
        .cpu_op("aten::mm", 500..5_000)
        .raw_arg("Call stack", "\"sesame.py(1): sesame;torch/x.py(2): y\"")
        .raw_arg("Module Hierarchy", "\"TOP(SesameNet)::sesame\"")
        .raw_arg("kernel_file", "\"/tmp/torchinductor_sesame/abc.py\"")
        .raw_arg("note", "\"by sesame, for sesame\"")
        .raw_arg("deep", "{\"list\": [\"sesame\", {\"k\": \"sesame@sesame.org\"}]}")
        .raw_arg("Concrete Inputs", "[\"\", \"sesame\", \"[1, 2]\"]")
        .kernel("gemm", 10_000..40_000)
        .launched_at(1_000..2_000)
        .kernel("ncclDevKernel_AllReduce", 50_000..60_000)
        .raw_arg("Process Group Description", "\"sesame_tp\"")
        .launched_at(41_000..42_000)
        .raw(r#"{"ph": "M", "name": "process_name", "pid": 1000, "tid": 0, "args": {"name": "python sesame.py"}}"#)
        .raw(r#"{"ph": "M", "name": "thread_name", "pid": 1000, "tid": 1, "args": {"name": "thread 1 (sesame)"}}"#)
        .raw(r#"{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": "sesame", "tid": "sesame 2", "ts": 1, "dur": 2}"#)
        .raw(r#""a word of sesame""#)
        .top_level("host_name", "\"sesame-laptop\"")
        .top_level("traceName", "\"/data/sesame/run.json\"")
        .top_level("PT_PROFILER_USER", "\"sesame\"")
        .top_level("INFO", "[\"sesame.cpp:1] Dropped 7 records of sesame\"]")
        .to_json();
    text.replace("sesame", "sesame\\u0061").replacen("sesame\\u0061", "sesame", 9)
}

#[test]
fn no_name_survives_and_no_number_changes() {
    let folder = Folder::new();
    let text = telling();
    assert!(text.to_lowercase().matches("sesame").count() > 30, "{text}");
    folder.write("rank0.json", &text);
    let ran = folder.run(&["convert", "@rank0.json", "-o", "@out/rank0.json", "--anonymize"]);
    assert_eq!(ran.exit, 2, "{}", ran.out);
    std::fs::create_dir(folder.path("out")).unwrap();
    let ran = folder.run(&["convert", "@rank0.json", "-o", "@out/rank0.json", "--anonymize"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let out = folder.read("out/rank0.json");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    // Escapes cannot hide a name either.
    assert!(!json.to_string().to_lowercase().contains("sesame"), "{out}");
    assert!(!out.contains("torchinductor") && !out.contains("/data"), "{out}");
    assert!(out.contains("aten::mm") && out.contains("ProfilerStep#1") && out.contains("torch/x.py(2): y"));
    assert_same_numbers(&folder, "@rank0.json", "@out/rank0.json");
}

#[test]
fn a_job_is_anonymised_alike_in_every_rank() {
    let folder = Folder::new();
    job(&folder, &Plan::small());
    let ran = folder.run(&["convert", "@job", "-o", "@shared/", "--anonymize"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    assert_same_numbers(&folder, "@job", "@shared");
    let kernels = |path: &str| data(&folder, "kernels", path, &[]);
    assert_eq!(kernels("@job"), kernels("@shared"));
    // What was the same name in two ranks is the same name still.
    let distinct = |path: &str| {
        let rows = data(&folder, "annotations", path, &[]);
        let names: std::collections::BTreeSet<String> =
            rows["rows"].as_array().unwrap().iter().map(|row| row["name"].to_string()).collect();
        names.len()
    };
    assert_eq!(distinct("@job"), distinct("@shared"));
}

#[test]
fn several_ranks_need_a_folder() {
    let folder = Folder::new();
    folder.write("job/rank0.json", rank(0).to_json()).write("job/rank1.json.gz", gzip(&rank(1).to_json()));
    let ran = folder.run(&["convert", "@job", "-o", "@one.json"]);
    assert_eq!(ran.exit, 2);
    assert!(
        ran.err.contains("2 ranks do not fit in one file") && ran.err.contains("-o converted/"),
        "{}",
        ran.err
    );
    assert!(!folder.path("one.json").exists());
    let ran = folder.run(&["convert", "@job", "-o", "@out/"]);
    let words: Vec<&str> = ran.out.lines().nth(5).unwrap().split_whitespace().collect();
    assert_eq!(words[..5], ["0", "out/rank-0.json.gz", "10", "10", "0"], "{}", ran.out);
    assert_eq!(folder.run(&["temporal", "@out", "--json"]).inputs(), ["rank-0.json.gz", "rank-1.json.gz"]);
    let ran = folder.run(&["convert", "@job", "-o", "@one.json", "--rank", "1", "--json"]);
    assert_eq!(ran.json()["data"]["files"][0]["rank"], 1);
}

#[test]
fn one_rank_of_a_merged_file() {
    let folder = Folder::new();
    let event = |pid: u32, n: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "k{n}", "pid": {pid}, "tid": 7, "ts": {n}, "dur": 1, "args": {{"stream": 7}}}}"#
        )
    };
    let label = |pid: u32, rank: u32| {
        format!(r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "args": {{"name": "rank {rank}"}}}}"#)
    };
    let events = [event(10, 1), event(20, 2), event(10, 3), event(20, 4), label(10, 0), label(20, 1)];
    folder.write("merged.json", format!("[{}]", events.join(",\n")));
    let ran = folder.run(&["convert", "@merged.json", "-o", "@one.json", "--rank", "1", "--anonymize"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let text = folder.read("one.json");
    assert!(
        text.contains("k2") && text.contains("k4") && !text.contains("k1") && !text.contains("k3"),
        "{text}"
    );
    let ran = folder.run(&["convert", "@merged.json", "-o", "@both/", "--add", "queue"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(folder.run(&["temporal", "@both", "--json"]).ranks(), [0, 1]);
}

#[test]
fn inputs_are_spared_and_failures_leave_nothing_behind() {
    let folder = Folder::new();
    folder.write("job/rank0.json", rank(0).to_json()).write("no.json", "{\"hello\": 1}");
    let refused = [
        (&["convert", "@job/rank0.json", "-o", "@job/rank0.json"][..], 2, "would write over an input"),
        (&["convert", "@job", "-o", "@job/"], 2, "the inputs are in this folder"),
        (&["convert", "@job", "-o", "@out.html"], 2, "use .json, .json.gz or .json.zst"),
        (&["convert", "@job", "-o", "@nowhere/out.json"], 2, "there is no folder"),
        (&["convert", "@no.json", "-o", "@out.json"], 3, "expected a `traceEvents` array"),
        (&["convert", "@job", "-o", "@out.json", "--add", "nothing"], 2, "queue, bandwidth"),
    ];
    for (arguments, exit, said) in refused {
        let ran = folder.run(arguments);
        assert_eq!(ran.exit, exit, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
    let mut left: Vec<String> = std::fs::read_dir(folder.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["job", "no.json"]);
}

#[test]
fn a_file_that_breaks_off_is_closed_and_said() {
    let folder = Folder::new();
    let text = rank(0).to_json();
    folder.write("cut.json", &text[..text.len() * 2 / 3]);
    for more in [&[][..], &["--add", "queue"]] {
        let mut arguments = vec!["convert", "@cut.json", "-o", "@out.json", "--json"];
        arguments.extend(more);
        assert!(folder.run(&arguments).codes().contains(&"truncated".to_owned()));
        assert!(serde_json::from_str::<Value>(&folder.read("out.json")).is_ok());
        assert!(!folder.run(&["check", "@out.json", "--json"]).codes().contains(&"truncated".to_owned()));
    }
}
