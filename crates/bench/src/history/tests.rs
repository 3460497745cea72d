use serde_json::Map;

use super::*;
use crate::data::{Benchmark, Measured, Timing};
use crate::metric::Metric;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn run(id: &str, at: i64, value: f64) -> NewRun {
    NewRun {
        run_id: id.to_owned(),
        at,
        project: "p".to_owned(),
        label: None,
        source: "bench",
        device: "GPU".to_owned(),
        revision: Some(format!("{id}abcdef")),
        metadata: Map::new(),
        note: None,
        measurements: vec![Measurement {
            benchmark: "gemm".to_owned(),
            batch: Some(4),
            seq_len: None,
            metric: Metric::known("latency").unwrap(),
            value,
            interval: Some((value - 1.0, value + 1.0)),
            samples: vec![value, value + 0.5],
            config: Map::new(),
        }],
    }
}

#[test]
fn what_is_added_is_found_again() {
    let folder = folder();
    let mut history = History::open(&folder.path().join("a/b/history.db")).unwrap();
    assert!(history.add(&run("later", 20, 2.0)).unwrap().is_new);
    history.add(&run("early", 10, 1.0)).unwrap();
    let runs = history.runs(&Wanted::default()).unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["later", "early"]);
    for wanted in ["1", "#1", "latest", "later", "late", "laterabcd"] {
        let (found, measurements) = history.run(wanted, None).unwrap();
        assert_eq!(found.run_id, "later", "{wanted}");
        assert_eq!(measurements, run("later", 20, 2.0).measurements);
    }
    let error = history.run("nothing", None).unwrap_err().to_string();
    assert_eq!(error, "nothing: no run of that number, id, label or commit; there are runs 1 to 2");
    let series = history.series(&Wanted::default()).unwrap();
    assert_eq!((series.len(), series[0].values()), (1, vec![1.0, 2.0]), "the oldest first");
    assert_eq!(series[0].key.what(), "gemm b4");
    let other = Wanted { metric: Some("throughput".to_owned()), ..Wanted::default() };
    assert_eq!(history.series(&other).unwrap(), []);
}

#[test]
fn a_run_that_goes_on_is_added_to() {
    let folder = folder();
    let mut history = History::open(&folder.path().join("history.db")).unwrap();
    let benchmark = |mean| Benchmark { timing: Timing { mean, ..Timing::default() }, ..Benchmark::default() };
    let mut measured = Measured::default();
    measured.metadata.insert("run_id".to_owned(), "r".into());
    measured.benchmarks.insert("a".to_owned(), benchmark(1.0));
    let added = |history: &mut History, measured: &Measured| {
        let added = history.add(&NewRun::measured(measured, "p", None)).unwrap();
        (added.run, added.is_new, added.measurements, added.known_already)
    };
    assert_eq!(added(&mut history, &measured), (1, true, 1, 0));
    measured.benchmarks.insert("b".to_owned(), benchmark(2.0));
    measured.benchmarks["a"].timing.mean = 9.0;
    assert_eq!(added(&mut history, &measured), (1, false, 1, 1));
    let (_, measurements) = history.run("1", None).unwrap();
    assert!((measurements[0].value - 1e6).abs() < 1e-6, "what is known stays as it is");
    // Without an id, a file is known by what it says.
    measured.metadata.clear();
    assert!(added(&mut history, &measured).1);
    assert!(!added(&mut history, &measured).1);
}

#[test]
fn a_matrix_and_a_single_run_of_it_are_one_course() {
    let mut measured = Measured::default();
    let one = Benchmark {
        timing: Timing { mean: 1.5, ..Timing::default() },
        batch_size: Some(4),
        seq_len: Some(64),
        throughput_tokens_per_sec: Some(170_667.0),
        samples_ms: vec![1.4, 1.6],
        ..Benchmark::default()
    };
    let names = |measured: &Measured| -> Vec<String> {
        NewRun::measured(measured, "p", None).measurements.into_iter().map(|one| one.benchmark).collect()
    };
    measured.benchmarks.insert("gpt_nano_b4_s64".to_owned(), one.clone());
    assert_eq!(names(&measured), ["gpt_nano"; 2]);
    // Unless another has that name already: nothing may be lost.
    measured.benchmarks.insert("gpt_nano".to_owned(), one);
    assert_eq!(names(&measured), ["gpt_nano_b4_s64", "gpt_nano_b4_s64", "gpt_nano", "gpt_nano"]);
}

