"""The blocks of the document on benchmark dashboards.

The dashboards are not built yet. What their data looks like, and what people do with it, runs; for their
commands, `examples/compare_runs.py` stands in: two runs of a job, compared, drawn and kept.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documents import Block, all_blocks, blocks, document, run

import gpuscope

pytest.importorskip("plotly")

pytest_plugins = ["document_fixtures"]

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare_runs.py"

#: The programs that the document names and gpuscope does not have: dashboards, what they rest on, and Nsight.
DASHBOARDS = {"visualize_performance.py", "visualize_comparison.py", "profile_performance.py"}
BESIDE_THEM = {"test_text_generation.py", "cutile_gpt/compare.py", "VISUALIZATION_GUIDE.md"}
NSIGHT = {"scripts/run_nsys_profile.sh", "scripts/run_ncu_profile.sh", "nsys-ui"}


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What the example leaves behind, and what it prints."""
    folder = tmp_path_factory.mktemp("compared")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "-o", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """`profiling_results/profiling_data.json` in the document's shape, with the numbers of its table."""
    data = shown_data(all_blocks()["002.4"])
    row = re.compile(
        r"^\| \*\*(\w+)\*\* \| ([\d.]+) ± ([\d.]+) \| ([\d.]+)K \| (\d+)L, (\d+)H, (\d+)D \|$", re.M
    )
    for name, mean, std, tokens, layers, heads, width in row.findall(document("002")):
        timing = {"mean": float(mean), "std": float(std), "p99": float(mean) + 3 * float(std)}
        config = {"n_layer": int(layers), "n_head": int(heads), "n_embd": int(width)}
        entry = {"config": config, "timing": timing, "throughput_tokens_per_sec": 1000 * float(tokens)}
        data["benchmarks"].setdefault(name, entry)
    (tmp_path / "profiling_results").mkdir()
    (tmp_path / "profiling_results" / "profiling_data.json").write_text(json.dumps(data))
    monkeypatch.chdir(tmp_path)
    return data


def shown_data(block: Block) -> dict[str, Any]:
    """The data that the block shows, without the dots for what it leaves out."""
    data: dict[str, Any] = json.loads(re.sub(r",\s*\.\.\.", "", block.text))
    return data


@blocks("002.1", "002.2", "002.8", "002.11")
def test_commands_of_the_dashboards(block: Block, compared: tuple[Path, str]) -> None:
    commands = [line for line in block.text.splitlines() if line and not line.startswith("#")]
    for command in commands:
        if not command.startswith("open profiling_results/"):
            assert any(name in command for name in DASHBOARDS | NSIGHT), command
    folder, printed = compared
    assert re.search(r"^step_time +[\d.]+ +[\d.]+ +-22\.\d %$", printed, re.MULTILINE)
    assert "nvjet" in printed
    for name in ("comparison.html", "report-before.html", "report-after.html"):
        assert (folder / name).read_text().lower().startswith("<!doctype html"), name
    if "nsys" in block.text:
        kernels = gpuscope.open(folder / "before").kernels()["kernels"]
        assert {"name", "count", "mean_ns", "min_ns", "max_ns", "std_ns"} <= {c.name for c in kernels.columns}


@blocks("002.5", "002.7", "002.12")
def test_files_of_the_dashboards(block: Block, compared: tuple[Path, str]) -> None:
    programs = set(re.findall(r"[\w/]+\.(?:py|sh|md)\b", block.text))
    assert programs <= DASHBOARDS | BESIDE_THEM | NSIGHT
    # Data that can be used again lies beside the page that shows it.
    folder, _ = compared
    again = json.loads((folder / "comparison.json").read_text())["data"]["summary"]
    assert again["b"]["step_time_ns"] < again["a"]["step_time_ns"]


@blocks("002.3")
def test_packages(block: Block, demo: Path, tmp_path: Path) -> None:
    packages = tomllib.loads(f"needed = [{block.text}]")["needed"]
    assert packages == ["plotly>=5.24.0", "kaleido>=0.2.1"]
    plotly = pytest.importorskip("plotly")
    assert tuple(map(int, plotly.__version__.split(".")[:2])) >= (5, 24)
    # "Static image export (PNG, PDF)" needs no package here.
    answer = gpuscope.open(demo).kernels()
    assert answer.save(tmp_path / "kernels.png").read_bytes().startswith(b"\x89PNG")
    assert answer.save(tmp_path / "kernels.pdf").read_bytes().startswith(b"%PDF")


@blocks("002.4")
def test_shape_of_the_data(block: Block, results: dict[str, Any]) -> None:
    nano = shown_data(block)["benchmarks"]["gpt_nano"]
    assert set(nano["timing"]) == {"mean", "std", "min", "max", "median", "p95", "p99"}
    assert nano == results["benchmarks"]["gpt_nano"]
    assert len(results["benchmarks"]) == 6


@blocks("002.6")
def test_a_chart_in_code(block: Block, results: dict[str, Any]) -> None:
    import plotly.graph_objects as go

    latencies = [entry["timing"]["mean"] for entry in results["benchmarks"].values()]
    names, _ = run(block, go=go, configs=list(results["benchmarks"]), latencies=latencies)
    assert list(names["fig"].data[0].y) == latencies
    assert names["fig"].layout.title.text == "Performance"


@blocks("002.9")
def test_looking_into_the_data(block: Block, results: dict[str, Any]) -> None:
    _, printed = run(block)
    (fastest, latency) = re.findall(r"\*\*Fastest Config\*\*: (\w+) \(([\d.]+ms)", document("002"))[0]
    assert printed == f"Fastest: {fastest} at {latency}\nTile avg: 12.03ms, Standard avg: 5.51ms\n"


@blocks("002.10")
def test_a_chart_of_the_data(
    block: Block, results: dict[str, Any], shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PerformanceDashboard:
        data: dict[str, Any]

        def load_data(self, path: str) -> None:
            self.data = json.loads(Path(path).read_text())

    stand_in = ModuleType("visualize_performance")
    stand_in.PerformanceDashboard = PerformanceDashboard  # type: ignore[attr-defined]  # A module made here.
    monkeypatch.setitem(sys.modules, "visualize_performance", stand_in)
    run(block)
    (figure,) = shown
    assert figure["layout"]["title"]["text"] == "P99 Latency Analysis"
    assert list(figure["data"][0]["x"]) == list(results["benchmarks"])
