"""HTA's own examples run with only the package's name changed: its guide, its feature pages, its notebooks.

Old names that its pages still use (`get_frequent_cuda_kernel_patterns`, `get_queue_length_series`) work, too.
"""

from __future__ import annotations

import base64
import inspect
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("plotly")

from gpuscope.hta.trace_analysis import TraceAnalysis  # noqa: E402
from gpuscope.hta.utils.utils import shorten_name  # noqa: E402


@pytest.fixture
def figures() -> Iterator[list[dict[str, Any]]]:
    """All figures that are shown, by a renderer that keeps them."""
    import plotly.io as pio
    from plotly.io.base_renderers import ExternalRenderer

    shown: list[dict[str, Any]] = []

    class Kept(ExternalRenderer):  # type: ignore[misc]  # plotly has no types.
        def render(self, fig_dict: dict[str, Any]) -> None:
            shown.append(fig_dict)

    pio.renderers["kept"] = Kept()
    before, pio.renderers.default = pio.renderers.default, "kept"
    yield shown
    pio.renderers.default = before


def titles(figures: list[dict[str, Any]]) -> list[str]:
    return [figure["layout"]["title"]["text"] for figure in figures]


def numbers(values: Any) -> Any:
    """The numbers of a figure, which newer releases of plotly pack."""
    import numpy as np

    packed = isinstance(values, dict)
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]) if packed else np.array(values)


