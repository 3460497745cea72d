//! Logs of torch.compile: two real ones (torch 2.15 on a CPU, paths replaced, settings of the machine left out), and what
//! damage makes of them.

use std::io::Read;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use gpuscope_formats::ReadError;
use gpuscope_formats::torch_trace::{is_one, read};
use gpuscope_testkit::mutate::mutate;
use gpuscope_trace::compile_log::{Cache, Compilation, CompileLog, Lookup, Piece};

/// Graph breaks by `print` and `.item()`, recompilations by sizes, values and types.
const BREAKS: &[u8] = include_bytes!("../data/torch_trace_breaks.log.gz");

/// A backward pass, a branch on data, failures, a backend without kernels.
const TRAINING: &[u8] = include_bytes!("../data/torch_trace_training.log.gz");

fn only(packed: &[u8]) -> CompileLog {
    let mut logs = read(packed).expect("a log");
    assert_eq!(logs.len(), 1);
    logs.remove(0)
}

fn text(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).expect("gzip");
    text
}

fn of<'l>(log: &'l CompileLog, id: &str) -> &'l Compilation {
    log.compilations.iter().find(|compilation| compilation.id.to_string() == id).expect("the compilation")
}

/// Launches in each piece of code.
fn kernels(compilation: &Compilation) -> Vec<Option<u64>> {
    let kernels = |piece: &Piece| match piece {
        Piece::Code { kernels, .. } => Some(*kernels),
        Piece::Graph { .. } => None,
    };
    compilation.pieces.iter().filter_map(kernels).collect()
}

#[test]
fn a_real_log_with_breaks() {
    let log = only(BREAKS);
    assert_eq!(log.quality, []);
    assert_eq!(log.torch_version.as_deref(), Some("2.15.0+cu132"));
    let ids: Vec<String> = log.compilations.iter().map(|compilation| compilation.id.to_string()).collect();
    assert_eq!(ids, ["0/0", "1/0", "2/0", "2/1", "0/1", "1/1", "2/2", "3/0", "3/1", "3/2"]);
    assert!(log.compilations.iter().all(|compilation| compilation.ended));

    let first = of(&log, "0/0");
    assert_eq!((first.code.file.as_deref(), first.code.line), (Some("/program/model.py"), Some(7)));
    assert_eq!((first.code.function.as_deref(), first.attempts), (Some("forward"), 2));
    let [found] = first.breaks.as_slice() else { panic!("{:?}", first.breaks) };
    assert_eq!((found.reason.as_str(), found.place.line), ("Failed to trace builtin operator", Some(10)));
    assert_eq!(found.hints.len(), 3);
    assert_eq!(found.stack.last().and_then(|place| place.function.as_deref()), Some("forward"));
    let item = &of(&log, "1/0").breaks[0];
    assert_eq!(item.reason, "Unsupported Tensor.item() call with capture_scalar_outputs=False");

    assert_eq!(
        of(&log, "0/1").recompile_reasons,
        ["0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6"]
    );
    assert_eq!(of(&log, "2/2").recompile_reasons.len(), 2);
    assert!(of(&log, "2/1").caches.contains(&(Cache::FxGraph, Lookup::Hit)));

    // One kernel for all six operators of the chain; a library's product and one fused kernel for the first frame.
    assert_eq!(kernels(of(&log, "3/0")), [Some(1)]);
    assert_eq!(kernels(first), [Some(2)]);
    // Forward and backward.
    assert_eq!(kernels(of(&log, "0/1")), [Some(2), Some(3)]);
}

#[test]
fn a_real_log_of_training() {
    let log = only(TRAINING);
    assert_eq!(log.quality, []);
    let ids: Vec<String> = log.compilations.iter().map(|compilation| compilation.id.to_string()).collect();
    assert_eq!(ids, ["0/0", "1/0", "2/0", "3/0", "4/0", "5/0"]);
    assert_eq!(kernels(of(&log, "0/0")).len(), 2);
    assert_eq!(of(&log, "1/0").breaks[0].reason, "Data-dependent branching");
    assert_eq!(of(&log, "3/0").breaks[0].reason, "Observed exception");
    assert_eq!(of(&log, "4/0").metrics.fail_type.as_deref(), Some("Unsupported"));
    assert_eq!(kernels(of(&log, "5/0")), []);
}

#[test]
fn a_gzip_file_that_breaks_off_is_read_up_to_there() {
    let log = only(&TRAINING[..TRAINING.len() / 2]);
    assert!(log.quality.iter().any(|note| note.message.contains("breaks off")), "{:?}", log.quality);
    assert!(!log.compilations.is_empty());
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let seeds = [text(TRAINING), text(BREAKS)[..200_000].to_vec()];
    let start = Instant::now();
    for round in 0u64.. {
        for seed in &seeds {
            let mut input = mutate(seed, round);
            for again in 0..round % 6 {
                input = mutate(&input, round * 77 + again);
            }
            match read(&input[..]) {
                Ok(logs) => assert!(logs.iter().all(|log| log.records > 0)),
                Err(error) => assert!(matches!(error, ReadError::NotALog | ReadError::Io(_)), "{error}"),
            }
        }
        if start.elapsed() > Duration::from_secs(3) {
            break;
        }
    }
}

#[test]
fn logs_are_told_by_their_beginning() {
    assert!(is_one(&text(TRAINING)[..512]) && is_one(&text(BREAKS)[..512]));
    assert!(!is_one(b"{\"schemaVersion\": 1, \"traceEvents\": [") && !is_one(b""));
}
