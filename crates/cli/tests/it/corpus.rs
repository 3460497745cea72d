//! Real traces, where `GPUSCOPE_CORPUS` says there are some: every command answers every trace of the corpus.

use std::path::Path;

use crate::support::Folder;

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn every_command_answers_every_trace() {
    let Some(corpus) = std::env::var_os("GPUSCOPE_CORPUS") else {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
        return;
    };
    let folder = Folder::new();
    let traces = Path::new(&corpus).join("traces");
    let mut read = 0;
    for entry in std::fs::read_dir(&traces).unwrap().map(Result::unwrap) {
        let path = entry.path().to_string_lossy().into_owned();
        let readable = folder.run(&["info", &path, "--json"]).exit == 0;
        for command in ["breakdown", "temporal", "kernels", "overlap"] {
            for format in ["--json", "--csv", "--color=never"] {
                let ran = folder.run(&[command, &path, format]);
                assert_eq!(ran.exit == 0, readable, "{command} {path} {format}: {}", ran.err);
                assert_ne!(ran.exit, 70, "{command} {path} {format}: {}", ran.err);
            }
        }
        read += usize::from(readable);
    }
    assert!(read > 0, "no trace could be read in {}", traces.display());
}
