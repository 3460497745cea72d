"""The example of collectors and figures runs as it is, on a machine without a GPU too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="these tests need torch")
pytest.importorskip("plotly", reason="figures need plotly")

EXAMPLE = Path(__file__).parents[3] / "examples" / "example_usage.py"


def test_the_example_writes_five_pages(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = {page.stem: page.read_text() for page in tmp_path.glob("*.html")}
    assert set(pages) == {"bottlenecks", "layers", "stack", "throughput", "timeline"}
    assert "0 Conv2d" in pages["layers"]
    assert "FLOP" in pages["throughput"]
    if "Kernels and copies are not collected" in done.stdout:
        assert "There are no kernels" in pages["bottlenecks"]
    else:
        assert "launches" in pages["bottlenecks"]
