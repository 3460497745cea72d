//! No output takes the place of what the command reads, or of another output, whatever the names.

use std::process::{Command, Stdio};

use crate::support::{Folder, rank};

/// Traces, and a history of them.
fn folder() -> Folder {
    let folder = Folder::new();
    let text = rank(0).to_json();
    for name in ["rank0.json", "capture.json", "tables/kernels.csv"] {
        folder.write(name, &text);
    }
    folder.write("rules.toml", "[[rule]]\nkind = \"communication\"\nname = \"nccl\"\n");
    folder.write("models.toml", "");
    folder.write("log.json", "V0101 00:00:00.000000 1 torch/a.py:1] {\"str\": [\"a.py\", 0]}\n");
    for _ in 0..2 {
        let ran = folder.run(&["history", "add", "--db", "@h.db", "--project", "p", "@rank0.json"]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
    }
    folder
}

/// Every file with what is in it.
fn content(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for sub in ["", "tables"] {
        for entry in std::fs::read_dir(folder.path(sub)).unwrap() {
            let path = entry.unwrap().path();
            // The database makes and removes its own files as it likes.
            if path.is_file() && !path.to_string_lossy().contains("h.db-") {
                files.push((path.display().to_string(), std::fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn inputs_of_any_sort_are_never_written_over() {
    let folder = folder();
    std::fs::hard_link(folder.path("rank0.json"), folder.path("hard.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("rank0.json", folder.path("soft.json")).unwrap();
    let before = content(&folder);
    let lines = [
        "history list --db @h.db --json -o @h.db",
        "history list --db @h.db --json -o @h.db-wal",
        "history trend --db @h.db --project p --json -o @h.db",
        "history show 1 --db @h.db --json -o @h.db",
        "bench gate --db @h.db --project p --junit @h.db",
        "bench gate --db @h.db --project p --markdown @h.db",
        "bench report 1 --db @h.db --json -o @h.db",
        "inference @rank0.json --capture @capture.json -o @capture.json",
        "kernels @rank0.json --classify @rules.toml --json -o @rules.toml",
        "ops @rank0.json --models @models.toml --json -o @models.toml",
        "kernels @rank0.json -o @rank0.json",
        "kernels @rank0.json -o @hard.json",
        "kernels @rank0.json -o @soft.json",
        "kernels @rank0.json -o @tables/../rank0.json",
        "kernels @hard.json --json -o @rank0.json",
        "kernels @tables/kernels.csv -o @tables/",
        "diff @capture.json @rank0.json -o @capture.json",
        "flame @rank0.json --against @capture.json --json -o @capture.json",
        "stacks @rank0.json --format collapsed -o @hard.json",
        "convert @rank0.json -o @hard.json",
        "convert @rank0.json -o @soft.json",
        "convert @rank0.json --classify @capture.json -o @capture.json",
        "convert @tables/kernels.csv -o @tables/",
    ];
    for line in lines {
        let ran = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.exit, 2, "{line}: {}{}", ran.out, ran.err);
        let said = ran.err.contains("this would write over an input")
            || ran.err.contains("the inputs are in this folder");
        assert!(said, "{line}: {}", ran.err);
        assert!(content(&folder) == before, "{line}");
    }
}

#[test]
fn a_log_and_standard_input_are_inputs_too() {
    let folder = folder();
    let before = content(&folder);
    let ran = folder.run(&["compile", "@log.json", "-o", "@log.json"]);
    assert!(ran.exit == 2 && ran.err.contains("write over an input"), "{}", ran.err);
    let stdin = std::fs::File::open(folder.path("rank0.json")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuscope"));
    command.args(["kernels", "-", "-o", "rank0.json"]).current_dir(folder.root());
    let ran = command.stdin(Stdio::from(stdin)).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    if cfg!(unix) {
        assert_eq!(ran.status.code(), Some(2), "{err}");
        assert!(err.contains("-o rank0.json: this would write over an input"), "{err}");
        assert!(content(&folder) == before);
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = folder();
    let gate = ["bench", "gate", "--db", "@h.db", "--project", "p"];
    for (flags, said) in [
        (["-o", "@a.json", "--junit", "@a.json"], "--junit a.json: -o writes to the same file"),
        (["--markdown", "@a.md", "--junit", "@tables/../a.md"], "a.md: --markdown writes to the same file"),
    ] {
        let ran = folder.run(&[&gate[..], &flags].concat());
        assert!(ran.exit == 2 && ran.err.contains(said), "{}", ran.err);
        assert!(!folder.path("a.json").exists() && !folder.path("a.md").exists());
    }
    let ran =
        folder.run(&[&gate[..], &["-o", "@a.json", "--junit", "@a.xml", "--markdown", "@a.md"]].concat());
    assert!(ran.err.is_empty(), "{}", ran.err);
    assert!(["a.json", "a.xml", "a.md"].iter().all(|name| folder.path(name).exists()));
}
