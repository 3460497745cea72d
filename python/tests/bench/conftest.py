"""What the tests of benchmarks share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpuscope

HERE = Path(__file__).parent
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def no_gpu_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded but what a test puts there: another test may have imported the real torch."""
    for library in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, library, raising=False)


@pytest.fixture
def start() -> Start:
    """Start a Python with the package, in a process of its own."""

    def begin(code: str, *words: str | Path, cwd: Path, **options: Any) -> subprocess.Popen[str]:
        package = str(Path(gpuscope.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [str(HERE), package, os.environ.get("PYTHONPATH")]))
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    return begin
