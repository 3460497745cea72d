//! Inputs that mean harm, or are merely odd: never a hang, a panic, a silent zero or a raw byte on the terminal.

use std::io::Write;

use gpuscope_testkit::text::trace;

use crate::support::{Folder, gzip, rank};

fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        // As a hostile archive does: without the checks of `append_data`.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = Folder::new();
    let name = "evil\u{1b}[31m\u{9b}2J\u{202e}<script>alert(1)</script>";
    folder.write("a.json", trace().kernel(name, 10..30).to_json());
    for format in [&[][..], &["--csv", "--table", "kernels"]] {
        let mut arguments = vec!["kernels", "@a.json"];
        arguments.extend(format);
        let out = folder.run(&arguments).out;
        assert!(!out.contains(['\u{1b}', '\u{9b}']) && out.contains("evil"), "{out}");
    }
    folder.run(&["kernels", "@a.json", "-o", "@a.html"]);
    let page = folder.read("a.html");
    // The page's own script comes last.
    let (before, _) = page.split_once("<script>").unwrap();
    assert!(before.contains("&lt;script&gt;alert(1)") && before.contains("</main>"));
    let json = folder.run(&["kernels", "@a.json", "--json"]).json();
    assert_eq!(json["data"]["kernels"][0]["name"], name);
    folder.write("b\u{1b}[31m\n.json", "{}");
    let ran = folder.run(&["kernels", "@b\u{1b}[31m\n.json"]);
    assert!(!ran.err.contains('\u{1b}') && ran.err.lines().count() == 3, "{}", ran.err);
}

#[test]
fn a_formula_is_a_name() {
    let folder = Folder::new();
    folder.write("a.json", trace().kernel("=1+1", 10..30).to_json());
    let out = folder.run(&["kernels", "@a.json", "--csv", "--table", "kernels"]).out;
    assert!(out.contains(",'=1+1\r\n"), "{out}");
}

#[cfg(unix)]
#[test]
fn pipes_in_a_folder_are_passed_over_and_devices_refused() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    let made = std::process::Command::new("mkfifo").arg(folder.path("rank1.json")).status();
    assert!(made.is_ok_and(|status| status.success()));
    assert_eq!(folder.run(&["temporal", "@", "--json"]).ranks(), [0]);
    assert_eq!(folder.run(&["temporal", "@*.json", "--json"]).ranks(), [0]);
    for device in ["/dev/null", "/dev/zero"] {
        let ran = folder.run(&["temporal", device]);
        assert_eq!(ran.exit, 3);
        assert!(ran.err.contains("found a device"), "{}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_read_all_the_same() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"rank0_\xff.json");
    // Some file systems take only text.
    if std::fs::write(folder.root().join(name), rank(0).to_json()).is_ok() {
        assert_eq!(folder.run(&["temporal", "@", "--json"]).ranks(), [0]);
        let path = folder.root().join(name);
        let arguments = ["gpuscope".as_ref(), "temporal".as_ref(), path.as_os_str(), "--json".as_ref()];
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = gpuscope_cli::run(arguments, &mut out, &mut err, gpuscope_cli::Terminal::none());
        assert_eq!(exit.0, 0, "{}", String::from_utf8_lossy(&err));
        assert!(String::from_utf8_lossy(&out).contains("rank0_\u{fffd}.json"));
    }
}

#[test]
fn members_outside_of_their_archive_are_only_names() {
    let folder = Folder::new();
    let (a, b) = (rank(0).to_json(), rank(1).to_json());
    folder.write("a.tar", tar_of(&[("/etc/rank0.json", a.as_bytes()), ("../../rank1.json", b.as_bytes())]));
    assert_eq!(folder.run(&["temporal", "@a.tar", "--json"]).ranks(), [0, 1]);
}

#[test]
fn an_archive_that_breaks_off_is_read_up_to_there() {
    let folder = Folder::new();
    let texts: Vec<String> = (0..3).map(|n| rank(n).to_json()).collect();
    let members: Vec<(String, &[u8])> =
        texts.iter().enumerate().map(|(n, text)| (format!("rank{n}.json"), text.as_bytes())).collect();
    let members: Vec<(&str, &[u8])> = members.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let tar = tar_of(&members);
    let second = tar.windows(10).position(|window| window == b"rank1.json").unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gz.write_all(&tar[..second + 700]).unwrap();
    gz.flush().unwrap();
    // What was written so far, without the end of the stream.
    folder.write("cut.tar.gz", gz.get_ref()).write("cut.tar", &tar[..second + 700]);
    for archive in ["@cut.tar", "@cut.tar.gz"] {
        let ran = folder.run(&["temporal", archive, "--json"]);
        assert_eq!(ran.ranks()[0], 0);
        assert_eq!(ran.codes()[0], "unreadable_input", "{archive}");
    }
}

#[test]
fn a_selection_of_nothing_is_said() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    for (flags, said) in [
        (
            ["--stream", "99"],
            "--stream 99 leaves none of 4 GPU events, so every time is 0; there are streams 7, 20",
        ),
        (["--device", "-3"], "--device -3 leaves none of 4"),
        (["--from", "10s"], "--from 10000000000 leaves none"),
    ] {
        let ran = folder.run(&["temporal", "@rank0.json", flags[0], flags[1]]);
        assert_eq!(ran.exit, 0);
        let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(said), "{out}");
    }
    let all = folder.run(&["temporal", "@rank0.json", "--stream", "7", "--json"]);
    assert!(!all.codes().contains(&"no_gpu_events".to_owned()));
    let ran = folder.run(&["temporal", "@rank0.json", "--from", "20ms", "--to", "10ms"]);
    assert_eq!(ran.exit, 2);
}

