"""The blocks of the document on benchmark dashboards.

Measuring needs torch: `live/test_dashboards_live.py` runs every command of the document. Here is what can be done with
numbers that are there already, and what is said where torch or Nsight is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from documents import Block, all_blocks, blocks, document, run

import gpuscope

pytest.importorskip("plotly")

pytest_plugins = ["document_fixtures"]

REPOSITORY = Path(__file__).parents[2]

#: The files that the document names, and what is in their place.
FILES = {
    "visualize_performance.py": "gpuscope.visualize_performance",
    "visualize_comparison.py": "gpuscope.visualize_comparison",
    "profile_performance.py": "gpuscope.bench.runner",
    "cutile_gpt/compare.py": "gpuscope.bench.comparing",
    "VISUALIZATION_GUIDE.md": "docs/visualization-guide.md",
    "scripts/run_nsys_profile.sh": "scripts/run_nsys_profile.sh",
    "scripts/run_ncu_profile.sh": "scripts/run_ncu_profile.sh",
}
#: Generating text is no benchmark.
NOT_OURS = {"test_text_generation.py"}


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


def test_what_is_in_the_place_of_the_documents_files() -> None:
    for name in FILES.values():
        if name.startswith("gpuscope."):
            assert importlib.import_module(name)
        else:
            assert (REPOSITORY / name).is_file(), name


def without_torch_and_nsight(tmp_path: Path) -> dict[str, str]:
    """An environment in which neither can be found."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "torch.py").write_text("raise ImportError('hidden', name='torch')")
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "env", "dirname", "mkdir", "basename", "cat"):
        if found := shutil.which(tool):
            (tmp_path / "bin" / tool).symlink_to(found)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    paths = [str(tmp_path / "hidden"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PATH": str(tmp_path / "bin"), "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@blocks("002.1", "002.2", "002.8", "002.11")
def test_commands_of_the_dashboards(block: Block, results: dict[str, Any], tmp_path: Path) -> None:
    environment = without_torch_and_nsight(tmp_path)
    for line in block.code.splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in {"open", "nsys-ui"}:
            continue
        if words[0] == "bash":
            words[1] = str(REPOSITORY / words[1])
        if words[0] == "python":
            words[0] = sys.executable
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if "--data" in words:
            assert done.returncode == 0, done.stderr
            assert "gpt_tile_small" in done.stdout
            page = (tmp_path / "profiling_results" / "performance_dashboard.html").read_text()
            assert page.startswith("<!doctype html") and "NVIDIA GB10" in page
        elif words[0] == "bash":
            assert (done.returncode, "nsys" in done.stderr) == (127, True), done.stderr
        else:
            assert (done.returncode, "pip install" in done.stderr) == (2, True), f"{words}: {done.stderr}"


@blocks("002.5", "002.7", "002.12")
def test_files_of_the_dashboards(block: Block, results: dict[str, Any], tmp_path: Path) -> None:
    programs = set(re.findall(r"[\w/]+\.(?:py|sh|md)\b", block.text))
    assert programs <= FILES.keys() | NOT_OURS
    # Data that can be used again lies beside the page that shows it.
    from gpuscope.visualize_comparison import ComparisonDashboard
    from gpuscope.visualize_performance import PerformanceDashboard

    performance = PerformanceDashboard()
    performance.load_data()
    performance.create_dashboard()
    comparison = ComparisonDashboard()
    sides = {"as_is": {"label": "AS-IS", **results}, "to_be": {"label": "TO-BE", **results}}
    comparison.data = {"metadata": {}, **sides, "comparison": {}}
    comparison.create_dashboard()
    there = {path.name for path in (tmp_path / "profiling_results").iterdir()}
    assert there >= set(re.findall(r"[\w]+\.(?:html|json)\b", block.text))


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
def test_a_chart_of_the_data(block: Block, results: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    run(block)
    (figure,) = shown
    assert figure["layout"]["title"]["text"] == "P99 Latency Analysis"
    assert list(figure["data"][0]["x"]) == list(results["benchmarks"])
