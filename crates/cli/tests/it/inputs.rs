//! What may be given as an input.

use std::io::Write;

use crate::support::{Folder, Ran, gzip, nameless, rank};

fn temporal(folder: &Folder, inputs: &[&str]) -> Ran {
    let mut arguments = vec!["temporal", "--json"];
    arguments.extend(inputs);
    folder.run(&arguments)
}

#[test]
fn compression_is_recognised_by_content() {
    let folder = Folder::new();
    let text = rank(0).to_json();
    folder.write("plain.bin", &text).write("gzip.bin", gzip(&text));
    folder.write("zstd.bin", zstd::encode_all(text.as_bytes(), 1).unwrap());
    let answers: Vec<_> = ["@plain.bin", "@gzip.bin", "@zstd.bin"]
        .iter()
        .map(|input| temporal(&folder, &[input]).json())
        .collect();
    assert_eq!(answers[0]["data"], answers[1]["data"]);
    assert_eq!(answers[0]["data"], answers[2]["data"]);
    let containers: Vec<_> =
        answers.iter().map(|answer| answer["inputs"][0]["container"].as_str().unwrap()).collect();
    assert_eq!(containers, ["plain", "gzip", "zstd"]);
    assert_eq!(answers[1]["inputs"][0]["bytes"], gzip(&text).len());
}

#[test]
fn a_folder_is_one_trace_per_rank_in_the_order_people_count() {
    let folder = Folder::new();
    for n in [10, 2, 0] {
        folder.write(&format!("job/rank{n}.json"), nameless().to_json());
    }
    folder.write("job/notes.txt", "hello").write("job/deep/er/rank_3.json.gz", gzip(&nameless().to_json()));
    let ran = temporal(&folder, &["@job"]);
    assert_eq!(ran.inputs(), ["rank_3.json.gz", "rank0.json", "rank2.json", "rank10.json"]);
    assert_eq!(ran.ranks(), [0, 2, 3, 10]);
}

#[test]
fn a_glob_is_matched_here_if_the_shell_did_not() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("rank1.json", rank(1).to_json());
    folder.write("other.json", "{}");
    assert_eq!(temporal(&folder, &["@rank*.json"]).ranks(), [0, 1]);
    assert_eq!(temporal(&folder, &["@rank[1-9].json"]).ranks(), [1]);
}

#[test]
fn the_rank_is_the_files_own_then_its_names_then_its_position() {
    let folder = Folder::new();
    folder.write("rank5.json", rank(1).to_json());
    folder.write("b_rank-4.json", nameless().to_json());
    folder.write("plain.json", nameless().to_json());
    assert_eq!(temporal(&folder, &["@rank5.json", "@b_rank-4.json", "@plain.json"]).ranks(), [1, 2, 4]);
    folder.write("w7.json", nameless().to_json());
    assert_eq!(temporal(&folder, &["@w7.json", "--rank-regex", r"w(\d+)\.json"]).ranks(), [7]);
    folder.write("TP-0-DP-1.json", nameless().to_json()).write("TP-1-DP-0.json", nameless().to_json());
    assert_eq!(temporal(&folder, &["@TP-0-DP-1.json", "@TP-1-DP-0.json"]).ranks(), [1, 2]);
}

fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

#[test]
fn members_of_tar_archives_are_ranks() {
    let folder = Folder::new();
    let (a, b) = (rank(0).to_json(), gzip(&rank(1).to_json()));
    let tar = tar_of(&[("job/a.json", a.as_bytes()), ("job/b.json.gz", &b), ("job/README", b"text")]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&tar).unwrap();
    folder.write("job.tar", &tar).write("job.tar.gz", encoder.finish().unwrap());
    for archive in ["job.tar", "job.tar.gz"] {
        let ran = temporal(&folder, &[&format!("@{archive}")]);
        assert_eq!(ran.ranks(), [0, 1]);
        assert_eq!(ran.json()["inputs"][1]["path"], format!("{archive}!job/b.json.gz"));
        assert_eq!(ran.json()["inputs"][1]["container"], "tar");
        assert_eq!(ran.json()["inputs"][1]["bytes"], b.len());
    }
}

