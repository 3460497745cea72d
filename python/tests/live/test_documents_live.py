"""The blocks of the documents that need torch, on a small real model; without a GPU, on the CPU.

The blocks follow one another as in the document: later ones use what earlier ones left behind.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import Block, all_blocks, blocks, run

torch = pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")

pytest_plugins = ["document_fixtures"]

WIDTH = 64


class OneBlock(torch.nn.Module):  # type: ignore[misc]  # torch has no types here.
    """A layer of a transformer, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(WIDTH, 8)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.layer(tokens).mean(dim=1))


class Printing(torch.nn.Module):  # type: ignore[misc]  # torch has no types here.
    """A model that the compiler has to leave once."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        x = self.linear(x).relu()
        print("between two graphs")
        return x * 2 + 1


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the blocks take for granted: a model, its data, and the folder that they run in."""
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = OneBlock().to(device)
    given = {
        "torch": torch,
        "model": model,
        "baseline_model": model,
        "optimized_model": OneBlock().to(device).eval(),
        "input": torch.randn(16, 32, WIDTH, device=device),
        "target": torch.randint(0, 8, (16,), device=device),
        "criterion": torch.nn.CrossEntropyLoss(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.01),
    }
    given["input_tensor"] = given["input"]
    folder = tmp_path_factory.mktemp("document")
    with torch.profiler.profile() as profiler:
        given["criterion"](model(given["input"]), given["target"]).backward()
    profiler.export_chrome_trace(str(folder / "trace.json"))
    given["folder"] = folder
    return given