#[test]
fn old_runs_can_be_forgotten() {
    let folder = folder();
    let mut history = History::open(&folder.path().join("history.db")).unwrap();
    for i in 0..10 {
        history.add(&run(&format!("run{i}"), i, 1.0)).unwrap();
    }
    assert_eq!(history.prune(&Wanted::default(), Kept::Newest(3), true).unwrap(), 7);
    assert_eq!(history.runs(&Wanted::default()).unwrap().len(), 10, "only counted");
    assert_eq!(history.prune(&Wanted::default(), Kept::Since(2), false).unwrap(), 2);
    assert_eq!(history.prune(&Wanted::default(), Kept::Newest(3), false).unwrap(), 5);
    let left = history.series(&Wanted::default()).unwrap();
    assert_eq!(left[0].points.iter().map(|point| point.at).collect::<Vec<_>>(), [7, 8, 9]);
}

#[test]
fn what_is_no_history_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("text.db");
    std::fs::write(
        &path,
        "this is no database, but long enough to have a header of one, all the same: ........",
    )
    .unwrap();
    assert!(History::existing(&path).unwrap_err().to_string().contains("expected a history of gpuscope"));
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let before = std::fs::read(&foreign).unwrap();
    assert!(History::open(&foreign).unwrap_err().to_string().contains("another program"));
    assert!(std::fs::read(&foreign).unwrap() == before, "and left as it is");
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    assert!(History::existing(&empty).unwrap().is_none());
    assert!(History::existing(folder.path()).unwrap_err().to_string().contains("found a folder"));
    let newer = folder.path().join("newer.db");
    drop(History::open(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(History::open(&newer).unwrap_err().to_string().contains("newer gpuscope"));
    assert!(History::existing(&folder.path().join("missing.db")).unwrap().is_none());
}

#[test]
fn several_writers_at_once_lose_nothing() {
    let folder = folder();
    let path = folder.path().join("history.db");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                // Each opens it itself, as processes do; the first to come makes it.
                let mut history = History::open(path).unwrap();
                for i in 0..25 {
                    history.add(&run(&format!("w{writer}-{i}"), i, 1.0)).unwrap();
                }
            });
        }
    });
    let history = History::existing(&path).unwrap().unwrap();
    assert_eq!(history.runs(&Wanted::default()).unwrap().len(), 100);
    assert_eq!(history.series(&Wanted::default()).unwrap()[0].points.len(), 100);
}

#[test]
fn names_mean_one_run_or_none() {
    let folder = folder();
    let mut history = History::open(&folder.path().join("history.db")).unwrap();
    history.add(&run("aaaa1", 1, 1.0)).unwrap();
    history.add(&NewRun { label: Some("1".to_owned()), ..run("aaaa2", 2, 1.0) }).unwrap();
    history.add(&NewRun { project: "other".to_owned(), ..run("bbbb3", 3, 1.0) }).unwrap();
    let meant = |wanted: &str, project| history.run(wanted, project).map(|(row, _)| row.run);
    assert_eq!(meant("1", None).unwrap(), 1, "a number before a label");
    assert_eq!(meant("latest", Some("p")).unwrap(), 2, "of the project");
    assert_eq!(meant("latest", None).unwrap(), 3);
    assert!(matches!(meant("aaaa", None), Err(Error::Ambiguous { .. })));
    let only = Wanted { metric: Some("nothing".to_owned()), ..Wanted::default() };
    assert_eq!(history.runs(&only).unwrap(), []);
}

#[test]
fn what_contradicts_the_history_is_counted() {
    let folder = folder();
    let mut history = History::open(&folder.path().join("history.db")).unwrap();
    history.add(&run("a", 1, 1.0)).unwrap();
    let again = history.add(&run("a", 1, 1.0)).unwrap();
    assert_eq!((again.known_already, again.contradicted), (1, 0));
    assert_eq!(history.add(&run("a", 1, 2.0)).unwrap().contradicted, 1);
}

#[test]
fn odd_times_are_told() {
    let at = |timestamp: serde_json::Value| {
        let mut measured = Measured::default();
        measured.metadata.insert("timestamp".to_owned(), timestamp);
        NewRun::measured(&measured, "p", None)
    };
    assert_eq!(at(1_769_437_655.into()).at, 1_769_437_655_000_000);
    assert!(at("2026-01-26T14:27:35Z".into()).note.is_none());
    assert!(at("yesterday".into()).note.is_some_and(|note| note.contains("not understood")));
    assert!(at("9999-01-01T00:00:00Z".into()).note.is_some_and(|note| note.contains("still to come")));
}
