use std::io::Write;

use gpuscope_trace::compile_log::{Calls, Edge, GraphKind, Piece};
use gpuscope_trace::{Code, Ns};

use super::*;

/// A record of the process 42, its payload behind tabs.
fn record(json: &str, payload: &str) -> String {
    let payload: String = payload.lines().flat_map(|line| ["\t", line, "\n"]).collect();
    format!("V0401 12:34:56.123456 42 torch/_dynamo/utils.py:7] {json}\n{payload}")
}

fn event(name: &str, edge: &str, us: i64, id: &str) -> String {
    let payload =
        format!(r#"{{"name": "{name}", "ts": {us}.5, "ph": "{edge}", "args": {{"compile_id": "{id}"}}}}"#);
    record(r#"{"chromium_event": {}, "has_payload": "md5"}"#, &payload)
}

const OF_FRAME: &str = r#""frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "md5""#;

fn sample() -> String {
    [
        record(r#"{"str": ["net/model.py", 0]}"#, ""),
        record(
            &format!(
                r#"{{"dynamo_start": {{"stack": [{{"line": 3, "name": "main", "filename": 0}},
                {{"line": 9, "name": "forward", "filename": 0}}]}}, {}}}"#,
                OF_FRAME.replace(r#", "has_payload": "md5""#, "")
            )
            .replace('\n', ""),
            "",
        ),
        event("entire_frame_compile", "B", 10, "0/0"),
        record(
            &format!(r#"{{"aot_inference_graph": {{}}, {OF_FRAME}}}"#),
            "    a = torch.ops.aten.relu.default(x)",
        ),
        record(
            &format!(r#"{{"inductor_output_code": {{}}, {OF_FRAME}}}"#),
            "# AOT ID: ['0_inference']\ndef call(args):\n    extern_kernels.mm(a, b)",
        ),
        record(&format!(r#"{{"artifact": {{"name": "fx_graph_cache_miss"}}, {OF_FRAME}}}"#), "{}"),
        event("entire_frame_compile", "E", 25, "0/0"),
    ]
    .concat()
}

fn logs(text: &str) -> Vec<CompileLog> {
    read(text.as_bytes()).unwrap()
}

fn codes(logs: &[CompileLog]) -> Vec<(Code, u64)> {
    logs.iter().flat_map(|log| &log.quality).map(|note| (note.code, note.count)).collect()
}

#[test]
fn a_compilation_is_what_its_records_say() {
    let logs = logs(&sample());
    let [log] = logs.as_slice() else { panic!("{}", logs.len()) };
    let [compilation] = log.compilations.as_slice() else { panic!("{:?}", log.compilations) };
    assert_eq!((log.records, log.rank, compilation.attempts), (7, None, 1));
    assert_eq!(compilation.code.function.as_deref(), Some("forward"));
    assert_eq!((compilation.code.file.as_deref(), compilation.code.line), (Some("net/model.py"), Some(9)));
    let calls = Calls { operators: 1, views: 0 };
    assert_eq!(compilation.pieces[0], Piece::Graph { kind: GraphKind::Inference, calls });
    assert!(matches!(compilation.pieces[1], Piece::Code { kernels: Some(1), .. }));
    let marks: Vec<_> = log.marks.iter().map(|mark| (mark.edge, mark.at, mark.compilation)).collect();
    assert_eq!(marks, [(Edge::Begin, Ns(10_500), Some(0)), (Edge::End, Ns(25_500), Some(0))]);
    assert_eq!(codes(&logs), []);
}

#[test]
fn it_is_the_same_compressed() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(sample().as_bytes()).unwrap();
    let packed = read(&gzip.finish().unwrap()[..]).unwrap();
    assert_eq!(packed[0].compilations, logs(&sample())[0].compilations);
}

#[test]
fn other_output_between_records_is_counted() {
    let text = format!("hello\n\n{}W0401 12:34:56.123456 42 a.py:7] [0/0] Graph break\n", sample());
    let logs = logs(&text);
    assert_eq!(codes(&logs), [(Code::UnknownEvents, 2)]);
    assert_eq!(logs[0].compilations.len(), 1);
    assert!(is_one(text.as_bytes()) && !is_one(b"hello\n{\"traceEvents\": []}"));
}

#[test]
fn damage_costs_the_damaged_record_only() {
    let odd = [
        record(r#"{"str": ["cut"#, ""),
        record(r#"{"rank": "three"}"#, ""),
        record(r#"{"chromium_event": {}, "has_payload": "md5"}"#, "{\"name\": "),
        record(r#"{"chromium_event": {}, "has_payload": "md5"}"#, ""),
    ]
    .concat();
    let logs = logs(&format!("{odd}{}", sample()));
    assert_eq!(codes(&logs), [(Code::MalformedEvents, 4)]);
    assert_eq!(logs[0].compilations.len(), 1);
}

#[test]
fn a_log_that_ends_early_says_so_wherever_it_is_cut() {
    let whole = sample();
    for cut in whole.len() / 2..whole.len() - 1 {
        let logs = logs(&whole[..cut]);
        let is_cut = !whole[..cut].ends_with(['\n', '}', '[', ']', ')']);
        let said =
            codes(&logs).iter().any(|(code, _)| matches!(code, Code::Truncated | Code::MalformedEvents));
        assert!(said || !is_cut, "{cut}: {:?}", &whole[cut.saturating_sub(40)..cut]);
    }
    let without_end = whole.trim_end();
    assert_eq!(codes(&logs(without_end)), [(Code::Truncated, 1)]);
}

#[test]
fn no_record_is_no_log() {
    for other in ["", "\n", "hello\n", "\tpayload\n", "{\"traceEvents\": []}"] {
        assert!(matches!(read(other.as_bytes()), Err(ReadError::NotALog)), "{other}");
    }
}

#[test]
fn ranks_in_one_file_are_told_apart() {
    let of = |rank: u32, writer: u32| {
        let text = format!(
            r#"{{"dynamo_start": {{"stack": []}}, "rank": {rank}, "frame_id": 0, "frame_compile_id": 0}}"#
        );
        record(&text, "").replace(" 42 ", &format!(" {writer} "))
    };
    let text = [of(1, 7), of(0, 8), of(1, 7)].concat();
    let ranks: Vec<_> = logs(&text).iter().map(|log| (log.rank, log.records)).collect();
    assert_eq!(ranks, [(Some(0), 1), (Some(1), 2)]);
}

#[test]
fn records_from_before_a_process_knew_its_rank_are_its_own() {
    let later =
        record(r#"{"dynamo_start": {"stack": []}, "rank": 3, "frame_id": 1, "frame_compile_id": 0}"#, "");
    let later = later.replace(" 42 ", " 43 ");
    let logs = logs(&format!("{}{later}{}", sample(), event("gc", "B", 30, "1/0").replace(" 42 ", " 43 ")));
    assert_eq!(logs.len(), 1);
    assert_eq!((logs[0].rank, logs[0].records), (Some(3), 9));
    let ids: Vec<_> = logs[0].compilations.iter().map(|c| c.id.to_string()).collect();
    assert_eq!(ids, ["0/0", "1/0"]);
    assert_eq!(logs[0].marks.last().unwrap().compilation, Some(1));
}

#[test]
fn an_id_may_be_given_again_once_its_compilation_has_ended() {
    let metrics = record(
        r#"{"compilation_metrics": {"co_name": "f", "entire_frame_compile_time_s": 1}, "frame_id": 0, "frame_compile_id": 0}"#,
        "",
    );
    let logs = logs(&format!("{0}{metrics}{0}", sample()));
    let ended: Vec<_> = logs[0].compilations.iter().map(|c| (c.ended, c.metrics.whole)).collect();
    assert_eq!(ended, [(true, Some(Ns(1_000_000_000))), (false, None)]);
    assert_eq!(logs[0].marks.last().unwrap().compilation, Some(1));
}