#[test]
fn members_of_zip_archives_are_ranks() {
    let folder = Folder::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for n in 0..2 {
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("rank{n}.json"), options).unwrap();
        zip.write_all(rank(n).to_json().as_bytes()).unwrap();
    }
    folder.write("job.zip", zip.finish().unwrap().into_inner());
    let ran = temporal(&folder, &["@job.zip"]);
    assert_eq!(ran.ranks(), [0, 1]);
    assert_eq!(ran.inputs(), ["rank0.json", "rank1.json"]);
    folder.write("broken.zip", b"PK\x03\x04 and nothing");
    let ran = temporal(&folder, &["@broken.zip"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.starts_with("error: broken.zip: expected a whole archive"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_circles_end() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("store/rank0.json", rank(0).to_json());
    std::fs::create_dir(folder.path("job")).unwrap();
    symlink(folder.path("store"), folder.path("job/linked")).unwrap();
    symlink(folder.path("job"), folder.path("job/linked_back")).unwrap();
    symlink(folder.path("store/rank0.json"), folder.path("store/latest.json")).unwrap();
    let ran = temporal(&folder, &["@job"]);
    assert_eq!(ran.inputs(), ["rank0.json"]);
}

#[test]
fn standard_input_is_a_dash() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_gpuscope"))
        .args(["temporal", "-", "--json"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = gzip(&nameless().to_json());
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["inputs"][0]["path"], "-");
    assert_eq!(json["inputs"][0]["bytes"], bytes.len());
    assert_eq!(json["data"]["ranks"][0]["kernel_ns"], 20);
}

#[test]
fn a_memory_bound_changes_nothing_but_the_order_of_reading() {
    let folder = Folder::new();
    for n in 0..4 {
        folder.write(&format!("rank{n}.json"), rank(n).to_json());
    }
    let free = temporal(&folder, &["@"]).json();
    assert_eq!(free, temporal(&folder, &["@", "--memory", "1"]).json());
}

/// Two ranks merged into one file: processes say whose they are, correlations repeat.
#[test]
fn a_merged_file_is_split_by_process() {
    let process = |pid: u32, name: &str| {
        format!(r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "args": {{"name": "{name}"}}}}"#)
    };
    let call = |pid: u32, ts: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {pid}, "tid": 1, "ts": {ts}, "dur": 2, "args": {{"correlation": 1}}}}"#
        )
    };
    let kernel = |pid: u32, ts: u32, dur: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": {pid}, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{"device": 0, "stream": 7, "correlation": 1}}}}"#
        )
    };
    let step = |pid: u32, start: u32| {
        format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": {pid}, "tid": 1, "ts": {start}, "dur": 90}}"#
        )
    };
    let events = [
        process(10, "python rank 0"),
        process(1000, "rank 0 GPU 0"),
        process(11, "python rank 1"),
        process(1001, "rank 1 GPU 0"),
        step(10, 0),
        call(10, 1),
        kernel(1000, 20, 30),
        step(11, 500),
        call(11, 501),
        kernel(1001, 520, 40),
    ];
    let folder = Folder::new();
    folder.write("merged.json", format!("[{}]", events.join(",")));
    let ran = folder.run(&["breakdown", "@merged.json", "--json"]);
    assert_eq!(ran.ranks(), [0, 1]);
    let ranks = &ran.json()["data"]["ranks"];
    for (rank, busy) in [(0, 30_000), (1, 40_000)] {
        // Each kernel is linked to its own rank's call, and so belongs to its own rank's step.
        assert_eq!(ranks[rank]["total"]["busy_ns"], busy);
        assert_eq!(ranks[rank]["steps"][0]["computation_ns"], busy);
    }
    assert_eq!(folder.run(&["breakdown", "@merged.json", "--rank", "1", "--json"]).ranks(), [1]);
    let unnamed = events.iter().filter(|event| !event.contains("rank 1 GPU")).cloned().collect::<Vec<_>>();
    folder.write("unnamed.json", format!("[{}]", unnamed.join(",")));
    assert_eq!(folder.run(&["breakdown", "@unnamed.json", "--json"]).ranks(), [0]);
}
