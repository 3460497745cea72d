//! Measured runs through the command line: dashboards, comparisons, the history and its gate.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// A run in the shape of `profiling_data.json`; samples lie evenly around the mean.
pub(crate) fn measured(run: &str, nth: u64, mean_ms: f64) -> String {
    let samples: Vec<f64> = (0..20).map(|i| mean_ms * (0.98 + 0.002 * f64::from(i))).collect();
    let benchmark = |scale: f64| {
        let samples: Vec<f64> = samples.iter().map(|sample| sample * scale).collect();
        let mean = samples.iter().sum::<f64>() / 20.0;
        json!({
            "config": {"n_layer": 3, "n_head": 3, "n_embd": 48},
            "timing": {"mean": mean, "std": 0.01, "min": samples[0], "max": samples[19], "median": mean,
                       "p95": samples[18], "p99": samples[19]},
            "throughput_tokens_per_sec": 256_000.0 / mean, "batch_size": 4, "seq_len": 64, "samples_ms": samples,
        })
    };
    let data = json!({
        "metadata": {"run_id": run, "timestamp": format!("2026-01-26T14:{:02}:{:02}", nth / 60, nth % 60),
                     "gpu_name": "NVIDIA GB10", "git_commit": format!("{nth:02}c0ffee")},
        "benchmarks": {"gpt_nano": benchmark(1.0), "gpt_tile_small": benchmark(1.2)},
    });
    data.to_string()
}

fn data(ran: &Ran) -> Value {
    ran.json()["data"].clone()
}

#[test]
fn a_dashboard_has_its_panel_charts_and_table() {
    let folder = Folder::new();
    folder.write("data.json", measured("r", 0, 1.32));
    let shown = folder.run(&["bench", "report", "@data.json"]);
    assert!(shown.out.contains("Fastest config"), "{}", shown.out);
    assert!(shown.out.contains("Best tile config  gpt_tile_small"), "{}", shown.out);
    assert!(shown.out.contains(" ± "));
    for (name, begins) in
        [("d.html", "<!doctype html"), ("d.svg", "<svg"), ("d.csv", "benchmark,"), ("d.md", "# gpuscope")]
    {
        assert_eq!(folder.run(&["bench", "report", "@data.json", "-o", &format!("@{name}")]).exit, 0);
        assert!(folder.read(name).starts_with(begins), "{name}");
    }
    for (name, begins) in [("d.png", &b"\x89PNG"[..]), ("d.pdf", b"%PDF"), ("d.xlsx", b"PK")] {
        assert_eq!(folder.run(&["bench", "report", "@data.json", "-o", &format!("@{name}")]).exit, 0);
        assert!(std::fs::read(folder.path(name)).unwrap().starts_with(begins), "{name}");
    }
    let page = folder.read("d.html");
    for said in [
        "NVIDIA GB10",
        "Fastest config",
        "data-figure=\"latency\"",
        "data-figure=\"throughput\"",
        "data-figure=\"percentiles\"",
        "data-figure=\"architecture\"",
        "data-figure=\"efficiency\"",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("Quality of the data"), "there are no traces to speak of");
}

