"""The examples of profiling run as they are, with a GPU or without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")

EXAMPLE = Path(__file__).parents[3] / "examples" / "profiling_examples.py"


def test_the_examples_of_profiling(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^== (.*)$", done.stdout, flags=re.MULTILINE)[1:]
    shown = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(shown) == 7
    assert re.match(r"\ntraining_step: [\d.]+ ms on ", shown["A block of code"])
    assert "times as fast" in shown["Two ways of doing the same"]
    assert re.search(r"^\d+ points; [\d.]+ MB", shown["Memory over time"], re.MULTILINE)
    assert "CPU active" in shown["A timeline of CPU and GPU"]
    assert "aten::" in shown["Analysis of a trace"] or "Idle" in shown["Analysis of a trace"]
    assert re.search(
        r"^\d+ graph breaks; [\d.]+ operators to a kernel$", shown["torch.compile"], re.MULTILINE
    )
    assert "nan" not in done.stdout

    pages = {path.name for path in tmp_path.glob("*.html")}
    assert pages == {"memory.html", "flame.html", "timeline.html", "compile_report.html"}
    assert json.loads((tmp_path / "flame.json").read_text())["value"] > 0
    assert (tmp_path / "profiles" / "training_step.json").exists()
    assert (tmp_path / "hta" / "trace.hta.html").exists()
