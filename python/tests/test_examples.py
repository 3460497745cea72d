"""The examples run as they are, on a machine without a GPU; those that need torch are in `live`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
WITH_TORCH = {"bench_example.py", "bench_gpt.toml", "example_usage.py", "profiling_examples.py"}
HERE = {"compare_runs.py", "gpu_timeline.py", "kernel_breakdown_demo.ipynb"}


def run(name: str, *arguments: str | Path, cwd: Path) -> str:
    """What the example prints."""
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tried() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == WITH_TORCH | HERE


def test_two_simulated_runs_are_compared(tmp_path: Path) -> None:
    printed = run("compare_runs.py", cwd=tmp_path)
    change = {name: float(pct) for name, pct in re.findall(r"^(\w+) .* ([+-][\d.]+) %$", printed, re.M)}
    assert change["computation"] == pytest.approx(-25, abs=1)
    assert change["comm"] == pytest.approx(0, abs=0.1)
    assert -26 < change["step_time"] < -20
    assert "The step is not slower." in printed
    for name in re.findall(r"^  (\S+)$", printed, re.MULTILINE):
        assert (tmp_path / name).stat().st_size > 10_000, name


def test_two_runs_that_are_named_are_compared(demo: Path, tmp_path: Path) -> None:
    printed = run("compare_runs.py", demo / "rank-0.json", demo / "rank-1.json", "-o", "out", cwd=tmp_path)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("comparison.html", "comparison.json", "report-before.html", "report-after.html")
    }
    assert "step_time" in printed


def test_one_run_is_not_enough_to_compare(demo: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "compare_runs.py"), str(demo)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "name two runs, or none" in done.stderr


def test_the_timeline_of_simulated_gpus(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    printed = run("gpu_timeline.py", cwd=tmp_path)
    assert re.findall(r"^(rank-\d)\.json$", printed, re.MULTILINE) == ["rank-0", "rank-1"]
    for part in ("computation_time", "exposed_comm_time", "idle_time", "total_time"):
        assert len(re.findall(rf"^ *{part} +[\d.]+ +[\d.]+$", printed, re.MULTILINE)) == 2
    assert list(tmp_path.iterdir()) == []


def test_the_timelines_of_real_gpus(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    traces = (corpus / "h100_bert_small.json.gz", corpus / "jax_conv_08.trace.json.gz")
    printed = run("gpu_timeline.py", *traces, cwd=tmp_path)
    assert re.search(r"^ *computation_time +0\.307 +7\.861$", printed, re.MULTILINE)
    assert "Without its copies the GPU would be busy for 0.002 ms less." in printed
    assert len(re.findall(r"^jax_conv_08.trace.json.gz, GPU [0-7]$", printed, re.MULTILINE)) == 8


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("pandas", "plotly", "ipykernel"):
        pytest.importorskip(needed)
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "kernel_breakdown_demo.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "outputs are to be stripped"
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # Where it puts its traces.
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = {number: "".join(map(text_of, cell.outputs)) for number, cell in enumerate(cells)}
    figures = [output for cell in cells for output in cell.outputs if is_figure(output)]
    assert len(figures) >= 3
    assert "COMPUTATION" in shown[3]
    assert "ncclDevKernel" in shown[4] or "gemm" in shown[4]
    assert re.search(r"90 % of the time: \d+ rows; the largest of each kind: \d+ rows", shown[5])
    assert "MEMORY" not in shown[6]
    assert "What to do" in shown[8]


def text_of(output: Any) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


def is_figure(output: Any) -> bool:
    return any("plotly" in kind or "html" in kind for kind in output.get("data", {})) and "plotly" in str(
        output
    )
