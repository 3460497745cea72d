"""The pages on the Python package are true: their programs run, and what they name is there."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import run_code
from pages import PAGES, ROOT, prints, programs, text_of

import gpuscope
from gpuscope._flags import Selection

for library in ("pandas", "polars", "plotly"):
    pytest.importorskip(library)


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that programs run in, with `traces/`."""
    gpuscope.demo(tmp_path / "traces", ranks=4, bytes=6_000_000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_programs(page: str, traces: Path) -> None:
    names: dict[str, Any] = {}
    tried = 0
    for block, shown in programs(page, with_torch=False):
        left, printed = run_code(block.text, block.name, **names)
        names.update(left)
        assert shown is None or prints(shown, printed), f"{block.name} prints\n{printed}"
        tried += 1
    assert tried >= 1
    for name in re.findall(r'(?:save|write_html)\("([\w.]+)"\)', text_of(page)):
        if name in ("report.html", "kernels.xlsx", "flame.svg", "timeline.html") and page == "docs/python.md":
            assert (traces / name).stat().st_size > 1000, name


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text_of(page)):
        assert ((ROOT / page).parent / target).exists(), target
    for example in re.findall(r"`(examples/\S+?)`", text_of(page)):
        assert (ROOT / example).exists(), example


@pytest.mark.parametrize("page", PAGES)
def test_questions(page: str) -> None:
    """Each `run.question(option=…)` of the text and its tables is a method with that option."""
    asked = re.findall(r"\brun\.(\w+)\(([^()]*)", text_of(page))
    assert page == "README.md" or len(asked) >= 15
    for name, arguments in asked:
        method = getattr(gpuscope.Run, name)
        known = {*inspect.signature(method).parameters, *Selection.__annotations__}
        for option in re.findall(r"(\w+)=", arguments):
            assert option in known, f"run.{name}({option}=…)"


def calls(page: str) -> list[str]:
    """The whole calls that a page names between back quotes, in text and tables."""
    return re.findall(r"`((?:run|gpuscope)\.[^`…]+[)\]])[^`…]*`", text_of(page))


@pytest.mark.parametrize("page", PAGES[1:])
def test_calls(page: str, traces: Path) -> None:
    names = {"gpuscope": gpuscope, "run": gpuscope.open("traces"), "folder": "log"}
    names |= dict.fromkeys(("a", "before"), "traces/rank-0.json")
    names |= dict.fromkeys(("b", "after"), "traces/rank-1.json")
    names |= {"events": [], "name": "breakdown"}
    whole = [call for call in calls(page) if "compile_log" not in call]
    assert len(whole) >= 8
    for call in whole:
        try:
            eval(call, names)
        except Exception as error:
            raise AssertionError(f"{call}: {error}") from error


def test_commands() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "gpuscope", "--help"], capture_output=True, text=True, check=True
    )
    known = set(re.findall(r"^  ([a-z-]+) ", shown.stdout, re.MULTILINE))
    for page in PAGES[1:]:
        for command in re.findall(r"`gpuscope ([a-z-]+) ", text_of(page)):
            assert command in known, command


def test_names_of_hta() -> None:
    from gpuscope.hta import TraceAnalysis, TraceDiff
    from gpuscope.hta.memory_analysis import MemoryAnalysis

    rows = table_below("| `TraceAnalysis` of HTA")
    for row in rows:
        for owner, name in re.findall(r"`(?:(\w+)\.)?(\w+)\(\)`", row.split("|")[1]):
            home = {"TraceDiff": TraceDiff, "MemoryAnalysis": MemoryAnalysis}.get(owner, TraceAnalysis)
            assert callable(getattr(home, name)), name
    # No method of the class is left out of the table.
    named = "".join(rows)
    own = {name for name in vars(TraceAnalysis) if name.startswith(("get_", "generate_"))}
    beside = {"get_profiler_steps", "get_queue_length_summary_from_time_series"}
    old_names = {"get_frequent_cuda_kernel_patterns", "get_queue_length_series"}
    assert {name for name in own - beside - old_names if f"`{name}()`" not in named} == set()


def test_names_of_tracelens() -> None:
    from gpuscope import tracelens

    for row in table_below("| TraceLens and `gpuscope.tracelens`"):
        for owner, name in re.findall(r"`(\w+)[\w.()]*\.(\w+)\(", row.split("|")[1]):
            assert callable(getattr(getattr(tracelens, owner), name)), name


def table_below(head: str) -> list[str]:
    """The rows of the table that begins with this."""
    lines = text_of("docs/migrating.md").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(line)
    assert len(rows) >= 10
    return rows
