"""Runs: what is written down, and that nothing finished is lost, whatever ends them."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins import PlantedClock

from gpuscope.bench import _commands, benchmark, run
from gpuscope.bench.__main__ import main
from gpuscope.errors import InputError, MissingDependency, UsageError

Start = Callable[..., Any]

#: Ten configurations of about 20 ms each; the sixth begins with a file that tests can wait for.
SLEEPS = """
import pathlib, time
from gpuscope.bench import benchmark


@benchmark(configs={f"c{n}": {"n": n} for n in range(10)}, warmup=0, min_repeats=4, max_repeats=4)
def sleeps(n):
    if n == 5:
        pathlib.Path("half").touch()
    return lambda: time.sleep(0.005)
"""

#: The command line without the table, which is another's to test.
RUN = "import sys\nfrom gpuscope.bench.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def planted(output: Path | None = None, **options: Any) -> dict[str, Any]:
    @benchmark(configs={"a": {"n": 1}, "b": {"n": 2}}, batch=4, seq_len=64)
    def work(n: int) -> int:
        return n

    return run(work, output=output, clock=PlantedClock([2.0]), **options)


def test_results_have_the_shape_of_the_document(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "profiling_data.json"
    data = planted(path, label="mine", flags={"tf32": True})
    assert json.loads(path.read_text()) == data
    assert list(data) == ["metadata", "benchmarks"]
    metadata = data["metadata"]
    assert (metadata["label"], metadata["flags"], metadata["benchmark"]) == ("mine", {"tf32": True}, "work")
    assert (metadata["batch_size"], metadata["seq_len"]) == (4, 64)
    entry = data["benchmarks"]["b"]
    assert list(entry)[:3] == ["config", "timing", "throughput_tokens_per_sec"]
    assert entry["config"] == {"n": 2}
    assert entry["timing"]["mean"] == 2.0
    assert entry["throughput_tokens_per_sec"] == 4 * 64 / 0.002
    assert (entry["batch_size"], entry["seq_len"], entry["stopped"]) == (4, 64, "precise")
    assert entry["samples_ms"] == [2.0] * 20
    assert entry["peak_memory_bytes"] >= 0 and entry["memory_source"]
    assert [path.name for path in path.parent.iterdir()] == ["profiling_data.json"]


def test_work_may_say_how_large_it_is() -> None:
    class Copies:
        parameters = 12
        bytes_moved = 4_000_000

        def __call__(self) -> None: ...

    @benchmark()
    def copies() -> Copies:
        return Copies()

    (entry,) = run(copies, clock=PlantedClock([2.0]))["benchmarks"].values()
    assert (entry["parameters"], entry["bandwidth_bytes_per_s"]) == (12, 2e9)


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(planted(configs=["a"])["benchmarks"]) == {"a"}
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="output="):
        planted(history=True)


def test_sizes_that_nobody_knows_are_left_out() -> None:
    data = run(lambda: 3, clock=PlantedClock([1.0]))
    (entry,) = data["benchmarks"].values()
    assert not {"throughput_tokens_per_sec", "batch_size", "seq_len"} & set(entry)
    assert not {"batch_size", "seq_len", "label"} & set(data["metadata"])


@pytest.mark.parametrize("how", ["raise", "exit", "later"])
def test_a_configuration_that_fails_is_noted_and_the_others_go_on(how: str, tmp_path: Path) -> None:
    def work(n: int) -> Any:
        def fails() -> None:
            raise ValueError("no such shape")

        if n == 2:
            if how == "exit":
                sys.exit("bye")
            if how == "raise":
                fails()
            return fails
        return n

    path = tmp_path / "data.json"
    decorated = benchmark(configs={"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}})(work)
    data = run(decorated, output=path, clock=PlantedClock([1.0]))
    assert list(data["benchmarks"]) == ["a", "c"]
    reason = "SystemExit: bye" if how == "exit" else "ValueError: no such shape"
    assert json.loads(path.read_text())["failures"] == [{"key": "b", "error": reason}]


def test_a_function_that_asks_for_too_much_is_refused_before_anything_runs(tmp_path: Path) -> None:
    ran = []

    @benchmark(configs={"a": {"n": 1}, "b": {}})
    def work(n: int) -> None:
        ran.append(n)

    with pytest.raises(UsageError, match="takes n"):
        run(work, output=tmp_path / "x.json")
    assert ran == [] and list(tmp_path.iterdir()) == []


def test_each_finished_configuration_goes_to_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[tuple[list[str], list[str]]] = []

    def command(words: list[str]) -> str:
        # What the file holds at this moment is what the history gets.
        added.append((words, list(json.loads(Path(words[2]).read_text())["benchmarks"])))
        return "added"

    monkeypatch.setattr(_commands, "_command", command)
    path, db = tmp_path / "data.json", tmp_path / "h.db"
    planted(path, db=db)
    words = ["history", "add", str(path), "--db", str(db)]
    assert added == [(words, ["a"]), (words, ["a", "b"])]
    added.clear()
    planted(path, history=True)
    assert added[0][0] == ["history", "add", str(path)]
    added.clear()
    planted(path)
    assert added == []


def test_trouble_with_the_history_is_told_once_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(words: list[str]) -> str:
        raise InputError("h.db: this is no history")

    monkeypatch.setattr(_commands, "_command", refuse)
    (tmp_path / "sleeps_here.py").write_text(SLEEPS)
    words = [
        "run",
        f"{tmp_path / 'sleeps_here.py'}:sleeps",
        "--config",
        "c1",
        "c2",
        "-o",
        str(tmp_path / "x.json"),
    ]
    assert main([*words, "--quiet"]) == 3, "the results are there, but not where they were to go"
    assert capsys.readouterr().err.count("not added to the history: h.db: this is no history") == 1
    assert list(json.loads((tmp_path / "x.json").read_text())["benchmarks"]) == ["c1", "c2"]


def test_traces_need_torch_and_say_so_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match="needs torch"):
        planted(tmp_path / "x.json", trace=True)
    assert list(tmp_path.iterdir()) == []


def begun(start: Start, folder: Path, *words: str) -> Any:
    (folder / "sleeps.py").write_text(SLEEPS)
    process = start(RUN, "run", "sleeps:sleeps", "-o", "out/data.json", "--no-history", *words, cwd=folder)
    give_up = time.monotonic() + 60
    while not (folder / "half").exists():
        assert process.poll() is None and time.monotonic() < give_up, process.communicate()
        time.sleep(0.001)
    return process


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_what_was_finished_and_says_where(start: Start, tmp_path: Path) -> None:
    process = begun(start, tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    done = json.loads((tmp_path / "out" / "data.json").read_text())["benchmarks"]
    assert 5 <= len(done) < 10
    assert errors.strip().endswith(f"interrupted: {len(done)} finished configurations are in out/data.json")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_kill_at_any_moment_leaves_a_whole_file(start: Start, tmp_path: Path) -> None:
    chance = random.Random(7)
    counts = []
    for at in range(5):
        folder = tmp_path / str(at)
        folder.mkdir()
        process = begun(start, folder)
        # Somewhere in the configurations that follow: measuring, writing, or between the two.
        time.sleep(chance.uniform(0, 0.06))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        data = json.loads((folder / "out" / "data.json").read_text())
        names = list(data["benchmarks"])
        counts.append(len(names))
        assert names == [f"c{n}" for n in range(len(names))]
        assert data["metadata"]["run_id"] and "failures" not in data
        assert all(len(entry["samples_ms"]) == 4 for entry in data["benchmarks"].values())
    # The sixth was about to begin, so the first five were finished.
    assert min(counts) >= 5 and min(counts) < 10, counts


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_run_leaves_the_results_of_an_earlier_one_alone(start: Start, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "data.json").write_text('{"benchmarks": {"old": {}}}')
    process = begun(start, tmp_path, "--config", "c5", "--min-repeats", "100000")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing was finished, and out/data.json was not written" in errors
    assert json.loads((tmp_path / "out" / "data.json").read_text()) == {"benchmarks": {"old": {}}}
