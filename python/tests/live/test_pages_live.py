"""The programs on the pages that import torch run, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documents import run_code
from pages import PAGES, programs

import gpuscope

torch = pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")


@pytest.mark.parametrize("page", PAGES)
def test_programs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(8, 8)

    def train_step(batch: Any) -> None:
        model(batch).sum().backward()

    given = {"loader": [torch.randn(4, 8)] * 8, "train_step": train_step}
    (program,) = programs(page, with_torch=True)
    block, _ = program
    _, printed = run_code(block.text, block.name, **given)
    match page:
        case "README.md":
            run = gpuscope.open("traces")
            assert len(run.inputs) == 1
            assert "ProfilerStep#3" in run.rank(0).events()["name"]
        case "docs/python.md":
            assert printed.startswith("linear: ")
            assert "aten::addmm" in printed
            assert Path("operators.html").stat().st_size > 1000
        case "docs/migrating.md":
            assert Path("report.html").stat().st_size > 10_000
            assert {"ProfilerStep#2", "ProfilerStep#3"} <= set(gpuscope.open("log").rank(0).events()["name"])
