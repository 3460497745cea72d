"""What ``gpuscope.hta`` does with steps, annotations, paths, labels and figures, on traces of a few events."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest
from hta_traces import TraceText

pd = pytest.importorskip("pandas")

from gpuscope._lazy import need  # noqa: E402
from gpuscope.errors import MissingDependency, UsageError  # noqa: E402
from gpuscope.hta import TraceAnalysis, TraceDiff  # noqa: E402


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rank0.json"


def analysed(text: TraceText, file: Path) -> TraceAnalysis:
    return TraceAnalysis(trace_files=[text.write(file)])


def test_the_last_step_is_left_out_unless_it_is_to_count(file: Path) -> None:
    text = TraceText().step(1, 0, 100).step(2, 100, 200)
    # The first step's kernel runs while the second is under way: it counts where it was launched.
    text.kernel("early", 150, 160, launch=(10, 12)).kernel("late", 170, 190, launch=(110, 112))
    path = text.write(file)
    without = TraceAnalysis(trace_files=[path])
    assert without.get_profiler_steps() == [1] == without.t.get_iterations()
    assert without.get_temporal_breakdown(visualize=False)["compute_time(us)"].tolist() == [10]
    assert "late" not in set(without.t.symbol_table.decode(without.t.get_trace(0)["name"]))
    whole = TraceAnalysis(trace_files=[path], include_last_profiler_step=True)
    assert whole.get_profiler_steps() == [1, 2]
    assert whole.get_temporal_breakdown(visualize=False)["compute_time(us)"].tolist() == [30]
    assert len(whole.t.get_trace(0)) == 6 == len(without.t.get_trace(0)) + 3
    whole.t.align_and_filter_trace()
    assert whole.t.get_trace(0).index.equals(without.t.get_trace(0).index)


def test_times_since_1970(file: Path) -> None:
    text = TraceText().kernel("k", 7.5, 10)
    document = json.loads(text.write(file).read_text())
    file.write_text(json.dumps(document | {"baseTimeNanoseconds": 1_700_000_000_000_000_000}))
    trace = TraceAnalysis(trace_files=[file]).t
    assert trace.get_trace_start_unixtime_ns(0) == 1_700_000_000_000_007_500
    assert trace.min_ts == 7.5 and trace.get_trace_duration() == 2.5


def test_steps_that_are_not_the_profilers_are_never_left_out(file: Path) -> None:
    text = TraceText()
    for place in range(3):
        text.span("user_annotation", "Optimizer.step#Adam.step", 100 * place, 100 * place + 50)
        text.kernel("k", 100 * place + 20, 100 * place + 30, launch=(100 * place + 1, 100 * place + 2))
    row = analysed(text, file).get_temporal_breakdown(visualize=False).iloc[0]
    assert row["compute_time(us)"] == 30


def test_kernels_take_the_annotation_of_their_stream_that_began_last(file: Path) -> None:
    text = TraceText()
    for name, start, end, stream in [("outer", 0, 100, 7), ("inner", 20, 40, 7), ("other", 0, 100, 8)]:
        text.span("gpu_user_annotation", name, start, end, pid=0, tid=stream)
    for name, start, stream in [("a", 10, 7), ("b", 25, 7), ("c", 50, 7), ("d", 25, 8), ("e", 120, 7)]:
        text.kernel(name, start, start + 5, stream=stream)
    frame = analysed(text, file).get_gpu_kernels_with_user_annotations(0)
    assert frame is not None
    found = dict(zip(frame["s_name"], frame["s_user_annotation"], strict=True))
    assert found == {"a": "outer", "b": "inner", "c": "outer", "d": "other", "e": ""}
    assert frame["user_annotation"].eq(-1).tolist() == [name == "e" for name in frame["s_name"]]


def test_annotations_that_are_to_be_listed_are(file: Path) -> None:
    text = TraceText()
    for place, name in enumerate(["forward", "backward", "loss_1", "log"]):
        text.span("user_annotation", name, 1000 * place, 1000 * place + 100 - 10 * place)
    analyzer = analysed(text, file)

    def names(**options: object) -> list[str]:
        frame = analyzer.get_gpu_user_annotation_breakdown(False, visualize=False, **options)  # type: ignore[arg-type]
        assert frame is not None
        return sorted(frame["name"])

    assert names() == ["backward", "forward", "log", "loss_1"]
    assert names(num_kernels=1) == ["forward", "others"]
    assert names(num_kernels=1, allowlist_patterns=[r"^loss_\d$"]) == ["forward", "loss_1", "others"]
    assert names(duration_ratio=0.5) == ["backward", "forward", "others"]


def test_what_is_folded_has_the_statistics_of_all_of_it(file: Path) -> None:
    text = TraceText().span("user_annotation", "big", 0, 1000)
    lengths = {"a": [10, 30], "b": [5, 15, 25], "c": [7]}
    start = 2000
    for name, each in lengths.items():
        for length in each:
            text.span("user_annotation", name, start, start + length)
            start += 100
    frame = analysed(text, file).get_gpu_user_annotation_breakdown(False, visualize=False, num_kernels=1)
    assert frame is not None
    others = frame.set_index("name").loc["others"]
    each = pd.Series([length for several in lengths.values() for length in several])
    assert others["count"] == 6
    assert others["stddev"] == pytest.approx(each.std())
    assert others["mean (us)"] == pytest.approx(each.mean())
    assert (others["min (us)"], others["max (us)"], others["sum (us)"]) == (5, 30, 92)


def test_host_events_with_the_name_of_a_loader_are_data_loading(file: Path) -> None:
    text = (
        TraceText()
        .span("user_annotation", "step", 0, 100)
        .op("enumerate(DataLoader)#next", 0, 60)
        .op("mm", 60, 100)
    )
    analyzer = analysed(text, file)
    graph, found = analyzer.critical_path_analysis(0, "step", 0, data_load_events=[r"DataLo\w+"])
    assert found
    assert graph.summary()["data_loading"] == pytest.approx(60, abs=1)


def test_the_outermost_operators_of_a_sequence_are_marked(tmp_path: Path, file: Path) -> None:
    text = TraceText().op("aten::linear", 0, 40).op("aten::addmm", 5, 35)
    text.kernel("gemm", 100, 110, launch=(10, 12)).op("aten::relu", 50, 60)
    analysed(text, file).get_frequent_cuda_kernel_sequences(
        "aten::", tmp_path / "out", min_pattern_len=1, compress_other_kernels=False
    )
    document = json.loads((tmp_path / "out" / "overlaid_rank0.json").read_text())
    marks = {event["name"]: event["args"].get("Patterns") for event in document["traceEvents"]}
    pattern = {"aten::linear|gemm": 1}
    assert marks.pop("aten::linear") == marks.pop("gemm") == pattern
    assert set(marks) == {"aten::addmm", "aten::relu", "cudaLaunchKernel"} and not any(marks.values())


def test_copies_on_the_critical_path_count_as_gpu_work(file: Path) -> None:
    text = TraceText().span("user_annotation", "step", 0, 20).op("aten::copy_", 0, 10)
    text.copy(8, 508, 4096, launch=(2, 5))
    graph, found = analysed(text, file).critical_path_analysis(0, "step", 0)
    assert found
    assert graph.summary()["gpu_compute_bound"] > 90


def test_a_named_stretch_is_whole_even_if_it_is_the_last_step(file: Path) -> None:
    text = TraceText().step(1, 0, 100).step(2, 100, 200)
    text.op("aten::mm", 10, 20).kernel("early", 25, 30, launch=(12, 14))
    text.op("aten::mm", 110, 120).kernel("late", 125, 500, launch=(112, 114))
    graph, found = analysed(text, file).critical_path_analysis(0, "ProfilerStep", 1)
    assert found
    breakdown = graph.get_critical_path_breakdown()
    assert "late" in set(breakdown["s_name"]) and breakdown["index"].ge(0).all()


def test_names_are_new_gone_more_or_less_often(tmp_path: Path) -> None:
    counts = {
        "a": {"gone": 1, "more": 1, "less": 2, "same": 1},
        "b": {"new": 1, "more": 2, "less": 1, "same": 1},
    }
    for side, of_side in counts.items():
        (tmp_path / side).mkdir()
        text = TraceText().step(1, 0, 1000)
        places = iter(range(10, 1000, 10))
        for name, count in of_side.items():
            for place in [next(places) for _ in range(count)]:
                text.op(name, place, place + 5)
        text.write(tmp_path / side / "rank0.json")
    assert TraceDiff.ops_diff(tmp_path / "a", tmp_path / "b") == {
        "added": ["new"],
        "deleted": ["gone"],
        "increased": ["more"],
        "decreased": ["less"],
        "unchanged": ["ProfilerStep#1", "same"],
    }


def test_traces_with_one_label_are_told_apart(tmp_path: Path) -> None:
    for name, count in [("a", 1), ("b", 2)]:
        (tmp_path / name).mkdir()
        text = TraceText().step(1, 0, 100)
        for place in range(count):
            text.op("aten::mm", 10 + 20 * place, 20 + 20 * place)
        text.write(tmp_path / name / "rank0.json")
    frame = TraceDiff.compare_traces(str(tmp_path / "a"), str(tmp_path / "b"))
    assert frame.loc["aten::mm"].to_dict() == {
        "Control_counts": 1,
        "Control_total_duration": 10.0,
        "Test_counts": 2,
        "Test_total_duration": 20.0,
        "diff_counts": 1,
        "diff_duration": 10.0,
        "counts_change_categories": "+",
    }
    with pytest.raises(UsageError, match="iteration 5: there is none; there are 1"):
        TraceDiff.compare_traces(str(tmp_path / "a"), str(tmp_path / "b"), control_iteration=5)


def test_without_plotly_tables_are_returned_with_a_warning(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.io", None)
    analyzer = analysed(TraceText().kernel("k", 0, 10), file)
    with pytest.warns(UserWarning, match="no figures are shown"):
        frame = analyzer.get_temporal_breakdown()
    assert len(frame) == 1


def test_no_browser_is_opened(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly")
    monkeypatch.delenv("PLOTLY_RENDERER", raising=False)
    monkeypatch.setattr("webbrowser.open", lambda *_: pytest.fail("a browser was opened"))
    analyzer = analysed(TraceText().kernel("k", 0, 10), file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analyzer.get_temporal_breakdown()
        analyzer.get_gpu_kernel_breakdown()


def test_without_pandas_it_is_said_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = analysed(TraceText().kernel("k", 0, 10), file)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (
        analyzer.get_temporal_breakdown,
        analyzer.t.get_all_traces,
        analyzer.get_queue_length_summary,
    ):
        with pytest.raises(MissingDependency, match=r"needs pandas: pip install 'gpuscope\[pandas\]'"):
            ask()


def test_without_pyarrow_frames_are_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TraceText().step(1, 0, 50).op("aten::mm", 1, 9).kernel("k", 20, 30, launch=(5, 7))
    # An instant has neither a duration nor, in a broken file, a time.
    text.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100})
    before = analysed(text, file).t.get_trace(0)

    def need_without_pyarrow(library: str, what_for: str) -> ModuleType:
        if library == "pyarrow":
            raise MissingDependency(what_for)
        return need(library, what_for)

    monkeypatch.setattr("gpuscope.table.need", need_without_pyarrow)
    after = analysed(text, file).t.get_trace(0)
    pd.testing.assert_frame_equal(before, after, check_dtype=False)
    assert len(after) == 4
