"""Figures of what torch.profiler records here and now, on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuscope import plots

torch = pytest.importorskip("torch", reason="these tests need torch")
pytest.importorskip("plotly", reason="figures need plotly")


def train(steps: int = 3) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
    for _ in range(steps):
        model(torch.randn(32, 64)).sum().backward()


def traces(figure: Any, kind: str) -> list[Any]:
    return [trace for trace in figure.data if trace.type == kind]


def test_layers_of_a_trace_without_gpu_work(tmp_path: Path) -> None:
    from torch.profiler import profile

    with profile(with_stack=True, record_shapes=True) as profiler:
        train()
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))

    figure = plots.plot_layer_runtime_stats(path)
    boxes = {box.name: list(box.y) for box in traces(figure, "box")}
    assert boxes["forward"] == ["Linear_0", "ReLU_0", "Linear_1"]
    assert sorted(boxes["backward"]) == ["Linear_0", "Linear_1", "ReLU_0"]
    assert "times of the host" in figure.layout.title.text

    figure = plots.plot_timeline_memcpy_and_passes(path, path)
    lanes = {bar.name: bar for bar in traces(figure, "bar")}
    assert min(lanes["forward"].base) < min(lanes["backward"].base)

    figure = plots.plot_stacktrace_with_kernels(path, path)
    (depth,) = (line for line in traces(figure, "scatter") if line.name == "depth of calls")
    assert max(depth.y) > 3
    assert {bar.name for bar in traces(figure, "bar")} == {"operators of the host"}


def test_bottlenecks_of_a_session(tmp_path: Path) -> None:
    from gpuscope.profiling import UnifiedProfiler

    with UnifiedProfiler(output_dir=tmp_path).profile("train") as session:
        train()
    figure = plots.plot_bottleneck_analysis(session)
    (bar,) = traces(figure, "bar")
    shown = dict(zip(bar.y, bar.x, strict=True))
    unit = {"(µs)": 1, "(ms)": 1e3}[figure.layout.xaxis.title.text.split()[-1]]
    largest = session.kernels[0]
    assert shown[largest.name] * unit == pytest.approx(largest.cuda_time_us)
    assert "no GPU work" in figure.layout.title.text