@pytest.fixture
def given(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names, in the folder, with a loss that has not gone backward yet."""
    monkeypatch.chdir(names["folder"])
    names["loss"] = names["criterion"](names["model"](names["input"]), names["target"])
    yield names
    assert Path.cwd() == names["folder"]


def run_on(names: dict[str, Any], block: Block) -> str:
    """Run a block whose names stay for later ones; what it prints."""
    left, printed = run(block, **names)
    names.update(left)
    assert "nan" not in printed
    return printed


@pytest.fixture
def profiled(given: dict[str, Any]) -> dict[str, Any]:
    """The names, with the profiler that the first block makes."""
    if "profiler" not in given:
        run_on(given, all_blocks()["001.6"])
    return given


@blocks("000.1")
def test_collecting_and_drawing(block: Block, gpu: Any, drawn: dict[str, Any], given: dict[str, Any]) -> None:
    """The figures of a real model's layers; its kernels and copies are those of the stand-in."""
    pytest.importorskip("plotly")
    from gpuscope.cupti import ExtractModel, MemoryCopy

    model = OneBlock().to(given["input"].device)
    with ExtractModel(model) as profile:
        for _ in range(3):
            given["criterion"](model(given["input"]), given["target"]).backward()
    run(block, profile=profile, memcpy_info=MemoryCopy())
    assert set(drawn) == {
        *("plot_bottleneck_analysis", "plot_layer_runtime_stats"),
        *("plot_throughput_analysis", "plot_timeline_memcpy_and_passes"),
    }
    assert "head" in str(drawn["plot_layer_runtime_stats"].to_dict())
    assert "FLOP" in str(drawn["plot_throughput_analysis"].to_dict())


@blocks("001.6")
def test_a_session(block: Block, given: dict[str, Any]) -> None:
    printed = run_on(given, block)
    session = given["session"]
    numbers = dict(re.findall(r"^([\w ]+): ([\d.]+)(?:ms|MB)$", printed, re.MULTILINE))
    assert set(numbers) == {"Total time", "GPU time", "Peak memory"}
    assert float(numbers["Total time"]) >= float(numbers["GPU time"]) > 0
    assert float(numbers["Peak memory"]) > 0
    # The weights' gradients alone are that large.
    gradients = sum(4 * parameter.numel() for parameter in given["model"].parameters())
    assert session.peak_memory_mb * 2**20 >= gradients
    assert len(re.findall(r"^  \S.*: \d+\S*s$", printed, re.MULTILINE)) == 10
    times = [kernel.cuda_time_us for kernel in session.kernels]
    assert times == sorted(times, reverse=True)
    assert session.trace_path.parent == Path("profiles")
    assert any("linear" in kernel.name or "mm" in kernel.name for kernel in session.kernels)
    assert session.flame_graph_data["children"]


@blocks("001.7")
def test_a_function(block: Block, profiled: dict[str, Any]) -> None:
    run_on(profiled, block)
    session = profiled["session"]
    assert (session.name, session.iterations) == ("forward_pass", 20)
    assert session.trace_path.name.startswith("forward_pass")
    # Two projections in the layer, its feed-forward part and the head, each time.
    calls = {kernel.name: kernel.calls for kernel in session.kernels}
    if session.device == "cpu":
        assert calls["aten::addmm"] % 20 == 0


@blocks("001.8")
def test_two_sessions(block: Block, profiled: dict[str, Any]) -> None:
    printed = run_on(profiled, block)
    before, after = profiled["baseline_session"], profiled["optimized_session"]
    speedup = before.time_per_iteration_ms / after.time_per_iteration_ms
    assert profiled["comparison"]["speedup"] == pytest.approx(speedup)
    saved = profiled["comparison"]["memory_diff"]["peak_mb"]
    assert saved == pytest.approx(before.peak_memory_mb - after.peak_memory_mb)
    assert printed == f"Speedup: {speedup:.2f}x\nMemory saved: {saved:.1f}MB\n"


@blocks("001.9")
def test_memory(block: Block, given: dict[str, Any]) -> None:
    printed = run_on(given, block)
    points = re.findall(r"^t=(-?[\d.]+)ms: ([\d.]+)MB$", printed, re.MULTILINE)
    assert len(points) >= 2
    moments = [float(moment) for moment, _ in points]
    assert moments == sorted(moments)
    (peak,) = re.findall(r"^Peak: ([\d.]+)MB at t=([\d.]+)ms$", printed, re.MULTILINE)
    assert float(peak[0]) == max(float(megabytes) for _, megabytes in points)
    assert json.loads(Path("memory_profile.json").read_text())


@blocks("001.10")
def test_flame_graphs(block: Block, given: dict[str, Any]) -> None:
    run_on(given, block)
    assert Path("flame.html").read_text().lower().startswith("<!doctype html")
    written = json.loads(Path("flame.json").read_text())
    assert written["value"] > 0
    assert "aten::" in json.dumps(written["children"])


@blocks("001.11")
def test_timelines(block: Block, given: dict[str, Any]) -> None:
    printed = run_on(given, block)
    times = {name: float(ms) for name, ms in re.findall(r"^([\w ]+): ([\d.]+)ms$", printed, re.MULTILINE)}
    assert times["Total"] >= times["CPU active"] > 0
    assert times["Overlap"] <= times["GPU active"] <= times["Total"]
    events = json.loads(Path("timeline_trace.json").read_text())["traceEvents"]
    assert any(event.get("cat") == "cpu_op" for event in events)
    assert all(event.get("dur", 1) >= 1 for event in events if event.get("ph") == "X")
    assert Path("timeline.html").read_text().lower().startswith("<!doctype html")


@blocks("001.13")
def test_compiling(block: Block, given: dict[str, Any]) -> None:
    device = given["input"].device
    with torch.no_grad():
        left, printed = run(
            block, model=Printing().to(device), sample_input=torch.randn(8, WIDTH, device=device)
        )
    numbers = re.findall(r"^(Speedup|Compile time|Graph breaks|Fusion ratio): ([\d.]+)[xs]?$", printed, re.M)
    assert [name for name, _ in numbers] == ["Speedup", "Compile time", "Graph breaks", "Fusion ratio"]
    assert dict(numbers)["Graph breaks"] == "1"
    results = left["results"]
    assert list(results) == ["default", "reduce-overhead", "max-autotune"]
    for mode, report in results.items():
        assert report.error is None, mode
        assert f"{mode}: {report.speedup:.2f}x speedup\n" in printed
        assert report.speedup == pytest.approx(report.eager_time_ms / report.compiled_time_ms)
        assert report.total_graph_breaks == 1
        assert report.graph_breaks[0].reason in printed
        assert report.graph_breaks[0].suggestion in printed
        assert not math.isnan(report.compile_time_ms)
    assert "1" in Path("compile_report.html").read_text()
