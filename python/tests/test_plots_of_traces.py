"""The same figures of traces: runs, ranks, sessions and paths."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuscope
from gpuscope import cupti, plots
from gpuscope.errors import InputError, UsageError

pytest.importorskip("plotly", reason="figures need plotly")


@pytest.fixture(scope="module")
def run(demo: Path) -> gpuscope.Run:
    return gpuscope.open(demo)


@pytest.fixture(scope="module")
def rank(run: gpuscope.Run) -> gpuscope.Rank:
    return run.ranks[0]


def traces(figure: Any, kind: str) -> list[Any]:
    return [trace for trace in figure.data if trace.type == kind]


def test_bottlenecks_are_the_kernels_of_the_answer(rank: gpuscope.Rank) -> None:
    figure = plots.plot_bottleneck_analysis(rank, top_n=5)
    rows = sorted(rank.kernels().data["kernels"], key=lambda row: -row["sum_ns"])[:5]
    bars = sorted((x for bar in traces(figure, "bar") for x in bar.x), reverse=True)
    assert figure.layout.xaxis.title.text == "time in all launches (ms)"
    assert bars == pytest.approx([row["sum_ns"] / 1e6 for row in rows])
    assert {bar.name for bar in traces(figure, "bar")} <= {"computation", "communication", "memory"}


def test_a_run_has_the_kernels_of_all_ranks(run: gpuscope.Run) -> None:
    def whole(source: Any) -> float:
        bars = traces(plots.plot_bottleneck_analysis(source, top_n=1000), "bar")
        return sum(x for bar in bars for x in bar.x)

    assert whole(run) == pytest.approx(sum(whole(rank) for rank in run.ranks))


def test_layers_are_the_innermost_modules_of_the_answer(rank: gpuscope.Rank) -> None:
    figure = plots.plot_layer_runtime_stats(rank)
    rows = rank.layers().data["ranks"][0]["layers"]
    parents = {row["parent"] for row in rows}
    medians = {(row["module"], row["pass"]): row["median_ns"] for row in rows if row["module"] not in parents}
    unit = {"time of a call (µs)": 1e3, "time of a call (ms)": 1e6}[figure.layout.xaxis.title.text]
    found = 0
    for box in traces(figure, "box"):
        for label, median in zip(box.y, box.median, strict=True):
            assert median * unit == pytest.approx(medians[label, box.name])
            found += 1
    assert found >= 4
    assert {box.name for box in traces(figure, "box")} >= {"forward", "backward"}
    assert "guessed" not in figure.layout.title.text


def test_throughput_is_that_of_the_answer(rank: gpuscope.Rank) -> None:
    figure = plots.plot_throughput_analysis(rank)
    rows = {(row["module"], row["pass"]): row for row in rank.throughput().data["layers"]}
    assert figure.layout.xaxis.title.text == "throughput (TFLOP/s)"
    boxes = traces(figure, "box")
    assert boxes
    for box in boxes:
        for label, most in zip(box.y, box.upperfence, strict=True):
            assert most == pytest.approx(rows[label, box.name]["call_tflops_per_s"]["max"])


def test_copies_and_passes_are_on_one_time(rank: gpuscope.Rank) -> None:
    figure = plots.plot_timeline_memcpy_and_passes(rank, rank)
    copies = rank.bandwidth(series=True).data["copies"]
    lines = {line.name: line for line in traces(figure, "scatter") if line.name}
    assert set(lines) == {row["kind"] for row in copies} | {"copied in all"}
    unit = {"KiB": 2**10, "MiB": 2**20}[figure.layout.yaxis2.title.text.rpartition("(")[2].rstrip(")")]
    assert lines["copied in all"].y[-1] * unit == pytest.approx(sum(row["total_bytes"] for row in copies))
    passes = {bar.name: bar for bar in traces(figure, "bar")}
    assert {"forward", "backward"} <= set(passes)
    forward, backward = passes["forward"], passes["backward"]
    assert min(forward.base) < min(backward.base), "a step begins with its forward pass"


def test_passes_are_as_long_as_the_phases_of_the_answer(rank: gpuscope.Rank) -> None:
    """All work of modules: what has no module (losses, for example) is in the phases only."""
    figure = plots.plot_timeline_memcpy_and_passes(rank, rank)
    layers = rank.layers().data["ranks"][0]["layers"]
    unit = {"time (ms)": 1e6, "time (s)": 1e9}[figure.layout.xaxis2.title.text]
    for bar in traces(figure, "bar"):
        own = sum(row["own_ns"] for row in layers if row["pass"] == bar.name)
        drawn = sum(bar.x) * unit
        assert own * 0.98 <= drawn, "gaps between kernels of a layer are drawn as work"
        assert drawn < own * 1.5


def test_the_stack_is_on_the_time_of_the_kernels(rank: gpuscope.Rank) -> None:
    figure = plots.plot_stacktrace_with_kernels(rank, rank)
    depth = next(line for line in traces(figure, "scatter") if line.name == "depth of calls")
    assert max(depth.y) >= 2
    assert depth.y[-1] == 0
    assert sum(len(bar.x) for bar in traces(figure, "bar")) > 10
    assert "no time in common" not in figure.layout.title.text


def test_sessions_and_paths_are_opened(demo: Path, rank: gpuscope.Rank) -> None:
    path = Path(rank.path)
    expected = traces(plots.plot_bottleneck_analysis(rank), "bar")[0].x
    for source in (path, str(path), SimpleNamespace(trace_path=path), SimpleNamespace(trace_path=str(path))):
        assert traces(plots.plot_bottleneck_analysis(source), "bar")[0].x == expected
    with pytest.raises(UsageError, match="enable_trace=True"):
        plots.plot_bottleneck_analysis(SimpleNamespace(trace_path=None))
    with pytest.raises(InputError, match="nowhere"):
        plots.plot_layer_runtime_stats("nowhere.json")


def test_collected_kernels_and_copies_answer_all_questions() -> None:
    kernels, copies = cupti.KernelDataCollector(), cupti.MemoryCopy()
    base = 1_789_000_000_000_000_001
    kernels.kernels += [
        cupti.KernelLaunch("gemm", base + 100, base + 1_100, 0, 7, 1, (4, 1, 1), (128, 1, 1), 32, 0),
        cupti.KernelLaunch("gemm", base + 2_000, base + 2_500, 0, 7, 2, (4, 1, 1), (128, 1, 1), 32, 0),
    ]
    copies.copies.append(cupti.CopyRecord(base, base + 64, 4096, 1, 0, 7, 3))
    run = cupti.to_run(kernels, copies, rank=3)
    assert [rank.number for rank in run.ranks] == [3]
    rows = run.kernels().data["kernels"]
    assert [(row["name"], row["sum_ns"]) for row in rows if row["kernel_type"] == "COMPUTATION"] == [
        ("gemm", 1500)
    ]
    (copied,) = run.bandwidth(series=True).data["copies"]
    assert (copied["total_bytes"], copied["series"][0]["start_ns"]) == (4096, 0), "times count from the base"
    figure = plots.plot_timeline_memcpy_and_passes(run, SimpleNamespace(timeline=[]))
    assert "Memcpy HtoD" in {line.name for line in figure.data}


def operators() -> gpuscope.Run:
    """A trace of a machine without a GPU."""
    module = {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1}
    operator = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    back = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 2}
    step = "autograd::engine::evaluate_function: AddmmBackward0"
    return gpuscope.open_events(
        [
            {**module, "ts": 0, "dur": 100},
            {**operator, "name": "aten::linear", "ts": 10, "dur": 80, "args": {"Sequence number": 5}},
            {**operator, "name": "aten::addmm", "ts": 20, "dur": 60, "args": {"Sequence number": 5}},
            {**back, "name": step, "ts": 200, "dur": 100, "args": {"Sequence number": 5}},
            {**back, "name": "aten::mm", "ts": 210, "dur": 70},
        ]
    )


def test_without_gpu_work_the_host_takes_its_place_and_that_is_said() -> None:
    run = operators()
    figure = plots.plot_bottleneck_analysis(run)
    (bar,) = traces(figure, "bar")
    assert dict(zip(bar.y, bar.x, strict=True)) == {
        "aten::mm": 70,
        "aten::addmm": 60,
        "autograd::engine::eva…AddmmBackward0": 30,
        "aten::linear": 20,
    }
    assert "operators of the host, as there is no GPU work" in figure.layout.title.text
    figure = plots.plot_layer_runtime_stats(run)
    assert {box.name: (box.y[0], box.median[0]) for box in traces(figure, "box")} == {
        "forward": ("Linear_0", 60),
        "backward": ("Linear_0", 70),
    }
    assert "times of the host" in figure.layout.title.text
    assert len(traces(plots.plot_stacktrace_with_kernels(run, run), "bar")) == 2


def test_passes_of_a_checkpointed_model_are_those_of_the_answer(corpus: Path) -> None:
    rank = gpuscope.open(corpus / "mi300_resnet_act_checkpoint.json.gz").ranks[0]
    figure = plots.plot_timeline_memcpy_and_passes([], rank)
    layers = rank.layers().data["ranks"][0]["layers"]
    assert figure.layout.xaxis2.title.text == "time (ms)"
    drawn = {bar.name: sum(bar.x) * 1e6 for bar in traces(figure, "bar")}
    for phase in ("forward", "backward", "recompute"):
        own = sum(row["own_ns"] for row in layers if row["pass"] == phase)
        assert own * 0.98 <= drawn[phase] < own * 1.15


def test_a_module_around_the_backward_pass_runs_nothing_again() -> None:
    module = {"ph": "X", "cat": "python_function", "pid": 1, "tid": 1}
    operator = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    step = {**operator, "name": "autograd::engine::evaluate_function: AddmmBackward0"}
    run = gpuscope.open_events(
        [
            {**module, "name": "nn.Module: Trainer_0", "ts": 0, "dur": 500},
            {**module, "name": "nn.Module: Linear_0", "ts": 10, "dur": 100},
            {**operator, "name": "aten::addmm", "ts": 20, "dur": 60, "args": {"Sequence number": 5}},
            {**step, "ts": 200, "dur": 100, "args": {"Sequence number": 5}},
            {**operator, "name": "aten::mm", "ts": 210, "dur": 70},
        ]
    )
    figure = plots.plot_timeline_memcpy_and_passes([], run)
    lanes = {bar.name: bar.hovertext[0].partition("<br>")[0] for bar in traces(figure, "bar")}
    assert lanes == {"forward": "Linear_0", "backward": "Linear_0"}


def test_only_frames_of_python_count_as_depth() -> None:
    frame = {"ph": "X", "cat": "python_function", "pid": 1, "tid": 1}
    run = gpuscope.open_events(
        [
            {**frame, "name": "train.py(1): train", "ts": 0, "dur": 100},
            {**frame, "name": "step 1", "cat": "user_annotation", "ts": 10, "dur": 80},
            {**frame, "name": "model.py(7): forward", "ts": 20, "dur": 50},
        ]
    )
    figure = plots.plot_stacktrace_with_kernels(run, [])
    depth = next(line for line in traces(figure, "scatter") if line.name == "depth of calls")
    assert list(zip(depth.x, depth.y, strict=True)) == [(0, 1), (20, 2), (70, 1), (100, 0)]


def test_calls_of_one_layer_after_another_are_calls_of_their_own() -> None:
    module = {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1}
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1}
    run = gpuscope.open_events(
        [
            event
            for start, time in ((0, 10), (100, 20), (200, 60))
            for event in ({**module, "ts": start, "dur": 80}, {**operator, "ts": start, "dur": time})
        ]
    )
    (box,) = traces(plots.plot_layer_runtime_stats(run), "box")
    assert (box.lowerfence[0], box.median[0], box.upperfence[0]) == (10, 20, 60)


@pytest.mark.parametrize(
    "name", ["h100_bert_small.json.gz", "mi300_timesformer.json.gz", "cpu_only_rank-34.json.gz"]
)
def test_real_traces_are_drawn(corpus: Path, name: str) -> None:
    run = gpuscope.open(corpus / name)
    figures = [
        plots.plot_bottleneck_analysis(run),
        plots.plot_stacktrace_with_kernels(run, run),
        plots.plot_layer_runtime_stats(run),
        plots.plot_throughput_analysis(run),
        plots.plot_timeline_memcpy_and_passes(run, run),
    ]
    for figure in figures:
        assert figure.to_json()
