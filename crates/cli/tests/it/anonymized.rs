//! Traces without names answer every question with the same numbers.

use gpuscope_testkit::{Compression, Plan, write_job};
use serde_json::Value;

use crate::columns::commands;
use crate::convert::numbers;
use crate::corpus::corpus;
use crate::support::Folder;

/// Larger ones would take minutes, and say the same.
const LARGEST: u64 = 100_000;

/// Commands that are asked about something other than traces, or about two.
const OTHERS: [&str; 4] = ["bench ", "history ", "compile", "diff"];

fn asked<'a>(command: &'a str, traces: &'a str) -> Vec<&'a str> {
    let more: &[&str] = match command {
        "whatif" => &["--no-launch-overhead"],
        "throughput" => &["--tokens-per-step", "1"],
        _ => &[],
    };
    [&[command, traces, "--json"], more].concat()
}

fn assert_same_answers(folder: &Folder, before: &str, after: &str) {
    let converted = folder.run(&["convert", before, "-o", after, "--anonymize"]);
    assert_eq!(converted.exit, 0, "{before}: {}", converted.err);
    for command in commands().iter().filter(|command| !OTHERS.iter().any(|other| command.starts_with(other)))
    {
        let [a, b] = [before, after].map(|traces| folder.run(&asked(command, traces)));
        assert_eq!(a.exit, b.exit, "{command} {before}: {} {}", a.err, b.err);
        let data =
            |out: &str| serde_json::from_str::<Value>(out).map(|mut json| numbers(&json["data"].take()));
        if a.exit < 2 {
            assert_eq!(data(&a.out).ok(), data(&b.out).ok(), "{command} {before}");
        }
    }
}

#[test]
fn a_job_answers_the_same_without_its_names() {
    let folder = Folder::new();
    let plan = Plan::small().ranks(4).layers(2).pipeline(2, 3).with_straggler(1, 130).with_sync_rows();
    write_job(&plan, &folder.path("job"), Compression::Gzip).expect("a job");
    assert_same_answers(&folder, "@job", "@without/");
}

#[test]
fn real_traces_answer_the_same_without_their_names() {
    let Some(corpus) = corpus() else { return };
    let folder = Folder::new();
    let entries = std::fs::read_dir(corpus.join("traces")).expect("traces");
    for (i, entry) in entries.enumerate() {
        let path = entry.expect("an entry").path();
        let shown = path.to_string_lossy().into_owned();
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.is_dir() || file.len() < LARGEST);
        // What breaks off does not in a copy; a memory timeline has no events to copy; the capture of graphs that
        // lies beside a run is no rank, and not copied with it.
        let others = ["truncated", "memory_timeline", "not_a_trace", "vllm_decode_full"];
        let is_other = others.iter().any(|word| shown.contains(word));
        if is_small && !is_other && path.extension().is_none_or(|end| end != "md") {
            let after = if path.is_dir() { format!("@{i}/") } else { format!("@{i}.json.gz") };
            assert_same_answers(&folder, &shown, &after);
        }
    }
}
