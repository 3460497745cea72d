use gpuscope_trace::compile_log::{
    Cache, Calls, CompileId, CompileMetrics, Direction, Edge, GraphBreak, GraphKind, Mark, Piece, Place,
};

use super::*;

fn id(frame: i64, compile: i64) -> CompileId {
    CompileId { autograd: None, frame: Some(frame), compile: Some(compile) }
}

fn place(line: i64) -> Place {
    Place { file: Some("model.py".to_owned()), line: Some(line), function: Some("forward".to_owned()) }
}

fn compiled(frame: i64, compile: i64) -> Compilation {
    Compilation { id: id(frame, compile), code: place(7), attempts: 1, ended: true, ..Compilation::default() }
}

fn log(compilations: Vec<Compilation>) -> CompileLog {
    CompileLog { compilations, records: 9, ..CompileLog::default() }
}

/// Marks from `(name, begins, at, compilation)`.
fn marked(mut log: CompileLog, marks: &[(&str, bool, i64, Option<u32>)]) -> CompileLog {
    for (name, begins, at, compilation) in marks {
        let edge = if *begins { Edge::Begin } else { Edge::End };
        let name = log.names.intern(name.as_bytes());
        log.marks.push(Mark { name, at: Ns(*at), edge, compilation: *compilation });
    }
    log
}

fn answer(log: &CompileLog) -> CompileAnswer {
    merge(vec![local(0, log)])
}

#[test]
fn every_nanosecond_belongs_to_the_innermost_phase() {
    let marks = [
        ("dynamo", true, 0, Some(0)),
        ("backend_compile", true, 10, Some(0)),
        ("inductor_compile", true, 30, Some(0)),
        ("Scheduler.fused_nodes", true, 35, Some(0)),
        ("Scheduler.fused_nodes", false, 40, Some(0)),
        ("code_gen", true, 60, Some(0)),
        ("compile_file", true, 61, None),
        ("async_compile.wait", true, 70, Some(0)),
        ("compile_file", false, 89, None),
        ("async_compile.wait", false, 90, Some(0)),
        ("code_gen", false, 95, Some(0)),
        ("inductor_compile", false, 100, Some(0)),
        ("backend_compile", false, 110, Some(0)),
        ("dynamo", false, 125, Some(0)),
    ];
    let answer = answer(&marked(log(vec![compiled(0, 0)]), &marks));
    let phases: Vec<_> = answer.phases.iter().map(|p| (p.phase.label(), p.time_ns.0)).collect();
    assert_eq!(phases, [("dynamo", 25), ("aot", 30), ("inductor", 35), ("codegen", 15), ("kernels", 20)]);
    assert_eq!((answer.compile_time_ns, answer.frames[0].compile_ns), (Ns(125), Ns(125)));
    let of = |name: &str| answer.timed.iter().find(|row| row.name == name).unwrap();
    assert_eq!((of("inductor_compile").total_ns, of("inductor_compile").own_ns), (Ns(70), Some(Ns(30))));
    assert_eq!((of("compile_file").total_ns, of("compile_file").own_ns), (Ns(28), None));
    let own: Ns = answer.timed.iter().filter_map(|row| row.own_ns).sum();
    assert_eq!(own, Ns(125));
}

#[test]
fn marks_that_do_not_fit_cost_nothing_else() {
    let marks = [
        ("gc", false, 0, Some(0)),
        ("dynamo", true, 10, Some(0)),
        ("bytecode_tracing", true, 20, Some(0)),
        ("gc", true, 15, Some(0)),
        // Ends what is still open inside.
        ("dynamo", false, 50, Some(0)),
        ("compile_file", false, 60, None),
        // The process ends here.
        ("dynamo", true, 70, Some(1)),
        ("build_guards", true, 75, Some(1)),
    ];
    let answer = answer(&marked(log(vec![compiled(0, 0), compiled(1, 0)]), &marks));
    assert_eq!(answer.frames[1].compile_ns, Ns(5));
    assert!(
        answer.compile_time_ns >= Ns(45) && answer.compile_time_ns <= Ns(55),
        "{}",
        answer.compile_time_ns
    );
}

#[test]
fn without_marks_torchs_own_sums_are_taken() {
    let ns = |ns| Some(Ns(ns));
    let metrics = CompileMetrics {
        whole: ns(100),
        backend: ns(70),
        inductor: ns(50),
        code_gen: ns(45),
        ..CompileMetrics::default()
    };
    let answer = answer(&log(vec![Compilation { metrics, ..compiled(0, 0) }]));
    let times = answer.frames[0].times;
    assert_eq!(
        (times.dynamo_ns, times.aot_ns, times.inductor_ns, times.codegen_ns),
        (Ns(30), Ns(20), Ns(5), Ns(45))
    );
    assert_eq!(answer.compile_time_ns, Ns(100));
}