#[test]
fn a_pattern_that_is_none_is_explained() {
    let ran = Folder::new().run(&["temporal", "@a/***.json"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.contains("expected a file, a folder or a pattern; at character"), "{}", ran.err);
    assert_eq!(Folder::new().run(&["temporal", ""]).exit, 2);
}

#[test]
fn the_same_trouble_of_many_ranks_is_told_once() {
    let folder = Folder::new();
    for n in 0..40 {
        folder.write(&format!("rank{n}.json.gz"), gzip(&rank(n).to_json()));
    }
    let out = folder.run(&["check", "@"]).out;
    assert!(out.contains("no_sync_events · ranks 0-39"), "{out}");
    assert!(out.lines().count() < 30, "{out}");
    let rows = folder.run(&["check", "@", "--csv"]).out.lines().count();
    assert!(rows > 40, "{rows}");
}

#[test]
fn neither_depth_nor_a_crowded_instant_costs_more_than_its_events() {
    let many = 30_000;
    let (mut nested, mut crowd) = (trace(), trace().step(1, 0..100));
    for level in 0..many {
        nested = nested.annotation("level", level..2 * many - level);
        crowd = crowd.runtime("cudaLaunchKernel", 50..50, level).kernel("k", 50..50).correlation(level);
    }
    nested = nested.runtime("cudaLaunchKernel", many..many, 1);
    for n in 0..many {
        nested = nested.kernel("k", many + n..many + n + 1).correlation(1);
    }
    let folder = Folder::new();
    folder.write("nested.json", nested.to_json()).write("crowd.json", crowd.to_json());
    for (command, file) in [
        ("critical-path", "@nested.json"),
        ("analyze", "@nested.json"),
        ("analyze", "@crowd.json"),
        ("phases", "@nested.json"),
        ("layers", "@nested.json"),
        ("stacks", "@nested.json"),
        ("stacks", "@crowd.json"),
        ("flame", "@nested.json"),
        ("flame", "@crowd.json"),
    ] {
        let begun = std::time::Instant::now();
        assert_eq!(folder.run(&[command, file, "--json"]).exit, 0);
        assert!(begun.elapsed().as_secs() < 20, "{command} {file}: {:?}", begun.elapsed());
    }
}

#[test]
fn work_that_no_gpu_did_is_no_finding() {
    let folder = Folder::new();
    let host = trace().step(1, 0..9_000_000).runtime("cudaMalloc", 10..8_000_000, 1);
    folder.write("a.json", host.to_json());
    let json = folder.run(&["analyze", "@a.json", "--json"]).json();
    assert_eq!(json["data"]["verdict"], "There is no GPU work in these traces.");
    assert_eq!(json["data"]["findings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn few_small_kernels_after_a_long_pause_are_not_to_blame() {
    let folder = Folder::new();
    let mut few = trace();
    for n in 0..30 {
        let at = n * 1_000_000;
        few = few
            .runtime("cudaLaunchKernel", at..at + 5000, n)
            .kernel("k", at + 9000..at + 11_000)
            .correlation(n);
    }
    folder.write("a.json", few.to_json());
    let json = folder.run(&["analyze", "@a.json", "--json"]).json();
    assert_eq!(json["data"]["findings"].as_array().map(Vec::len), Some(0), "{}", json["data"]["findings"]);
    let verdict = json["data"]["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("GPUs idle 100 % of the time, waiting for unrecorded host work"),
        "{verdict}"
    );
}

#[test]
fn two_inputs_of_one_rank_are_answered_and_said_so() {
    let folder = Folder::new();
    folder
        .write("a.json", rank(0).to_json())
        .write("b.json", rank(0).to_json())
        .write("c.json", rank(1).to_json());
    let questions: [&[&str]; 9] = [
        &["analyze"],
        &["breakdown"],
        &["idle"],
        &["collectives"],
        &["stragglers"],
        &["critical-path"],
        &["whatif", "--no-launch-overhead"],
        &["hta"],
        &["timeline"],
    ];
    for question in questions {
        let inputs = ["@a.json", "@b.json", "@c.json", "--json"];
        let ran = folder.run(&[question, &inputs[..]].concat());
        assert!(ran.codes().contains(&"duplicate_rank".to_owned()), "{question:?}: {:?}", ran.codes());
        if question[0] == "breakdown" {
            assert_eq!(ran.ranks(), [0, 0, 1]);
        }
    }
    // A report draws every input.
    let ran = folder.run(&["analyze", "@a.json", "@b.json", "@c.json", "-o", "@report.html"]);
    assert_eq!((ran.exit, &*ran.err), (0, ""));
}
