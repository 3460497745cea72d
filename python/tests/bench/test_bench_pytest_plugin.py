"""The fixture `gpuscope_bench` in sessions of pytest of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

Session = Callable[..., tuple[int, str]]

TESTS = """
import os, time

def test_sleeps(gpuscope_bench, tmp_path):
    os.chdir(tmp_path)
    result = gpuscope_bench(time.sleep, 0.002, warmup=0, max_repeats=5)
    assert 2 <= result.mean_ms < 200 and len(result.samples_ms) == 5

def test_named(gpuscope_bench):
    gpuscope_bench(lambda: None, name="mine", max_repeats=2)
    gpuscope_bench(lambda: None, max_repeats=2)

def test_plain():
    pass
"""

FAILS = """
def test_measures_and_fails(gpuscope_bench):
    gpuscope_bench(lambda: None, max_repeats=2)
    assert False

def test_twice(gpuscope_bench):
    gpuscope_bench(lambda: None, max_repeats=2)
    gpuscope_bench(lambda: None, max_repeats=2)
"""


@pytest.fixture
def session(start: Any, tmp_path: Path) -> Session:
    """Run pytest in a process of its own on a file of tests; gives its exit code and what it printed."""
    # Where the package is installed with its plugin, pytest finds it by itself.
    found = any(point.value == "gpuscope.bench.pytest_plugin" for point in entry_points(group="pytest11"))
    load = [] if found else ["-p", "gpuscope.bench.pytest_plugin"]
    code = "import sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))\n"

    def run(tests: str, *words: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(tests)
        words = ("-p", "no:cacheprovider", "--rootdir", str(tmp_path), *load, *words)
        process = start(code, "test_it.py", *words, cwd=tmp_path)
        printed, errors = process.communicate(timeout=120)
        return process.returncode, printed + errors

    return run


def test_results_of_a_session_are_one_file(session: Session, tmp_path: Path) -> None:
    code, printed = session(TESTS, "--gpuscope-bench-json", "out/bench.json")
    assert code == 0, printed
    data = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert list(data["benchmarks"]) == ["test_it.py::test_sleeps", "mine", "test_it.py::test_named"]
    entry = data["benchmarks"]["test_it.py::test_sleeps"]
    assert entry["timing"]["count"] == 5 and entry["timing"]["mean"] >= 2
    assert data["metadata"]["run_id"] and data["metadata"]["benchmark"] == "pytest"
    assert "gpuscope benchmarks" in printed and "± " in printed
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["bench.json"]


def test_without_a_file_the_fixture_only_measures(session: Session, tmp_path: Path) -> None:
    code, printed = session(TESTS)
    assert code == 0 and "mine" in printed
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"test_it.py"}


def test_what_a_failing_test_measured_is_kept(session: Session, tmp_path: Path) -> None:
    code, printed = session(FAILS, "--gpuscope-bench-json", "bench.json")
    assert code == 1 and "2 failed" in printed
    assert "there is a result 'test_it.py::test_twice' already; give this one another name=" in printed
    data = json.loads((tmp_path / "bench.json").read_text())
    assert list(data["benchmarks"]) == ["test_it.py::test_measures_and_fails", "test_it.py::test_twice"]


def test_it_stays_out_of_sessions_that_do_not_use_it(session: Session, tmp_path: Path) -> None:
    tests = (
        "import sys\n"
        "def test_nothing_is_loaded():\n"
        "    assert 'gpuscope.bench.pytest_plugin' in sys.modules\n"
        "    names = {'gpuscope.bench.timing', 'gpuscope.bench.runner', 'torch'}\n"
        "    assert not names & set(sys.modules)\n"
    )
    code, printed = session(tests, "--gpuscope-bench-json", "bench.json")
    assert code == 0, printed
    assert "gpuscope benchmarks" not in printed and not (tmp_path / "bench.json").exists()


def test_results_go_to_a_history(session: Session, tmp_path: Path) -> None:
    code, printed = session(TESTS, "--gpuscope-db", "h.db")
    assert code == 0 and "not added to the history" not in printed, printed
    assert (tmp_path / "h.db").exists()


def test_trouble_with_the_history_is_seen(session: Session, tmp_path: Path) -> None:
    code, printed = session(TESTS, "--gpuscope-db", "test_it.py")
    assert code == 0 and "not added to the history: " in printed, printed