fn broken(reason: &str, line: i64) -> GraphBreak {
    let hints = vec!["Do this.".to_owned(), "Please report an issue to PyTorch.".to_owned()];
    let torch = Place { file: Some("/lib/torch/nn/module.py".to_owned()), ..place(1) };
    let stack = vec![place(3), torch, place(line)];
    GraphBreak { reason: reason.to_owned(), hints, place: place(line), stack, ..GraphBreak::default() }
}

#[test]
fn a_break_met_again_is_one_row() {
    let first = Compilation { breaks: vec![broken("a", 10)], ..compiled(0, 0) };
    let again = Compilation { breaks: vec![broken("a", 10), broken("b", 10)], ..compiled(0, 1) };
    let log = log(vec![first, again]);
    let answer = merge(vec![local(0, &log), local(1, &log)]);
    let rows: Vec<_> = answer.breaks.iter().map(|b| (b.rank, b.reason.as_str(), b.count)).collect();
    assert_eq!(rows, [(0, "a", 2), (0, "b", 1), (1, "a", 2), (1, "b", 1)]);
    assert_eq!(answer.total_graph_breaks, 2);
    let row = &answer.breaks[0];
    assert_eq!(
        (row.suggestion.as_str(), &row.compile_ids[..]),
        ("Do this.", &["0/0".to_owned(), "0/1".to_owned()][..])
    );
    assert_eq!(row.user_stack, ["model.py:3 forward", "model.py:10 forward"]);
    assert!(answer.recommendations[0].contains("model.py:10: a. Do this."), "{:?}", answer.recommendations);
}

#[test]
fn restarts_stand_for_breaks_where_the_log_has_none() {
    let restart_reasons = vec!["call_function print\n  more".to_owned(), "<class 'Restart'>".to_owned()];
    let metrics = CompileMetrics { restart_reasons, ..CompileMetrics::default() };
    let only = Compilation { metrics, ..compiled(0, 0) };
    let answer = answer(&log(vec![only.clone()]));
    assert_eq!((answer.breaks[0].reason.as_str(), answer.breaks[0].line), ("call_function print", None));
    assert!(answer.breaks[0].suggestion.contains("print"));
    let with_break = Compilation { breaks: vec![broken("a", 10)], ..only };
    assert_eq!(super::merge(vec![local(0, &log(vec![with_break]))]).breaks.len(), 1);
}

#[test]
fn recompilations_say_what_changed() {
    let reasons = vec!["0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6".to_owned()];
    let again = Compilation { recompile_reasons: reasons, ..compiled(0, 1) };
    let answer = answer(&log(vec![compiled(0, 0), again, compiled(1, 1)]));
    let rows: Vec<_> = answer.recompiles.iter().map(|r| (r.compile_id.as_str(), r.change.label())).collect();
    assert_eq!(rows, [("0/1", "size"), ("1/1", "unknown")]);
    assert_eq!(answer.recompiles[0].instead_of.as_deref(), Some("0/0"));
    assert!(answer.recommendations.iter().any(|text| text.contains("dynamic=True")));
}

#[test]
fn fusion_is_of_frames_whose_kernels_are_known() {
    let graph = |operators| Piece::Graph { kind: GraphKind::Inference, calls: Calls { operators, views: 2 } };
    let code = |kernels| Piece::Code { made_from: Some((0, Direction::Forward)), kernels };
    let known = Compilation { pieces: vec![graph(6), code(Some(2))], ..compiled(0, 0) };
    let unknown = Compilation { pieces: vec![graph(50), code(None)], ..compiled(1, 0) };
    let failed = CompileMetrics { fail_type: Some("E".to_owned()), ..CompileMetrics::default() };
    let failed = Compilation { metrics: failed, ..compiled(2, 0) };
    let mut cached = compiled(3, 0);
    cached.caches =
        vec![(Cache::FxGraph, Lookup::Hit), (Cache::FxGraph, Lookup::Bypass), (Cache::Autograd, Lookup::Hit)];
    let unfinished = Compilation { ended: false, ..compiled(4, 0) };
    let answer = answer(&log(vec![known, unknown, failed, cached, unfinished]));
    assert_eq!((answer.ops_before_fusion, answer.ops_after_fusion, answer.fusion_ratio), (6, 2, Some(3.0)));
    let status: Vec<_> = answer.frames.iter().map(|frame| frame.status.label()).collect();
    assert_eq!(status, ["compiled", "compiled", "failed", "compiled", "unfinished"]);
    let rank = &answer.ranks[0];
    assert_eq!((rank.failed, rank.cache_hits, rank.cache_bypasses), (1, 1, 1));
    assert_eq!(answer.frames[1].ops_after_fusion, None);
}

#[test]
fn nothing_compiled_is_an_answer() {
    let answer = answer(&log(Vec::new()));
    assert_eq!((answer.fusion_ratio, answer.compile_time_ns), (None, Ns::ZERO));
    assert!(answer.recommendations.is_empty());
}