@pytest.fixture
def traces(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `traces/` of the examples, in the current one."""
    shutil.copytree(corpus / "two_ranks", tmp_path / "traces")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "traces"


def test_the_page_on_kernel_breakdown(traces: Path, figures: list[dict[str, Any]]) -> None:
    analyzer = TraceAnalysis(trace_dir="traces/")

    kernel_type_metrics_df, kernel_metrics_df = analyzer.get_gpu_kernel_breakdown()

    assert kernel_type_metrics_df["sum"].is_monotonic_decreasing
    statistics = ["count", "min (us)", "max (us)", "mean (us)", "stddev", "sum (us)", "kernel_type"]
    assert set(statistics) <= set(kernel_metrics_df.columns)
    assert set(kernel_metrics_df["rank"]) == {0, 1}
    # "The first dataframe contains the raw values used to generate the Pie chart."
    pie = figures[0]["data"][0]
    assert pie["type"] == "pie"
    assert list(pie["labels"]) == kernel_type_metrics_df["kernel_type"].tolist()
    # "Pie charts of the top kernels for each kernel type for each rank."
    of_kinds = [figure for figure in figures if "kernel distribution on each rank" in str(figure["layout"])]
    assert len(of_kinds) == kernel_metrics_df["kernel_type"].nunique()
    assert all([pie["title"]["text"] for pie in f["data"]] == ["Rank 0", "Rank 1"] for f in of_kinds)
    # Kernels whose short names are equal have slices of their own.
    slices = sum(len(set(pie["labels"])) for figure in of_kinds for pie in figure["data"])
    assert slices == len(kernel_metrics_df)
    # "Bar graphs of the average duration across all ranks for each of the top kernels"
    bars = [figure for figure in figures if figure["data"][0]["type"] == "bar"]
    listed = kernel_metrics_df[kernel_metrics_df["name"].ne("others")]
    assert len(bars) == len(listed.drop_duplicates(["kernel_type", "name"]))
    # "The black lines indicate the minimum and maximum time taken on each rank."
    collective = next(figure for figure in bars if "nccl" in figure["layout"]["title"]["text"])
    (bar,) = collective["data"]
    title = collective["layout"]["title"]["text"]
    of_kernel = listed[[title.endswith(f" - {shorten_name(name)}") for name in listed["name"]]]
    mean, above, below = map(numbers, (bar["y"], bar["error_y"]["array"], bar["error_y"]["arrayminus"]))
    assert mean.tolist() == of_kernel["mean (us)"].tolist()
    assert (mean + above).tolist() == pytest.approx(of_kernel["max (us)"].tolist())
    assert (mean - below).tolist() == pytest.approx(of_kernel["min (us)"].tolist())


def test_the_arguments_of_that_page(traces: Path, figures: list[dict[str, Any]]) -> None:
    analyzer = TraceAnalysis(trace_dir="traces/")
    _, top5 = analyzer.get_gpu_kernel_breakdown(num_kernels=5, duration_ratio=0.8, image_renderer="kept")
    assert figures, "the renderer that was named has shown them"
    listed = top5[top5["name"].ne("others")].groupby(["rank", "kernel_type"]).size()
    assert listed.max() == 5
    types, kernels = analyzer.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=False)
    assert not types["kernel_type"].str.contains("MEMORY").any()
    assert set(kernels["kernel_type"]) == {"COMPUTATION", "COMMUNICATION"}
    signature = inspect.signature(analyzer.get_gpu_kernel_breakdown)
    assert list(signature.parameters) == [
        *("visualize", "duration_ratio", "num_kernels", "include_memory_kernels", "image_renderer")
    ]


def test_the_guide(traces: Path, tmp_path: Path, figures: list[dict[str, Any]]) -> None:
    analyzer = TraceAnalysis(trace_dir=str(traces))

    # Temporal breakdown
    temporal_breakdown_df = analyzer.get_temporal_breakdown()

    # Idle time breakdown
    idle_time_df = analyzer.get_idle_time_breakdown()

    # Kernel breakdown
    kernel_breakdown_df = analyzer.get_gpu_kernel_breakdown()

    # Communication computation overlap
    comm_comp_overlap_df = analyzer.get_comm_comp_overlap()

    # Memory bandwidth time series
    memory_bw_series = analyzer.get_memory_bw_time_series()

    # Memory bandwidth summary
    memory_bw_summary = analyzer.get_memory_bw_summary()

    # Queue length time series
    ql_series = analyzer.get_queue_length_time_series()

    # Queue length summary
    ql_summary = analyzer.get_queue_length_summary()

    # CUDA kernel launch statistics
    cuda_kernel_launch_stats = analyzer.get_cuda_kernel_launch_stats()

    # Frequent CUDA kernel sequences
    frequent_patterns_df = analyzer.get_frequent_cuda_kernel_sequences(
        operator_name="aten::linear", output_dir=str(tmp_path / "output")
    )

    assert temporal_breakdown_df["rank"].tolist() == [0, 1]
    assert len(idle_time_df) == 2 and idle_time_df[1] is None
    assert len(kernel_breakdown_df) == 2
    assert comm_comp_overlap_df["comp_comm_overlap_pctg"].between(0, 100).all()
    assert set(memory_bw_series) == set(ql_series) == set(cuda_kernel_launch_stats) == {0, 1}
    assert memory_bw_summary is not None and ql_summary is not None
    assert memory_bw_summary.index.names == ["rank", "name"] and ql_summary.index.names == ["rank", "stream"]
    assert ql_summary.columns.get_level_values(1).tolist() == [
        *("count", "mean", "std", "min", "25%", "50%", "75%", "max")
    ]
    assert list(frequent_patterns_df.columns) == [
        *("pattern", "count", "GPU kernel duration (us)", "CPU op duration (us)")
    ]
    assert "Temporal breakdown across ranks" in titles(figures)
    assert "Idle time breakdown on rank 1 per CUDA stream" in titles(figures)
    assert "Computation-Communication Overlap" in titles(figures)
    assert any(title.startswith("Launch Delay Outliers") for title in titles(figures))


def test_old_names(traces: Path, tmp_path: Path) -> None:
    analyzer = TraceAnalysis(trace_dir="traces/")
    frame = analyzer.get_frequent_cuda_kernel_patterns(operator_name="aten::linear", output_dir=tmp_path)
    assert frame.equals(analyzer.get_frequent_cuda_kernel_sequences("aten::linear", tmp_path))
    assert set(analyzer.get_queue_length_series()) == {0, 1}


def test_traces_by_rank(traces: Path) -> None:
    files = {0: "sampled_rank-0.json.gz", 1: "sampled_rank-1.json.gz"}
    analyzer = TraceAnalysis(trace_files=files, trace_dir="traces")
    assert analyzer.t.get_ranks() == [0, 1]
    assert set(analyzer.t.get_all_traces()) == {0, 1}


def test_the_page_on_counters(traces: Path) -> None:
    from gpuscope.hta.trace_analysis import TimeSeriesTypes

    analyzer = TraceAnalysis(trace_dir="traces")
    analyzer.generate_trace_with_counters()
    analyzer.generate_trace_with_counters(TimeSeriesTypes.QUEUE_LENGTH, ranks=[0], output_suffix="_queue")

    # generate summary
    mem_bw_summary = analyzer.get_memory_bw_summary()
    queue_len_summary = analyzer.get_queue_length_summary()

    # get time series
    mem_bw_series = analyzer.get_memory_bw_time_series()
    queue_len_series = analyzer.get_queue_length_series()

    assert mem_bw_summary is not None and queue_len_summary is not None
    assert set(mem_bw_series) == set(queue_len_series) == {0, 1}
    names = sorted(path.name for path in traces.iterdir())
    assert names == [
        "sampled_rank-0.json.gz",
        "sampled_rank-0_queue.json.gz",
        "sampled_rank-0_with_counters.json.gz",
        "sampled_rank-1.json.gz",
        "sampled_rank-1_with_counters.json.gz",
    ]
    # Files with counters are traces, which HTA would take for those of their ranks.
    both = TraceAnalysis(trace_files=[traces / "sampled_rank-0_with_counters.json.gz"])
    alone = TraceAnalysis(trace_files=[traces / "sampled_rank-0.json.gz"])
    assert both.get_temporal_breakdown(visualize=False).equals(alone.get_temporal_breakdown(visualize=False))
    assert TraceAnalysis(trace_dir=traces).t.trace_files == analyzer.t.trace_files


def test_the_page_on_idle_time(traces: Path) -> None:
    analyzer = TraceAnalysis(trace_dir="traces")
    idle, summary = analyzer.get_idle_time_breakdown(
        ranks=[0], visualize_pctg=False, show_idle_interval_stats=True, consecutive_kernel_delay=30
    )
    assert summary is not None
    assert list(summary.columns) == [
        *("rank", "stream", "count", "mean", "std", "min", "25%", "50%", "75%", "max")
    ]
    assert summary.index.name == "idle_category"
    assert set(idle["idle_category"]) == {"host_wait", "kernel_wait", "other"}


def test_the_page_on_counters_of_the_hardware(corpus: Path) -> None:
    from gpuscope.hta.analyzers.cupti_counter_analysis import CUDA_SASS_INSTRUCTION_COUNTER_FLOPS

    analyzer = TraceAnalysis(trace_files=[corpus / "cupti_a100.json.gz"])
    gpu_kernels = analyzer.get_cupti_counter_data_with_operators(ranks=[0])[0]

    gpu_kernels["CUDA SASS FLOPS"] = 0
    for counter, flops in CUDA_SASS_INSTRUCTION_COUNTER_FLOPS.items():
        if counter not in gpu_kernels.columns:
            continue
        gpu_kernels["CUDA SASS FLOPS"] += gpu_kernels[counter] * flops
    by_operator = gpu_kernels.groupby("bottom_level_op")["CUDA SASS FLOPS"].sum()

    assert len(gpu_kernels) == 77
    assert gpu_kernels.loc[1, "op_stack"] == [
        *("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution")
    ]
    assert gpu_kernels.loc[1, "top_level_op"] == "aten::conv2d"
    assert by_operator["aten::cudnn_convolution"] == 49128439808
    assert gpu_kernels["ts"].iloc[0] == pytest.approx(2498229)


def test_the_notebook_on_the_critical_path(corpus: Path, tmp_path: Path) -> None:
    from gpuscope.hta.analyzers.critical_path_analysis import CPGraph

    analyzer = TraceAnalysis(trace_files=[corpus / "cp_alexnet.json.gz"])
    annotation = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"
    instance_id = 1
    cp_graph, success = analyzer.critical_path_analysis(
        rank=0, annotation=annotation, instance_id=instance_id
    )

    assert success and isinstance(cp_graph, CPGraph)
    summary = cp_graph.summary()
    # HTA's own figures.
    assert summary["cpu_bound"] == pytest.approx(89.418, abs=0.01)
    assert summary["gpu_compute_bound"] == pytest.approx(10.359, abs=0.01)
    assert summary["gpu_kernel_kernel_overhead"] == pytest.approx(0.140, abs=0.01)
    assert summary["gpu_kernel_launch_overhead"] == pytest.approx(0.084, abs=0.01)
    breakdown = cp_graph.get_critical_path_breakdown()
    assert list(breakdown.columns) == [
        *("event_idx", "duration", "type", "s_name", "cat", "pid", "tid", "stream", "index", "bound_by")
    ]
    assert breakdown["duration"].sum() == 35834
    assert breakdown["index"].ge(0).all()

    path = analyzer.overlay_critical_path_analysis(0, cp_graph, output_dir=str(tmp_path / "overlaid"))
    assert Path(path).name == "overlaid_critical_path_cp_alexnet.json.gz"
    whole = analyzer.overlay_critical_path_analysis(
        0, cp_graph, str(tmp_path / "all"), only_show_critical_events=False, show_all_edges=True
    )
    marked = TraceAnalysis(trace_files=[path]).t.get_raw_trace_for_one_rank(0)["traceEvents"]
    everything = TraceAnalysis(trace_files=[whole]).t.get_raw_trace_for_one_rank(0)["traceEvents"]
    critical = [event for event in marked if event.get("args", {}).get("critical")]
    assert critical
    operators = [event for event in marked if event.get("cat") == "cpu_op"]
    assert all(event["args"]["critical"] for event in operators)
    assert sum(event.get("cat") == "cpu_op" for event in everything) == 359
    arrows = [sum(event.get("cat") == "critical_path" for event in events) for events in (marked, everything)]
    assert 0 < arrows[0] < arrows[1]


def test_the_notebook_on_stragglers(traces: Path) -> None:
    analyzer = TraceAnalysis(trace_dir=str(traces))
    steps = analyzer.get_profiler_steps()
    assert len(steps) == 1
    assert analyzer.get_potential_stragglers(profiler_steps=steps, num_candidates=1) == [1]

    def busiest(df: Any, symbols: Any, num_candidates: int, visualize: bool) -> Any:
        assert set(df["rank"]) == {0, 1} and "ProfilerStep#" in "".join(symbols.get_sym_table())
        return df[df["stream"].ge(0)].groupby("rank")["dur"].sum()

    (found,) = analyzer.get_potential_stragglers(num_candidates=1, straggler_identification_impl=busiest)
    assert found in (0, 1)
    with pytest.raises(ValueError, match="profiler_steps=77"):
        analyzer.get_potential_stragglers(profiler_steps=[77])


def test_the_notebook_on_trace_diff(corpus: Path, tmp_path: Path, figures: list[dict[str, Any]]) -> None:
    from gpuscope.hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    for name, file in [("control", "compare_base"), ("test", "compare_test")]:
        (tmp_path / name).mkdir()
        shutil.copy(corpus / f"{file}.json.gz", tmp_path / name)
    control_t = LabeledTrace(label="Control", trace_dir=str(tmp_path / "control"))
    test_t = LabeledTrace(label="Test", trace_dir=str(tmp_path / "test"))

    compare_traces_output = TraceDiff.compare_traces(
        control_t,
        test_t,
        control_rank=control_t.ranks()[0],
        test_rank=test_t.ranks()[0],
        control_iteration=control_t.iterations()[0],
        test_iteration=test_t.iterations()[0],
        device_type=DeviceType.CPU,
    )
    df = compare_traces_output.sort_values(by="diff_counts", ascending=False).head(10)
    TraceDiff.visualize_counts_diff(df)
    df = compare_traces_output.sort_values(by="diff_duration", ascending=False)
    df = df.loc[~df.index.str.startswith("ProfilerStep")].head(10)
    TraceDiff.visualize_duration_diff(df)
    TraceDiff.visualize_duration_diff(df, show_image=False, export_image_path=str(tmp_path / "diff.html"))
    ops_diff = TraceDiff.ops_diff(control_t, test_t)

    assert titles(figures) == ["Ops Count Comparison", "Ops Duration Comparison"]
    assert [bar["name"] for bar in figures[0]["data"]] == ["Control", "Test", "Difference"]
    assert (tmp_path / "diff.html").exists()
    assert list(ops_diff) == ["added", "deleted", "increased", "decreased", "unchanged"]
    assert not math.isnan(compare_traces_output["diff_duration"].sum())


def test_memory_timeline(corpus: Path, figures: list[dict[str, Any]]) -> None:
    from gpuscope.hta.memory_analysis import MemoryAnalysis

    analysis = MemoryAnalysis(corpus / "memory_timeline.raw.json.gz")
    assert analysis.answer().data["timeline"]["peak_bytes"] == 3082832104
    analysis.plot_memory_timeline()
    assert figures


def test_frequent_sequences_are_marked_in_the_written_trace(corpus: Path, tmp_path: Path) -> None:
    analyzer = TraceAnalysis(trace_files=[corpus / "trace_diff_control.json.gz"])
    frame = analyzer.get_frequent_cuda_kernel_sequences("aten::linear", tmp_path, min_pattern_len=1, top_k=2)
    document = TraceAnalysis(trace_files=[tmp_path / "overlaid_trace_diff_control.json.gz"])
    events = document.t.get_raw_trace_for_one_rank(3)["traceEvents"]
    marked = [event for event in events if "Patterns" in event.get("args", {})]
    roots = [event for event in marked if event["name"] == "aten::linear"]
    top = frame.head(2)
    # Each occurrence marks its operator and all of its kernels.
    assert len(roots) == top["count"].sum()
    kernels = sum(
        count * pattern.count("|") for pattern, count in zip(top["pattern"], top["count"], strict=True)
    )
    assert len(marked) == len(roots) + kernels
    assert {pattern for event in marked for pattern in event["args"]["Patterns"]} == set(top["pattern"])
    other = next(event for event in events if event.get("cat") == "cpu_op" and event["name"].isdigit())
    assert other["args"] == {}
    names = next(event["args"]["name_map"] for event in events if "name_map" in event.get("args", {}))
    assert names[other["name"]]