#[test]
fn a_comparison_says_how_sure_it_is() {
    let folder = Folder::new();
    folder.write("before.json", measured("a", 0, 2.0));
    folder.write("after.json", measured("b", 1, 1.0));
    folder.write("again.json", measured("c", 2, 2.0));
    let faster = data(&folder.run(&["bench", "compare", "@before.json", "@after.json", "--json"]));
    assert_eq!(faster["rows"][1]["change"], "faster");
    assert!((faster["rows"][1]["speedup"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    let same = folder.run(&["bench", "compare", "@before.json", "@again.json"]);
    assert!(same.out.contains("No significant difference"), "{}", same.out);
    let alone = folder.run(&["bench", "compare", "@before.json"]);
    assert_eq!(alone.exit, 2);
    assert!(alone.err.contains("takes two runs or more"));
}

#[test]
fn what_is_no_measured_run_is_refused_with_a_way_out() {
    let folder = Folder::new();
    folder.write("broken.json", "{\"benchmarks\": {\"a\": {\"timing\": {}}}}");
    let refused = folder.run(&["bench", "report", "@broken.json"]);
    assert_eq!(refused.exit, 3);
    assert!(refused.err.contains("broken.json: expected measured benchmarks"), "{}", refused.err);
    assert!(refused.err.contains("hint:"));
    let missing = folder.run(&["bench", "report", "latest", "--db", "@none.db"]);
    assert_eq!(missing.exit, 2);
    assert!(missing.err.contains("is no history at"), "{}", missing.err);
    assert_eq!(folder.run(&["bench", "gate", "--db", "@none.db"]).exit, 2);
    assert!(!folder.path("none.db").exists(), "looking makes no file");
}

/// A history of so many runs of one level and so many of another, through the front door.
fn history(folder: &Folder, levels: &[(u64, f64)]) {
    let mut names = Vec::new();
    for level in levels.iter().flat_map(|&(runs, level)| std::iter::repeat_n(level, runs as usize)) {
        let nth = names.len() as u64;
        // A little noise, the same every time.
        let noise = 1.0 + 0.01 * (((nth * 7) % 11) as f64 - 5.0) / 5.0;
        folder.write(&format!("run{nth}.json"), measured(&format!("id{nth}"), nth, level * noise));
        names.push(format!("@run{nth}.json"));
    }
    let mut arguments = vec!["history", "add", "--db", "@history.db"];
    arguments.extend(names.iter().map(String::as_str));
    assert_eq!(folder.run(&arguments).exit, 0);
}

#[test]
fn the_gate_fails_when_runs_got_slower_and_tells_ci() {
    let folder = Folder::new();
    history(&folder, &[(20, 1.0), (5, 1.2)]);
    let summaries = ["--markdown", "@gate.md", "--junit", "@gate.xml"];
    let failed = folder.run(&[&["bench", "gate", "--db", "@history.db"][..], &summaries].concat());
    assert_eq!(failed.exit, 1, "{}", failed.err);
    assert!(failed.out.contains("4 of 4 numbers got worse."), "{}", failed.out);
    let junit = folder.read("gate.xml");
    assert!(junit.contains("tests=\"4\" failures=\"4\" skipped=\"0\""), "{junit}");
    assert!(folder.read("gate.md").starts_with("### Slower:"));
    // Large enough to be allowed.
    assert_eq!(folder.run(&["bench", "gate", "--db", "@history.db", "--relative", "25%"]).exit, 0);
    assert_eq!(
        folder
            .run(&["bench", "gate", "--db", "@history.db", "--metric", "latency", "--absolute", "1ms"])
            .exit,
        0
    );
    assert_eq!(folder.run(&["bench", "gate", "--db", "@history.db", "--absolute", "soon"]).exit, 2);
    let trend = folder.run(&["history", "trend", "--db", "@history.db", "--metric", "latency"]);
    assert!(trend.out.contains("worse    run 21"), "{}", trend.out);
}

#[test]
fn the_gate_lets_pass_what_is_as_before_and_waits_for_enough_runs() {
    let folder = Folder::new();
    history(&folder, &[(25, 1.0)]);
    let passed = folder.run(&["bench", "gate", "--db", "@history.db"]);
    assert_eq!(passed.exit, 0, "{}", passed.out);
    assert!(passed.out.contains("None of 4 numbers got worse."));
    let few = Folder::new();
    history(&few, &[(3, 1.0), (1, 9.0)]);
    let waits = few.run(&["bench", "gate", "--db", "@history.db"]);
    assert_eq!(waits.exit, 0);
    assert!(waits.out.contains("Nothing can be judged yet"), "{}", waits.out);
}

#[test]
fn two_runs_can_be_gated_without_a_history() {
    let folder = Folder::new();
    folder.write("before.json", measured("a", 0, 1.0));
    folder.write("after.json", measured("b", 1, 1.1));
    let slower = folder.run(&["bench", "gate", "@before.json", "@after.json"]);
    assert_eq!(slower.exit, 1, "{}", slower.err);
    assert!(slower.out.contains("2 of 2 numbers got worse."), "{}", slower.out);
    assert_eq!(folder.run(&["bench", "gate", "@after.json", "@before.json"]).exit, 0, "faster is no failure");
    assert_eq!(folder.run(&["bench", "gate", "@before.json", "@after.json", "--relative", "15%"]).exit, 0);
    assert_eq!(folder.run(&["bench", "gate", "@before.json"]).exit, 2);
}

#[test]
fn what_nobody_measures_any_more_is_not_judged() {
    let folder = Folder::new();
    history(&folder, &[(20, 1.0), (5, 1.2)]);
    assert_eq!(folder.run(&["bench", "gate", "--db", "@history.db"]).exit, 1);
    // The same project goes on with another benchmark.
    let mut add = vec!["history".to_owned(), "add".to_owned(), "--db".to_owned(), "@history.db".to_owned()];
    for nth in 100..120 {
        let other = measured(&format!("other{nth}"), nth, 1.0).replace("gpt_", "bert_");
        folder.write(&format!("other{nth}.json"), other);
        add.push(format!("@other{nth}.json"));
    }
    assert_eq!(folder.run(&add.iter().map(String::as_str).collect::<Vec<_>>()).exit, 0);
    let passed = folder.run(&["bench", "gate", "--db", "@history.db"]);
    assert_eq!((passed.exit, passed.out.contains("gpt_nano")), (0, false), "{}", passed.out);
}

#[test]
fn the_sides_of_a_comparison_are_two_courses() {
    let folder = Folder::new();
    let side = |label: &str, mean| {
        let mut side: Value = serde_json::from_str(&measured("both", 0, mean)).unwrap();
        side["label"] = label.into();
        side
    };
    let both =
        json!({"metadata": {}, "as_is": side("AS-IS", 2.0), "to_be": side("TO-BE", 1.0), "comparison": {}});
    folder.write("comparison.json", both.to_string());
    let add = ["history", "add", "@comparison.json", "--db", "@history.db", "--project", "mine"];
    assert_eq!(folder.run(&add).exit, 0);
    let trends =
        data(&folder.run(&["history", "trend", "--db", "@history.db", "--project", "mine", "--json"]));
    let names: Vec<&str> =
        trends["trends"].as_array().unwrap().iter().filter_map(|row| row["benchmark"].as_str()).collect();
    assert!(names.contains(&"AS-IS: gpt_nano") && names.contains(&"TO-BE: gpt_nano"), "{names:?}");
}

#[test]
fn runs_are_listed_shown_and_forgotten() {
    let folder = Folder::new();
    history(&folder, &[(4, 1.0)]);
    let again = folder.run(&["history", "add", "--db", "@history.db", "@run0.json"]);
    assert!(again.out.contains("run 1, nothing new"), "{}", again.out);
    let listed = data(&folder.run(&["history", "list", "--db", "@history.db", "--json"]));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 4);
    assert_eq!(listed["runs"][0]["run_id"], "id3", "the newest first");
    for run in ["latest", "4", "03c0ffee"] {
        let shown = data(&folder.run(&["history", "show", run, "--db", "@history.db", "--json"]));
        assert_eq!(shown["run"]["run"], 4, "{run}");
    }
    let unknown = folder.run(&["history", "show", "03c", "--db", "@history.db"]);
    assert_eq!((unknown.exit, unknown.err.contains("there are runs 1 to 4")), (2, true), "{}", unknown.err);
    let report = folder.run(&["bench", "report", "latest", "--db", "@history.db"]);
    assert!(report.out.contains("gpt_tile_small"), "{}", report.out);
    let compared = folder.run(&["bench", "compare", "1", "2", "--db", "@history.db"]);
    assert!(compared.out.contains("run 1 · run 2"), "{}", compared.out);
    let counted = folder.run(&["history", "prune", "--keep", "1", "--dry-run", "--db", "@history.db"]);
    assert_eq!(counted.out, "3 runs would be forgotten\n");
    assert_eq!(
        folder.run(&["history", "prune", "--keep", "1", "--db", "@history.db"]).out,
        "3 runs forgotten\n"
    );
    assert_eq!(
        data(&folder.run(&["history", "list", "--db", "@history.db", "--json"]))["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn numbers_of_traces_go_into_the_history() {
    use gpuscope_testkit::{Compression, Plan, write_job};
    let folder = Folder::new();
    write_job(&Plan::small().ranks(2), &folder.path("job"), Compression::None).expect("written");
    let add = [
        "history",
        "add",
        "@job",
        "--db",
        "@history.db",
        "--name",
        "tiny",
        "--label",
        "main",
        "--kernel",
        "nccl",
    ];
    let added = folder.run(&add);
    assert_eq!(added.exit, 0, "{}", added.err);
    assert!(folder.run(&add).out.contains("nothing new"));
    let shown = data(&folder.run(&["history", "show", "main", "--db", "@history.db", "--json"]));
    let value = |metric: &str| {
        let rows = shown["measurements"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == metric).and_then(|row| row["value"].as_f64())
    };
    let analyzed = data(&folder.run(&["analyze", "@job", "--json"]));
    let step = &analyzed["step"];
    assert_eq!(value("step_time"), step["median_ns"].as_f64());
    assert_eq!(value("idle_share"), step["idle_pct"].as_f64());
    let exposed: f64 = analyzed["breakdown"]["ranks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rank| rank["total"]["exposed_comm_ns"].as_f64().unwrap())
        .sum();
    let shares = 2.0 * step["steps"].as_f64().unwrap();
    assert_eq!(value("exposed_comm"), Some(exposed / shares));
    let top = &analyzed["top_kernels"][0];
    let kernel = format!("kernel_time:{}", top["name"].as_str().unwrap());
    assert_eq!(value(&kernel), Some(top["sum_ns"].as_f64().unwrap() / shares));
    let names: Vec<&str> =
        shown["measurements"].as_array().unwrap().iter().filter_map(|row| row["metric"].as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("kernel_time:nccl")), "{names:?}");
}

/// Killed a hundred times while adding: the history opens, is sound, and has every run that was said to be in it.
#[test]
fn a_history_survives_being_killed() {
    const KILLS: u64 = 100;
    let folder = Folder::new();
    let db = folder.path("history.db").display().to_string();
    let mut random = 0x9e37_79b9_u64;
    let (mut said, mut nth, mut cut_short) = (Vec::new(), 0, 0);
    for kill in 0..KILLS {
        let files: Vec<String> = (0..12)
            .map(|_| {
                nth += 1;
                folder.write(&format!("k{nth}.json"), measured(&format!("kill{nth}"), nth, 1.0));
                folder.path(&format!("k{nth}.json")).display().to_string()
            })
            .collect();
        let mut child = Command::new(env!("CARGO_BIN_EXE_gpuscope"))
            .args(["history", "add", "--db", &db])
            .args(&files)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        // Some before the first commit, some between commits, some after the last: by what it has said, as machines differ.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(kill | 1);
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut lines = lines.map_while(Result::ok).filter(|line| line.contains(": run "));
        let mut told: Vec<String> = lines.by_ref().take((random >> 33) as usize % files.len()).collect();
        std::thread::sleep(Duration::from_micros(random >> 40 & 0x3ff));
        child.kill().expect("it can be killed");
        told.extend(lines);
        cut_short += usize::from(told.len() < files.len());
        let first = nth - files.len() as u64 + 1;
        said.extend((0..told.len() as u64).map(|i| format!("kill{}", first + i)));
        child.wait().expect("it has ended");
        let list = folder.run(&["history", "list", "--all-projects", "--db", "@history.db", "--json"]);
        assert_eq!(list.exit, 0, "{}", list.err);
    }
    assert!(cut_short > 10, "only {cut_short} were killed while at work");
    let listed = data(&folder.run(&["history", "list", "--all-projects", "--db", "@history.db", "--json"]));
    let runs = listed["runs"].as_array().unwrap();
    let kept: std::collections::HashSet<&str> =
        runs.iter().filter_map(|run| run["run_id"].as_str()).collect();
    for id in &said {
        assert!(kept.contains(id.as_str()), "{id} was said to be in the history and is not");
    }
    // All or nothing of each.
    assert!(runs.iter().all(|run| run["measurements"] == 4), "{listed}");
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let folder = Folder::new();
    let db = folder.path("history.db").display().to_string();
    let start = |writer: u64| {
        let files: Vec<String> = (0..20)
            .map(|i| {
                let nth = writer * 100 + i;
                folder.write(&format!("w{nth}.json"), measured(&format!("writer{nth}"), nth, 1.0));
                folder.path(&format!("w{nth}.json")).display().to_string()
            })
            .collect();
        Command::new(env!("CARGO_BIN_EXE_gpuscope"))
            .args(["history", "add", "--db", &db])
            .args(files)
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts")
    };
    let mut writers: Vec<_> = (1..=3).map(start).collect();
    for writer in &mut writers {
        assert!(writer.wait().expect("it ends").success());
    }
    let listed = data(&folder.run(&["history", "list", "--all-projects", "--db", "@history.db", "--json"]));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 60);
}
