//! Files are never half written: whatever ends a command, what was there before is there, or all of what is new.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, rank};

/// One command per sort of file; `@` is the folder.
const WRITERS: &[&str] = &[
    "kernels @rank0.json -o @old.json",
    "kernels @rank0.json -o @old.csv",
    "kernels @rank0.json -o @old.parquet",
    "kernels @rank0.json -o @old.xlsx",
    "kernels @rank0.json -o @old.html",
    "kernels @rank0.json -o @old.pdf",
    "kernels @rank0.json -o @old.svg",
    "kernels @rank0.json -o @old.png",
    "kernels @rank0.json -o @old.md",
    "analyze @rank0.json -o @old.html",
    "analyze @rank0.json -o @old.pdf",
    "timeline @rank0.json -o @old.html",
    "plot kernel_types @rank0.json -o @old.svg",
    "flame @rank0.json -o @old.html",
    "flame @rank0.json -o @old.svg",
    "flame @rank0.json -o @old.speedscope.json",
    "stacks @rank0.json -o @old.collapsed",
    "convert @rank0.json -o @old.json.gz",
    "convert @rank0.json -o @old.json.zst",
    "convert @rank0.json -o @old.json",
    "critical-path @rank0.json -o @old.json.gz",
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json());
    folder
}

/// The file that a line of [`WRITERS`] writes.
fn target(line: &str) -> &str {
    line.rsplit('@').next().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// In a shell that says first how large files may get.
#[cfg(unix)]
fn limited(folder: &Folder, limit: &str, line: &str) -> std::process::Output {
    let line = line.replace('@', "");
    let script = format!("{limit}; exec \"$0\" {line}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_gpuscope")]).current_dir(folder.root());
    command.output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file() {
    for line in WRITERS {
        let folder = folder();
        folder.write(target(line), "old");
        let ran = limited(&folder, "trap '' XFSZ; ulimit -f 0", line);
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{line}: {err}");
        assert!(
            err.contains(&format!("{}: cannot be written: file too large", target(line))),
            "{line}: {err}"
        );
        assert_eq!(folder.read(target(line)), "old", "{line}");
        assert_eq!(names(folder.root()).len(), 2, "{line}: {:?}", names(folder.root()));
    }
}

/// The limit ends the process in the middle of a write, without a chance to clean up.
#[cfg(unix)]
#[test]
fn a_process_that_is_killed_within_a_write_leaves_the_old_file() {
    for line in WRITERS {
        let folder = folder();
        folder.write(target(line), "old");
        let ran = limited(&folder, "ulimit -c 0; ulimit -f 0", line);
        assert_eq!(ran.status.code(), None, "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(folder.read(target(line)), "old", "{line}");
        if cfg!(target_os = "linux") {
            assert_eq!(names(folder.root()).len(), 2, "{line}: {:?}", names(folder.root()));
        }
    }
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_one_whole_file() {
    let folder = Folder::new();
    let mut long = rank(0);
    for n in 0..20_000 {
        long = long.kernel("a kernel with a name of some length", 200_000 + 10 * n..200_005 + 10 * n);
    }
    folder.write("rank0.json", long.to_json());
    for line in ["convert rank0.json -o a.json", "stacks rank0.json --all -o a.collapsed"] {
        let name = line.rsplit(' ').next().unwrap();
        let start = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gpuscope"));
            command.args(line.split(' ')).current_dir(folder.root());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let begun = Instant::now();
        assert!(start().wait().unwrap().success());
        let (took, whole) = (begun.elapsed(), folder.read(name));
        for part in 0..20 {
            folder.write(name, "old");
            let mut child = start();
            std::thread::sleep(took * part / 20 + Duration::from_micros(137 * u64::from(part)));
            child.kill().unwrap();
            child.wait().unwrap();
            let there = folder.read(name);
            assert!(there == "old" || there == whole, "{line}: {} bytes", there.len());
        }
        if cfg!(target_os = "linux") {
            assert!(
                names(folder.root()).iter().all(|name| !name.starts_with('.')),
                "{:?}",
                names(folder.root())
            );
        }
        std::fs::remove_file(folder.path(name)).unwrap();
    }
}

#[test]
fn what_the_demo_writes_is_whole_or_not_there() {
    let folder = Folder::new();
    let begun = Instant::now();
    assert_eq!(folder.run(&["demo", "--only-write", "--ranks", "2", "-o", "@whole"]).exit, 0);
    let took = begun.elapsed();
    for part in 1..6 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gpuscope"))
            .args(["demo", "--only-write", "--ranks", "2", "-o"])
            .arg(folder.path("demo"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(took * part / 5);
        child.kill().unwrap();
        child.wait().unwrap();
        let written = if folder.path("demo").exists() { names(&folder.path("demo")) } else { Vec::new() };
        for name in written.iter().filter(|name| !name.starts_with('.')) {
            let [whole, demo] = ["whole", "demo"].map(|side| folder.read(&format!("{side}/{name}")));
            assert!(whole == demo, "{name}: {} of {} bytes", demo.len(), whole.len());
        }
    }
}

/// A name that anyone can guess, and a link in its place: nothing goes through it.
#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    let folder = folder();
    folder.write("precious", "precious");
    for line in WRITERS {
        std::os::unix::fs::symlink("precious", folder.path(target(line))).unwrap();
        let arguments: Vec<&str> = line.split(' ').collect();
        let ran = folder.run(&arguments);
        assert_eq!(ran.exit, 0, "{line}: {}", ran.err);
        assert_eq!(folder.read("precious"), "precious", "{line}");
        assert!(!folder.path(target(line)).is_symlink(), "{line}");
        std::fs::remove_file(folder.path(target(line))).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn standard_output_pipes_and_devices_can_be_named_as_files() {
    let folder = folder();
    let run = |line: &str| {
        let script = format!("\"$0\" {line}");
        let mut command = Command::new("sh");
        let ran = command.args(["-c", &script, env!("CARGO_BIN_EXE_gpuscope")]).current_dir(folder.root());
        let ran = ran.output().unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let json = "{\"schema\":\"gpuscope/1\"";
    assert!(run("kernels rank0.json --json -o /dev/stdout").starts_with(json));
    assert!(run("kernels rank0.json --json -o /dev/stdout | cat").starts_with(json));
    run("kernels rank0.json --json -o /dev/stdout > redirected");
    assert!(folder.read("redirected").starts_with(json));
    run("kernels rank0.json --json -o /dev/null");
    run("kernels rank0.json --json -o /dev/fd/3 3> third");
    assert!(folder.read("third").starts_with(json));
    let full = Command::new(env!("CARGO_BIN_EXE_gpuscope"))
        .args(["kernels", "rank0.json", "--json", "-o", "/dev/full"])
        .current_dir(folder.root())
        .output()
        .unwrap();
    if Path::new("/dev/full").exists() {
        let err = String::from_utf8_lossy(&full.stderr);
        assert!(err.contains("/dev/full: cannot be written: no space left on device"), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    for mode in [0o600, 0o640] {
        folder.write("a.html", "old");
        std::fs::set_permissions(folder.path("a.html"), PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(folder.run(&["kernels", "@rank0.json", "-o", "@a.html"]).exit, 0);
        let about = std::fs::metadata(folder.path("a.html")).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, mode);
    }
}
