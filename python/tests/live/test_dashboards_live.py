"""Every command of the document on dashboards, on this machine; without a GPU, on the CPU."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documents import Block, blocks

pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")

pytest_plugins = ["document_fixtures"]

REPOSITORY = Path(__file__).parents[3]
#: The document's commands take minutes; a few repeats show that they work.
QUICK = ["--warmup", "1", "--min-repeats", "3", "--max-repeats", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The blocks are run one after another in one folder, as in the document."""
    return tmp_path_factory.mktemp("dashboards")


#: Several blocks show the same command.
done_already: set[str] = set()


@blocks("002.8", "002.1", "002.2", "002.11")
def test_the_workflow_command_by_command(block: Block, folder: Path) -> None:
    environment = {**os.environ, "GPUSCOPE_DB": str(folder / "history.db")}
    for line in block.code.splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] == "nsys-ui" or shlex.join(words) in done_already:
            continue
        done_already.add(shlex.join(words))
        if words[0] == "open":
            page = (folder / words[1]).read_text()
            figures = ("latency", "throughput", "percentiles", "architecture", "efficiency")
            if "comparison" in words[1]:
                figures = ("compared_latency", "compared_throughput", "speedup")
            assert all(f'data-figure="{name}"' in page for name in figures)
            continue
        if words[0] == "bash":
            done = subprocess.run(
                ["bash", str(REPOSITORY / words[1])],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0 or "nsys" in done.stderr
            continue
        command = [sys.executable, *words[1:], *([] if "--data" in words else QUICK)]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
    data = json.loads((folder / "profiling_results" / "profiling_data.json").read_text())
    assert list(data["benchmarks"]) == [
        *("gpt_nano", "gpt_micro", "gpt_mini", "gpt_tile_small", "gpt_tile_medium", "gpt_tile_large")
    ]
    compared = json.loads((folder / "profiling_results" / "comparison_data.json").read_text())
    assert compared["comparison"]
    assert all(row["outputs_equal"] for row in compared["comparison"].values())
