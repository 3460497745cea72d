"""Figures of collectors and of objects with the same attributes: what they show, and what they say."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpuscope import plots
from gpuscope.cupti import CopyRecord, KernelLaunch, LayerCall, StackCall
from gpuscope.errors import UsageError

pytest.importorskip("plotly", reason="figures need plotly")

LONG = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor, std::array<char*, 3>>"


def launch(name: str, start: int, end: int, stream: int = 7) -> KernelLaunch:
    return KernelLaunch(name, start, end, 0, stream, 1, (1, 1, 1), (32, 1, 1), 16, 0)


def kernels() -> plots.KernelDataCollector:
    collector = plots.KernelDataCollector()
    collector.kernels += [
        launch("gemm", 1_000_000, 3_000_000),
        launch("gemm", 4_000_000, 8_000_000),
        launch(LONG, 8_000_000, 8_500_000),
        launch("ncclDevKernel_AllReduce", 2_000_000, 5_000_000, stream=13),
    ]
    return collector


def traces(figure: Any, kind: str) -> list[Any]:
    return [trace for trace in figure.data if trace.type == kind]


def drawn_lines(figure: Any) -> list[Any]:
    """Without those that only keep an axis in place."""
    return [line for line in traces(figure, "scatter") if any(value is not None for value in line.y)]


def texts(figure: Any) -> str:
    titles = [figure.layout.title.text, *(note.text for note in figure.layout.annotations)]
    axes = [axis.title.text for axis in (*figure.select_xaxes(), *figure.select_yaxes()) if axis.title.text]
    return " | ".join([*titles, *axes])


class TestBottlenecks:
    def test_bars_are_total_times_and_points_means_against_launches(self) -> None:
        figure = plots.plot_bottleneck_analysis(kernels())
        bars = dict(pair for bar in traces(figure, "bar") for pair in zip(bar.y, bar.x, strict=True))
        assert bars["gemm"] == 6.0
        assert bars["ncclDevKernel_AllReduce"] == 3.0
        points = {
            text.split("<br>")[0]: (x, y)
            for trace in traces(figure, "scatter")
            for text, x, y in zip(trace.hovertext, trace.x, trace.y, strict=True)
        }
        assert points["gemm"] == (2, 3.0)
        assert "time in all launches (ms)" in texts(figure)
        assert "mean duration (ms)" in texts(figure)
        assert "3 of 3 kernels, 100 % of 9.5 ms" in texts(figure)

    def test_the_largest_is_on_top_and_others_are_left_out(self) -> None:
        figure = plots.plot_bottleneck_analysis(kernels(), top_n=2)
        assert list(figure.layout.yaxis.categoryarray) == ["ncclDevKernel_AllReduce", "gemm"]
        assert "2 of 3 kernels, 94.7 %" in texts(figure)
        assert sum(len(trace.x) for trace in traces(figure, "scatter")) == 3

    def test_long_names_are_cut_and_shown_whole_to_the_mouse(self) -> None:
        figure = plots.plot_bottleneck_analysis(kernels())
        (bar,) = (bar for bar in traces(figure, "bar") if bar.name == "computation")
        label = bar.y[1]
        assert len(label) <= 36
        assert label.startswith("at::native::")
        assert "std::array&lt;char*, 3&gt;&gt;" in bar.hovertext[1].replace("<br>", " ")

    def test_kernels_that_only_differ_in_the_middle_have_bars_of_their_own(self) -> None:
        names = [f"{'a' * 40}{middle}{'z' * 40}" for middle in "12"]
        figure = plots.plot_bottleneck_analysis([launch(name, 0, 10) for name in names])
        (bar,) = traces(figure, "bar")
        assert len(set(bar.y)) == 2

    def test_names_are_never_markup(self) -> None:
        figure = plots.plot_bottleneck_analysis([{"name": "reduce<br>&<b>x</b>", "start": 0, "end": 1}])
        assert figure.layout.yaxis.ticktext == ("reduce&lt;br>&amp;&lt;b>x&lt;/b>",)
        assert "<b>" not in figure.data[0].hovertext[0]
        named = plots.plot_timeline_memcpy_and_passes([(0, 1, 1), (5, -1, 1)], recorded(), {1: "<b>up</b>"})
        assert named.data[0].name == "&lt;b>up&lt;/b>"

    def test_colours_tell_kinds(self) -> None:
        figure = plots.plot_bottleneck_analysis(kernels())
        colors = {bar.name: bar.marker.color for bar in traces(figure, "bar")}
        assert colors == {"computation": "#0072B2", "communication": "#E69F00"}

    def test_other_collectors_have_objects_or_dictionaries(self) -> None:
        as_dictionaries = SimpleNamespace(
            kernels=[{"name": "gemm", "start": 0, "end": 2_500, "duration_ns": 2_500}]
        )
        as_objects = SimpleNamespace(kernels=[SimpleNamespace(name="gemm", start=0, end=2_500)])
        for source in (as_dictionaries, as_objects):
            (bar,) = traces(plots.plot_bottleneck_analysis(source), "bar")
            assert (bar.y[0], bar.x[0]) == ("gemm", 2.5)

    def test_figsize_is_in_inches(self) -> None:
        figure = plots.plot_bottleneck_analysis(kernels(), figsize=(12, 8))
        assert (figure.layout.width, figure.layout.height) == (1200, 800)
        for wrong in ((0, 8), (12,), "large"):
            with pytest.raises(UsageError, match="figsize"):
                plots.plot_bottleneck_analysis(kernels(), figsize=wrong)  # type: ignore[arg-type]  # The point.

    def test_no_kernels_give_a_figure_that_says_what_to_do(self) -> None:
        figure = plots.plot_bottleneck_analysis(plots.KernelDataCollector())
        assert "setup_cupti_kernels(collector)" in texts(figure)
        assert not figure.data

    def test_what_has_no_kernels_is_named(self) -> None:
        with pytest.raises(UsageError, match="not from int"):
            plots.plot_bottleneck_analysis(3)
        with pytest.raises(UsageError, match="no `end`"):
            plots.plot_bottleneck_analysis([{"name": "gemm", "start": 1}])
        with pytest.raises(UsageError, match="top_n"):
            plots.plot_bottleneck_analysis(kernels(), top_n=0)


def calls() -> list[StackCall]:
    return [
        StackCall("train", "a.py", 1, 1, 1, 0, 10_000_000),
        StackCall("forward<locals>", "a.py", 5, 1, 2, 1_000_000, 6_000_000),
    ]


class TestStack:
    def test_depth_and_kernels_are_on_one_time(self) -> None:
        figure = plots.plot_stacktrace_with_kernels(SimpleNamespace(calls=calls()), kernels())
        (depth,) = drawn_lines(figure)
        assert list(depth.x) == [0, 1, 6, 10]
        assert list(depth.y) == [1, 2, 1, 0]
        assert "forward&lt;locals&gt;" in depth.hovertext[1]
        bars = [
            (lane, base, length)
            for bar in traces(figure, "bar")
            for lane, base, length in zip(bar.y, bar.base, bar.x, strict=True)
        ]
        assert ("GPU 0, stream 7", 4, 4) in bars
        assert ("GPU 0, stream 13", 2, 3) in bars
        assert "time (ms)" in texts(figure)
        assert figure.layout.xaxis.matches == "x2"

    def test_real_calls_are_drawn(self) -> None:
        collector = plots.StacktraceCollector()
        before = sys.gettrace()
        sys.settrace(collector.trace_calls)
        plots.plot_bottleneck_analysis(kernels())
        sys.settrace(before)
        figure = plots.plot_stacktrace_with_kernels(collector, plots.KernelDataCollector())
        assert "there are no kernels" in texts(figure)
        assert max(drawn_lines(figure)[0].y) > 5

    def test_two_clocks_are_noticed(self) -> None:
        late = [launch("gemm", 10**15, 10**15 + 1_000)]
        figure = plots.plot_stacktrace_with_kernels(SimpleNamespace(calls=calls()), late)
        assert "no time in common" in texts(figure)

    def test_very_many_kernels_are_drawn_as_few(self) -> None:
        many = [launch("gemm", time * 1_000, time * 1_000 + 900) for time in range(20_000)]
        many.append(launch("gemm", 40_000_000, 40_000_100))
        figure = plots.plot_stacktrace_with_kernels(SimpleNamespace(calls=calls()), many)
        (bar,) = traces(figure, "bar")
        assert len(bar.x) == 2
        assert "and 19999 more" in bar.hovertext[0]

    def test_stacks_without_times_cannot_be_drawn(self) -> None:
        with pytest.raises(UsageError, match="without times"):
            plots.plot_stacktrace_with_kernels(SimpleNamespace(call_history=[]), kernels())
        with pytest.raises(UsageError, match="not from int"):
            plots.plot_stacktrace_with_kernels(3, kernels())
        nothing = plots.plot_stacktrace_with_kernels(plots.StacktraceCollector(), plots.KernelDataCollector())
        assert "neither calls nor kernels" in texts(nothing)


def recorded() -> SimpleNamespace:
    """As ``ExtractModel`` has it."""
    return SimpleNamespace(
        layers={
            "conv": {
                "time_ns": [1_000, 2_000, 3_000, 4_000],
                "flops": 2_000_000,
                "backward_time_ns": [8_000],
                "backward_flops": 4_000_000,
            },
            "relu": {"time_ns": [500], "flops": 0, "backward_time_ns": [], "backward_flops": None},
        },
        timeline=[
            LayerCall(0, 1_000, 2_000_000, "conv", "forward", "cpu"),
            LayerCall(1_000, 1_500, None, "relu", "forward", "cpu"),
            LayerCall(2_000, 10_000, 4_000_000, "conv", "backward", "cpu"),
        ],
    )


def plain() -> SimpleNamespace:
    """As programs have it that know nothing of backward passes."""
    return SimpleNamespace(
        layers={n: {"time_ns": [1_000, 3_000], "flops": 3_000_000} for n in ("a", "b", "a_grad", "b_grad")},
        timeline=[(0, 10, 5, "a"), (10, 20, 5, "b"), (20, 40, 9, "b_grad"), (40, 60, 9, "a_grad")],
    )


def boxes(figure: Any) -> dict[str, Any]:
    return {box.name: box for box in traces(figure, "box")}


class TestLayers:
    def test_boxes_have_quartiles_mean_and_ends(self) -> None:
        figure = plots.plot_layer_runtime_stats(recorded())
        box = boxes(figure)["forward"]
        assert list(box.y) == ["conv", "relu"]
        found = [part[0] for part in (box.lowerfence, box.q1, box.median, box.q3, box.upperfence, box.mean)]
        assert found == [1.0, 1.75, 2.5, 3.25, 4.0, 2.5]
        assert box.boxmean is True
        assert list(boxes(figure)["backward"].y) == ["conv"]
        assert "time of a call (µs)" in texts(figure)
        assert "guessed" not in texts(figure)

    def test_without_marks_the_halves_are_guessed_and_said_to_be(self) -> None:
        figure = plots.plot_layer_runtime_stats(plain())
        assert list(boxes(figure)["forward"].y) == ["a", "b"]
        assert list(boxes(figure)["backward"].y) == ["a_grad", "b_grad"]
        assert "(guessed)" in figure.layout.title.text

    def test_markers_tell_what_is_forward(self) -> None:
        figure = plots.plot_layer_runtime_stats(plain(), forward_markers=["_grad"])
        assert list(boxes(figure)["forward"].y) == ["a_grad", "b_grad"]
        assert "guessed" not in texts(figure)
        with pytest.raises(UsageError, match=r"write \['_grad'\]"):
            plots.plot_layer_runtime_stats(plain(), forward_markers="_grad")

    def test_what_was_recorded_is_believed_rather_than_markers(self) -> None:
        figure = plots.plot_layer_runtime_stats(recorded(), forward_markers=["nothing has this name"])
        assert list(boxes(figure)["forward"].y) == ["conv", "relu"]

    def test_of_many_layers_those_with_most_time_are_shown(self) -> None:
        layers = {f"layer.{i}": {"time_ns": [1_000 + i], "backward_time_ns": []} for i in range(100)}
        figure = plots.plot_layer_runtime_stats(SimpleNamespace(layers=layers))
        shown = list(boxes(figure)["forward"].y)
        assert shown == [f"layer.{i}" for i in range(76, 100)]
        assert "76 are not shown" in texts(figure)

    def test_layers_may_come_as_they_are(self) -> None:
        assert boxes(plots.plot_layer_runtime_stats(plain().layers))
        assert "ExtractModel(model)" in texts(plots.plot_layer_runtime_stats(SimpleNamespace(layers={})))
        with pytest.raises(UsageError, match="not int"):
            plots.plot_layer_runtime_stats(3)
        with pytest.raises(UsageError, match="layer 'a' must be a dictionary"):
            plots.plot_layer_runtime_stats({"a": [1, 2]})


class TestThroughput:
    def test_rates_are_operations_by_time(self) -> None:
        figure = plots.plot_throughput_analysis(plain())
        box = boxes(figure)["forward"]
        assert (box.lowerfence[0], box.upperfence[0]) == (1.0, 3.0)
        assert "throughput (TFLOP/s)" in texts(figure)
        assert "(guessed)" in figure.layout.title.text

    def test_calls_have_operations_of_their_own(self) -> None:
        figure = plots.plot_throughput_analysis(recorded())
        assert boxes(figure)["forward"].median[0] == 2.0
        assert boxes(figure)["backward"].median[0] == 0.5
        assert list(boxes(figure)["forward"].y) == ["conv"], "relu has no operations that count"

    def test_slow_machines_have_smaller_units(self) -> None:
        slow = {"a": {"time_ns": [10**6], "flops": 10**4, "phase": "forward"}}
        figure = plots.plot_throughput_analysis(slow)
        assert "throughput (GFLOP/s)" in texts(figure)
        assert boxes(figure)["forward"].median[0] == pytest.approx(0.01)

    def test_unknown_operations_are_said(self) -> None:
        figure = plots.plot_throughput_analysis({"a": {"time_ns": [1]}})
        assert "No layer's operations are known" in texts(figure)


class TestTimeline:
    CHANGES = ((0, 4096, 1), (1_000, -4096, 1), (500, 1024, 2), (2_000, -1024, 2))

    def copies(self) -> plots.MemoryCopy:
        found = plots.MemoryCopy()
        found.copies += [
            CopyRecord(0, 1_000, 4096, 1, 0, 7, 1),
            CopyRecord(500, 2_000, 1024, 2, 0, 7, 2),
        ]
        return found

    @pytest.mark.parametrize("form", ["object", "its list", "list", "own object", "records", "with devices"])
    def test_all_forms_of_copies_give_the_same(self, form: str) -> None:
        memcpy_info: Any = {
            "object": self.copies(),
            "its list": self.copies().memcpy_info,
            "list": list(self.CHANGES),
            "own object": SimpleNamespace(memcpy_info=list(self.CHANGES)),
            "records": self.copies().copies,
            "with devices": [(*change, 0) for change in self.CHANGES],
        }[form]
        figure = plots.plot_timeline_memcpy_and_passes(memcpy_info, recorded(), plots.MEMCPY_KIND_STR)
        lines = {line.name: line for line in drawn_lines(figure)}
        assert set(lines) == {"Host -> Device", "Device -> Host", "copied in all"}
        assert list(lines["Host -> Device"].y) == [0, 4, 0]
        assert list(lines["Device -> Host"].x) == [0.5, 0.5, 2.0]
        assert list(lines["copied in all"].y) == [0, 4, 5, 5]
        assert "under way (KiB)" in texts(figure)

    def test_passes_are_below_with_their_layers(self) -> None:
        figure = plots.plot_timeline_memcpy_and_passes(self.copies(), recorded(), plots.MEMCPY_KIND_STR)
        bars = {bar.name: bar for bar in traces(figure, "bar")}
        assert list(bars["forward"].base) == [0, 1]
        assert list(bars["backward"].x) == [8]
        assert bars["backward"].hovertext[0].startswith("conv<br>8 µs")
        assert len(set(bars["forward"].marker.color)) == 2, "neighbours can be told apart"
        assert "guessed" not in texts(figure)

    def test_plain_timelines_are_guessed_or_marked(self) -> None:
        figure = plots.plot_timeline_memcpy_and_passes([], plain(), plots.MEMCPY_KIND_STR)
        bars = {bar.name: list(bar.base) for bar in traces(figure, "bar")}
        assert bars == {"forward": [0, 10], "backward": [20, 40]}
        assert "(guessed)" in figure.layout.title.text
        assert "there are no copies" in texts(figure)
        marked = plots.plot_timeline_memcpy_and_passes([], plain(), forward_markers=["_grad"])
        assert {bar.name: list(bar.base) for bar in traces(marked, "bar")}["forward"] == [20, 40]

    def test_a_device_may_come_first(self) -> None:
        timeline = [(0, *call) for call in plain().timeline]
        figure = plots.plot_timeline_memcpy_and_passes([], SimpleNamespace(timeline=timeline))
        assert [list(bar.base) for bar in traces(figure, "bar")] == [[0, 10], [20, 40]]

    def test_names_of_kinds_are_those_given(self) -> None:
        figure = plots.plot_timeline_memcpy_and_passes(self.copies(), recorded(), {1: "up"})
        assert {line.name for line in drawn_lines(figure)} == {"up", "kind 2", "copied in all"}

    def test_copies_without_kind_or_end_are_drawn_all_the_same(self) -> None:
        figure = plots.plot_timeline_memcpy_and_passes([(0, 64), (10, 32), (20, -64)], recorded())
        (line,) = (line for line in drawn_lines(figure) if line.name == "Unknown")
        assert list(line.y) == [0, 64, 96, 0]

    def test_bad_entries_are_named(self) -> None:
        with pytest.raises(UsageError, match=r"memcpy_info is \(time_ns, bytes, copy_kind\).*'gemm'"):
            plots.plot_timeline_memcpy_and_passes(["gemm"], recorded())
        with pytest.raises(UsageError, match=r"timeline is \(start_ns, end_ns, flops, layer\), not \(1, 2\)"):
            plots.plot_timeline_memcpy_and_passes([], SimpleNamespace(timeline=[(1, 2)]))
        with pytest.raises(UsageError, match="not int"):
            plots.plot_timeline_memcpy_and_passes(3, recorded())
        with pytest.raises(UsageError, match="not int"):
            plots.plot_timeline_memcpy_and_passes([], 3)
        nothing = plots.plot_timeline_memcpy_and_passes([], SimpleNamespace(timeline=[]))
        assert "neither copies nor layers" in texts(nothing)


def test_figures_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    import plotly.graph_objects as go

    shown: list[Any] = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: shown.append(figure))
    plots.plot_bottleneck_analysis(kernels())
    assert not shown
    figure = plots.plot_bottleneck_analysis(kernels(), show=True)
    assert shown == [figure]
    assert "plotly" in figure._repr_html_()


def test_importing_brings_no_large_library() -> None:
    code = "import sys, gpuscope.plots, gpuscope.cupti; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"plotly", "torch", "numpy", "pandas", "cupti"}
