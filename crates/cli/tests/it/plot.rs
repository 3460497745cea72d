//! Charts by name, as files.

use gpuscope_testkit::{Compression, Plan, write_job};

use crate::support::{Folder, host_only, rank};

fn job() -> Folder {
    let folder = Folder::new();
    folder.write("job/rank0.json", rank(0).to_json()).write("job/rank1.json", rank(1).to_json());
    folder
}

#[test]
fn the_list_says_what_each_chart_shows() {
    insta::assert_snapshot!("plot_list", Folder::new().run(&["plot", "--list"]).out);
}

#[test]
fn the_extension_decides_what_is_drawn() {
    let folder = job();
    for (name, begins) in [
        ("x.svg", &b"<svg xmlns"[..]),
        ("x.png", b"\x89PNG\r\n\x1a\n"),
        ("x.pdf", b"%PDF-1."),
        ("x.html", b"<!doctype html>"),
        ("X.PNG", b"\x89PNG"),
    ] {
        let ran = folder.run(&["plot", "breakdown", "@job", "-o", &format!("@{name}")]);
        assert_eq!((ran.exit, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{name}");
        let bytes = std::fs::read(folder.path(name)).expect("a file");
        assert!(bytes.starts_with(begins), "{name}");
    }
    let svg = folder.read("x.svg");
    for wanted in ["Where did GPU time go?", "computation", "exposed communication", ">rank<"] {
        assert!(svg.contains(wanted), "{wanted}");
    }
}

#[test]
fn what_cannot_be_drawn_says_why_and_what_to_do() {
    let folder = job();
    folder.write("host.json", host_only().to_json());
    for (arguments, said) in [
        (vec!["plot", "bottleneck", "@job", "-o", "@x.svg"], "is it bottlenecks?"),
        (vec!["plot", "xyzzy", "@job", "-o", "@x.svg"], "plot --list names all charts"),
        (vec!["plot", "queue", "@job"], "-o queue.png"),
        (vec!["plot", "queue", "@job", "-o", "@x.gif"], "use .svg, .png, .pdf or .html"),
        (vec!["plot", "queue", "@job", "-o", "@none/x.svg"], "there is no folder"),
        (vec!["plot", "memory", "@job", "-o", "@x.svg"], "profile_memory=True"),
        (vec!["plot", "breakdown", "@host.json", "-o", "@x.svg"], "ProfilerActivity.CUDA"),
        (vec!["plot", "diff", "@job", "-o", "@x.svg"], "compares two runs, not 1"),
        (vec!["plot", "roofline", "@job", "--gpu", "abacus", "-o", "@x.svg"], "no such GPU"),
    ] {
        let ran = folder.run(&arguments);
        assert_eq!(ran.exit, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(!folder.path("x.svg").exists(), "{arguments:?}");
    }
}

#[test]
fn a_trace_is_not_written_over() {
    let folder = job();
    folder.write("trace.svg", rank(0).to_json());
    let ran = folder.run(&["plot", "breakdown", "@trace.svg", "-o", "@trace.svg"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("write over an input"), "{}", ran.err);
}

#[test]
fn two_runs_are_compared() {
    let folder = job();
    let ran = folder.run(&["plot", "diff", "@job/rank0.json", "@job/rank1.json", "-o", "@x.svg"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    assert!(folder.read("x.svg").contains("What makes B differ from A?"));
}

#[test]
fn reports_and_answers_are_written_on_paper() {
    let folder = Folder::new();
    write_job(&Plan::small().ranks(2), &folder.path("job"), Compression::None).expect("written");
    for arguments in [["analyze", "@job", "-o", "@x.pdf"], ["kernels", "@job", "-o", "@x.pdf"]] {
        let ran = folder.run(&arguments);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{arguments:?}");
        let bytes = std::fs::read(folder.path("x.pdf")).expect("a file");
        assert!(bytes.starts_with(b"%PDF-1.") && bytes.len() > 10_000, "{arguments:?}");
        std::fs::remove_file(folder.path("x.pdf")).expect("removed");
    }
}
