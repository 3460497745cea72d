//! `compile` on planted logs: every number is known.

use crate::support::{Folder, gzip, rank};

/// A record, its payload behind tabs.
fn record(json: &str, payload: &str) -> String {
    let payload: String = payload.lines().flat_map(|line| ["\t", line, "\n"]).collect();
    format!("V0401 12:34:56.123456 42 torch/_dynamo/utils.py:7] {json}\n{payload}")
}

fn event(name: &str, edge: char, us: u32, id: &str) -> String {
    let payload =
        format!(r#"{{"name": "{name}", "ts": {us}, "ph": "{edge}", "args": {{"compile_id": "{id}"}}}}"#);
    record(r#"{"chromium_event": {}, "has_payload": "md5"}"#, &payload)
}

fn of_frame(id: &str, members: &str, payload: &str) -> String {
    let (frame, compile) = id.split_once('/').expect("an id");
    let json = format!(
        r#"{{{members}, "frame_id": {frame}, "frame_compile_id": {compile}, "attempt": 0, "has_payload": "md5"}}"#
    );
    record(&json, payload)
}

const GRAPH: &str = r#"class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4]"):
        mul: "f32[4]" = torch.ops.aten.mul.Tensor(arg0_1, 2)
        relu: "f32[4]" = torch.ops.aten.relu.default(mul);  mul = None
        view: "f32[4]" = torch.ops.aten.view.default(relu, [4])
        mm: "f32[4]" = torch.ops.aten.mm.default(view, view)
        return (mm,)"#;

const CODE: &str = "# AOT ID: ['0_inference']
triton_poi_fused_mul_relu_0 = async_compile.triton('triton_poi_fused_mul_relu_0', '''
''', device_str='cuda')
def call(args):
    triton_poi_fused_mul_relu_0.run(arg0_1, buf0, 4, stream=stream0)
    extern_kernels.mm(buf0, buf0, out=buf1)
    return (buf1, )";

const BREAK: &str = "Graph break in user code at model.py:10
Graph Break Reason: Failed to trace builtin operator
  Explanation: Dynamo cannot follow `print`.
  Hint: Leave it out.
User code traceback:
  File \"train.py\", line 3, in <module>
  File \"model.py\", line 10, in forward";

/// Two compilations of one frame, 100 and 50 µs long.
pub(crate) fn log() -> String {
    let start = r#""dynamo_start": {"stack": [{"line": 3, "name": "<module>", "filename": 1}, {"line": 7, "name": "forward", "filename": 0}]}"#;
    let metrics = r#""compilation_metrics": {"co_name": "forward", "co_filename": "model.py", "co_firstlineno": 7, "guard_count": 5}"#;
    [
        record(r#"{"str": ["model.py", 0]}"#, ""),
        record(r#"{"str": ["train.py", 1]}"#, ""),
        record(
            r#"{"artifact": {"name": "torch_version"}, "has_payload": "md5"}"#,
            r#"{"pytorch_version": "2.15.0"}"#,
        ),
        event("dynamo", 'B', 0, "0/0"),
        of_frame("0/0", start, "").replace(r#", "has_payload": "md5""#, ""),
        of_frame("0/0", r#""artifact": {"name": "dynamo_graph_break_reason"}"#, BREAK),
        event("backend_compile", 'B', 10, "0/0"),
        of_frame("0/0", r#""aot_inference_graph": {}"#, GRAPH),
        event("inductor_compile", 'B', 30, "0/0"),
        event("code_gen", 'B', 60, "0/0"),
        of_frame("0/0", r#""inductor_output_code": {"filename": "x.py"}"#, CODE),
        of_frame("0/0", r#""artifact": {"name": "fx_graph_cache_miss"}"#, "{}"),
        event("code_gen", 'E', 80, "0/0"),
        event("inductor_compile", 'E', 85, "0/0"),
        event("backend_compile", 'E', 90, "0/0"),
        of_frame("0/0", metrics, "").replace(r#", "has_payload": "md5""#, ""),
        event("dynamo", 'E', 100, "0/0"),
        event("dynamo", 'B', 200, "0/1"),
        of_frame(
            "0/1",
            r#""artifact": {"name": "recompile_reasons"}"#,
            r#"["0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6"]"#,
        ),
        of_frame("0/1", r#""artifact": {"name": "dynamo_graph_break_reason"}"#, BREAK),
        of_frame("0/1", metrics, "").replace(r#", "has_payload": "md5""#, ""),
        event("dynamo", 'E', 250, "0/1"),
    ]
    .concat()
}

#[test]
fn a_planted_log_is_answered_exactly() {
    let folder = Folder::new();
    folder.write("logs/dedicated_log_torch_trace_x7k2.log", log()).write("logs/notes.txt", "not a log");
    let table = folder.run(&["compile", "@logs"]);
    assert_eq!((table.exit, table.err.as_str()), (0, ""));
    insta::assert_snapshot!("compile_table", table.out);
    insta::assert_json_snapshot!("compile_json", folder.run(&["compile", "@logs", "--json"]).json());
}

#[test]
fn every_process_is_a_rank() {
    let folder = Folder::new();
    folder
        .write("logs/dedicated_log_torch_trace_rank_3_a.log", log())
        .write("logs/dedicated_log_torch_trace_rank_1_b.log.gz", gzip(&log()));
    let ran = folder.run(&["compile", "@logs", "--json"]);
    assert_eq!(ran.ranks(), [1, 3]);
    let json = ran.json();
    assert_eq!(json["data"]["total_graph_breaks"], 1, "one place, on both ranks");
    assert_eq!(json["data"]["compile_time_ns"], 150_000, "ranks compile at the same time");
    folder.write("logs/dedicated_log_torch_trace_rank_1_c.log", log());
    assert!(folder.run(&["compile", "@logs", "--json"]).codes().contains(&"duplicate_rank".to_owned()));
}

#[test]
fn tables_can_be_picked_and_pages_written() {
    let folder = Folder::new();
    folder.write("a.log", log());
    let breaks = folder.run(&["compile", "@a.log", "--csv", "--table", "breaks"]);
    assert_eq!(breaks.out.lines().count(), 2, "{}", breaks.out);
    assert!(breaks.out.contains("Leave it out."), "{}", breaks.out);
    for name in ["@c.html", "@c.md", "@c.pdf", "@c.xlsx", "@c.json"] {
        let ran = folder.run(&["compile", "@a.log", "-o", name]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{name}");
    }
    assert!(folder.read("c.html").contains("Failed to trace builtin operator"));
    assert_eq!(folder.run(&["compile", "@a.log", "-o", "@c.svg"]).exit, 2);
}

#[test]
fn what_is_no_log_is_named_with_the_way_out() {
    let folder = Folder::new();
    folder.write("rank0.json", rank(0).to_json()).write("empty/notes.txt", "hello");
    let trace = folder.run(&["compile", "@rank0.json"]);
    assert_eq!(trace.exit, 3);
    assert!(
        trace.err.contains("rank0.json: expected a log of torch.compile, found a trace"),
        "{}",
        trace.err
    );
    assert!(trace.err.contains("TORCH_TRACE=logs python train.py"), "{}", trace.err);
    let none = folder.run(&["compile", "@empty"]);
    assert_eq!(none.exit, 3);
    assert!(none.err.contains("empty: expected at least one log of torch.compile"), "{}", none.err);
    assert_eq!(folder.run(&["compile", "@nowhere"]).exit, 3);
}

#[test]
fn one_damaged_log_among_others_is_said() {
    let folder = Folder::new();
    let whole = log();
    folder.write("logs/a.log", &whole).write("logs/b.log", &whole[..whole.len() - 20]);
    let ran = folder.run(&["compile", "@logs", "--json"]);
    assert_eq!(ran.codes(), ["truncated"]);
    assert_eq!(ran.ranks(), [0, 1]);
    let input = folder.run(&["compile", "@logs/a.log", "-o", "@logs/a.log", "--json"]);
    assert_eq!(input.exit, 2, "an input is not written over");
}
