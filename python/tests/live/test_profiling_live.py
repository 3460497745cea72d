"""Profiling a real small transformer with real torch, on whatever device there is."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpuscope
from gpuscope.errors import UsageError
from gpuscope.profiling import (
    FlameGraphGenerator,
    HTAAnalyzer,
    MemoryProfiler,
    ProfileSession,
    TimelineGenerator,
    UnifiedProfiler,
)
from gpuscope.profiling._recording import write_session
from gpuscope.profiling._torch import trace_of

torch = pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")

on_the_cpu = pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")


# What torch.nn is, is only known where torch is installed.
class Transformer(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
        self.embedding = torch.nn.Embedding(64, width)
        self.encoder = torch.nn.TransformerEncoder(layer, layers)
        self.head = torch.nn.Linear(width, 64)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.encoder(self.embedding(tokens)))


@pytest.fixture(scope="module")
def tokens() -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.randint(0, 64, (4, 16), device=device)


@pytest.fixture(scope="module")
def model(tokens: Any) -> Any:
    torch.manual_seed(0)
    return Transformer().to(tokens.device)


@pytest.fixture(scope="module")
def step(model: Any, tokens: Any) -> Callable[[], None]:
    """Forward, backward and optimizer; run once, so that everything there is exists."""
    optimizer = torch.optim.AdamW(model.parameters())

    def run() -> None:
        optimizer.zero_grad()
        output = model(tokens)
        torch.nn.functional.cross_entropy(output.flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    run()
    return run


@pytest.fixture(scope="module")
def session(step: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> ProfileSession:
    profiler = UnifiedProfiler(output_dir=tmp_path_factory.mktemp("profiles"))
    with profiler.profile("training step") as session:
        step()
    return session


class TestSession:
    def test_times_memory_and_kernels(self, session: ProfileSession) -> None:
        assert session.total_time_ms >= session.cuda_time_ms > 0
        assert session.cpu_time_ms > 0
        assert session.peak_memory_mb >= session.allocated_memory_mb > 0
        assert session.reserved_memory_mb > session.allocated_memory_mb
        times = [kernel.cuda_time_us for kernel in session.kernels]
        assert times == sorted(times, reverse=True)
        assert sum(kernel.percent for kernel in session.kernels) == pytest.approx(100)

    def test_files(self, session: ProfileSession) -> None:
        assert session.trace_path is not None
        assert session.flame_graph_path is not None
        assert session.trace_path.name == "training_step.json"
        assert session.flame_graph_path.read_text().lower().startswith("<!doctype html")
        assert json.loads(session.trace_path.read_text())["traceEvents"]
        json.dumps(session.to_dict())
        assert session.name in session.summary()

    @pytest.mark.skipif(os.name != "posix", reason="modes of files")
    def test_files_are_for_their_user_alone(self, session: ProfileSession, tmp_path: Path) -> None:
        assert session.trace_path is not None
        for name in ("copy.json", "copy.json.gz", "copy.html"):
            write_session(session, tmp_path / name, as_json=False)
        written = [*session.trace_path.parent.iterdir(), *tmp_path.iterdir()]
        assert {path.stat().st_mode & 0o777 for path in written} == {0o600}, written

    def test_agrees_with_the_command_line(self, session: ProfileSession) -> None:
        timeline = session.open().timeline().data["ranks"][0]
        assert session.cpu_time_ms == timeline["cpu_active_ns"] / 1e6
        assert session.flame_graph_data["value"] > 0

    @on_the_cpu
    def test_the_cpu_takes_the_gpus_place_and_says_so(self, session: ProfileSession) -> None:
        assert session.device == "cpu"
        assert session.cuda_time_ms == session.cpu_time_ms
        assert "no GPU work was recorded" in session.notes[0]
        names = {kernel.name: kernel for kernel in session.kernels}
        assert names["aten::addmm"].calls == names["AddmmBackward0"].calls > 0

    @on_the_cpu
    def test_operators_have_the_own_time_that_torch_says(
        self, step: Callable[[], None], tmp_path: Path
    ) -> None:
        with torch.profiler.profile() as prof:
            step()
        torchs = {row.key: (row.self_cpu_time_total, row.count) for row in prof.key_averages()}
        prof.export_chrome_trace(str(tmp_path / "t.json"))
        report = HTAAnalyzer().analyze_trace(tmp_path / "t.json")
        assert len(report.top_kernels) == 10
        for row in report.top_kernels:
            own_us, count = torchs[row["name"]]
            assert row["time_us"] == pytest.approx(own_us, rel=1e-3, abs=1)
            # torch counts a call that does nothing but call its own name once; the trace has both.
            assert row["count"] >= count


class TestUnifiedProfiler:
    def test_an_exception_passes_through_a_closed_session(self, tmp_path: Path) -> None:
        profiler = UnifiedProfiler(tmp_path)
        with pytest.raises(ZeroDivisionError), profiler.profile("broken") as session:
            torch.ones(8).sum()
            1 / 0
        assert session.total_time_ms > 0
        assert any(kernel.name == "aten::sum" for kernel in session.kernels) or session.device != "cpu"
        assert any("ZeroDivisionError" in note for note in session.notes)
        with profiler.profile("afterwards") as session:
            torch.ones(8).sum()
        assert session.kernels

    def test_parts_can_be_turned_off(self, tmp_path: Path) -> None:
        profiler = UnifiedProfiler(
            tmp_path / "none", enable_trace=False, enable_memory=False, enable_flame_graph=False
        )
        with profiler.profile("bare") as session:
            torch.ones(1000).sum()
        assert session.trace_path is None
        assert session.flame_graph_data == {}
        assert session.peak_memory_mb == 0
        assert session.kernels
        assert not (tmp_path / "none").exists()

    def test_a_flame_graph_without_a_kept_trace_can_still_be_drawn(self, tmp_path: Path) -> None:
        with UnifiedProfiler(tmp_path, enable_trace=False).profile("bare") as session:
            torch.ones(1000).sum()
        path = FlameGraphGenerator().export(session.flame_graph_data, tmp_path / "later.svg")
        assert "aten::" in path.read_text()

    def test_names_never_overwrite(self, tmp_path: Path) -> None:
        profiler = UnifiedProfiler(tmp_path, enable_flame_graph=False)
        for _ in range(3):
            with profiler.profile("a/../b c"):
                torch.ones(2)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "a_.._b_c-2.json",
            "a_.._b_c-3.json",
            "a_.._b_c.json",
        ]

    def test_a_folder_that_cannot_be_is_said_before_anything_runs(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        ran = False
        with pytest.raises(UsageError, match="file"), UnifiedProfiler(tmp_path / "file").profile("x"):
            ran = True
        assert not ran

    def test_a_second_profiler_is_refused(self, tmp_path: Path) -> None:
        with (
            torch.profiler.profile() as prof,
            pytest.raises(UsageError, match="already"),
            UnifiedProfiler(tmp_path).profile("second"),
        ):
            pass
        assert prof is not None

    def test_a_profiler_within_the_block_costs_the_trace_and_no_more(self, tmp_path: Path) -> None:
        with UnifiedProfiler(tmp_path).profile("outer") as session, torch.profiler.profile():
            torch.ones(8).sum()
        assert session.total_time_ms > 0
        assert session.trace_path is None
        assert any("another torch profiler" in note for note in session.notes)

    def test_a_function_is_called_as_often_as_said(self, tmp_path: Path) -> None:
        calls = []

        def work(size: int, *, name_of_it: str) -> None:
            calls.append((size, name_of_it))
            torch.ones(size).sum()

        profiler = UnifiedProfiler(tmp_path)
        session = profiler.profile_function(work, 64, warmup=2, iterations=5, name_of_it="x")
        assert calls == [(64, "x")] * 7
        assert session.iterations == 5
        assert session.name.endswith("work")
        if session.device == "cpu":
            assert next(kernel for kernel in session.kernels if kernel.name == "aten::ones").calls == 5
        assert session.time_per_iteration_ms == pytest.approx(session.total_time_ms / 5)

    def test_memory_that_is_saved_is_positive(self, tmp_path: Path) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        profiler = UnifiedProfiler(tmp_path)
        wasteful = profiler.profile_function(lambda: torch.ones(4 * 2**20, device=device).sum(), iterations=2)
        modest = profiler.profile_function(lambda: torch.ones(2**20, device=device).sum(), iterations=2)
        saved = profiler.compare_sessions(wasteful, modest)["memory_diff"]["peak_mb"]
        assert saved == pytest.approx(12.0, abs=0.1)


class TestMemory:
    def test_a_step(self, step: Callable[[], None], tmp_path: Path) -> None:
        profiler = MemoryProfiler(sample_interval_ms=1.0, record_history=True)
        with profiler.track("training_step"):
            step()
        timeline = profiler.get_timeline()
        assert len(timeline) >= 2
        times = [point["time_ms"] for point in timeline]
        assert times == sorted(times)
        peak = profiler.get_peak_analysis()
        assert peak["peak_allocated_mb"] == pytest.approx(
            max(point["allocated_mb"] for point in timeline), rel=0.01
        )
        assert 0 <= peak["peak_time_ms"] <= peak["duration_ms"]
        assert peak["peak_label"] == "training_step"
        for name in ("memory.json", "memory.csv", "memory.html"):
            profiler.export(tmp_path / name)
        written = json.loads((tmp_path / "memory.json").read_text())
        assert written["timeline"] == timeline
        assert (tmp_path / "memory.csv").read_text().count("\n") == len(timeline) + 1
        assert "<polyline" in (tmp_path / "memory.html").read_text()

    @on_the_cpu
    def test_a_peak_shorter_than_the_interval_is_found_with_its_operator(self) -> None:
        profiler = MemoryProfiler(sample_interval_ms=500.0)
        with profiler.track("burst"):
            kept = torch.ones(2 * 2**18)
            torch.zeros(8 * 2**18)
        peak = profiler.get_peak_analysis()
        assert peak["peak_allocated_mb"] == pytest.approx(10.0, abs=0.01)
        assert peak["end_allocated_mb"] == pytest.approx(2.0, abs=0.01)
        assert peak["growth_mb"] == pytest.approx(2.0, abs=0.01)
        assert peak["peak_operator"] in ("aten::empty", "aten::zeros")
        assert peak["source"].startswith("torch CPU allocator")
        assert kept.sum() > 0

    @on_the_cpu
    def test_what_was_freed_while_nobody_looked_is_not_counted(self) -> None:
        profiler = MemoryProfiler()
        with profiler.track("first"):
            large = torch.ones(16 * 2**18)
        del large
        profiler.reset()
        with profiler.track("second"):
            torch.ones(2**18)
        assert profiler.get_peak_analysis()["peak_allocated_mb"] == pytest.approx(1.0, abs=0.01)

    @on_the_cpu
    @pytest.mark.parametrize("history", [False, True])
    def test_otherwise_it_is_the_memory_of_the_process(self, history: bool) -> None:
        profiler = MemoryProfiler(record_history=history)
        with torch.profiler.profile() as outer, profiler.track("block"):
            large = torch.ones(64 * 2**18)
        peak = profiler.get_peak_analysis()
        assert peak["source"].startswith("process")
        assert peak["growth_mb"] == pytest.approx(64, abs=16)
        assert bool(peak["notes"]) is history
        assert outer is not None
        assert large.sum() > 0

    def test_blocks_continue_the_timeline(self) -> None:
        profiler = MemoryProfiler()
        for name in ("one", "two"):
            with profiler.track(name):
                torch.ones(10)
        labels = [point["label"] for point in profiler.get_timeline()]
        assert labels == sorted(labels, key=["one", "two"].index)
        assert set(labels) == {"one", "two"}
        with pytest.raises(UsageError, match="already"), profiler.track("outer"), profiler.track("inner"):
            pass

    def test_an_exception_passes_through(self) -> None:
        profiler = MemoryProfiler()
        with pytest.raises(ZeroDivisionError), profiler.track("broken"):
            1 / 0
        assert profiler.get_peak_analysis()["peak_label"] == "broken"


class TestLiveProfiler:
    def test_flame_graph_and_timeline_of_the_same_recording(
        self, step: Callable[[], None], tmp_path: Path
    ) -> None:
        with torch.profiler.profile(with_stack=True) as prof:
            step()
        flame = FlameGraphGenerator(min_duration_us=10.0, max_depth=50, group_small_kernels=True)
        data = flame.from_profiler(prof)
        assert data.total_us > 0
        for format in ("html", "json", "svg", "folded", "speedscope"):
            assert flame.export(data, tmp_path / f"flame.{format}", format=format).stat().st_size > 100
        shown = TimelineGenerator(min_duration_us=1.0, include_python_events=False)
        timeline = shown.from_profiler(prof)
        whole = TimelineGenerator().from_profiler(prof)
        assert timeline.total_time_us == whole.total_time_us >= whole.cpu_active_time_us > 0
        assert len(timeline.events) < len(whole.events)
        untouched = TimelineGenerator().from_profiler(prof)
        file = trace_of(prof)
        assert file.exists()
        del prof
        gc.collect()
        assert not file.exists()
        assert len(untouched.events) == len(whole.events)
        page = shown.generate_html_viewer(timeline, tmp_path / "timeline.html")
        assert page.read_text().lower().startswith("<!doctype html")
        trace = shown.export_chrome_trace(timeline, tmp_path / "timeline.json")
        assert gpuscope.open(trace).timeline().data["ranks"][0]["cpu_active_ns"] > 0

    def test_a_trace_that_was_exported_before(self, tmp_path: Path) -> None:
        with torch.profiler.profile() as prof:
            torch.ones(8).sum()
        prof.export_chrome_trace(str(tmp_path / "mine.json"))
        try:
            timeline = TimelineGenerator().from_profiler(prof)
        except UsageError as error:
            assert "from_chrome_trace" in str(error)  # torch before it could export twice
        else:
            assert timeline.total_time_us > 0

    def test_a_profiler_without_a_recording(self) -> None:
        with pytest.raises(UsageError, match="no finished recording"):
            FlameGraphGenerator().from_profiler(torch.profiler.profile())
        with torch.profiler.profile() as prof, pytest.raises(UsageError, match="no finished recording"):
            FlameGraphGenerator().from_profiler(prof)

    def test_a_profiler_whose_recording_was_cancelled(self) -> None:
        with torch.profiler.profile() as outer, torch.profiler.profile():
            torch.ones(2)
        with pytest.raises(UsageError, match="one profiler at a time"):
            TimelineGenerator().from_profiler(outer)


PROGRAM = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"
os.chdir("/")
import torch
model = torch.nn.Linear(64, 64)
for _ in range(3):
    model(torch.randn(8, 64)).sum().backward()
print("done", sys.argv[1:], os.environ.get("KINETO_LOG_LEVEL"))
if "fork" in sys.argv:
    child = os.fork()
    print("child" if child == 0 else os.waitpid(child, 0)[1])
if "exit" in sys.argv:
    sys.exit(5)
"""


class TestPrograms:
    def run(self, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "train.py").write_text(PROGRAM)
        package = str(Path(gpuscope.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            [sys.executable, "-m", "gpuscope.profiling", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_profile(self, tmp_path: Path) -> None:
        ended = self.run(tmp_path, "profile", "-o", "out", "train.py", "-o", "fork", "exit")
        assert ended.returncode == 5
        first, *others = ended.stdout.splitlines()
        assert first == "done ['-o', 'fork', 'exit'] None"
        assert sorted(others) == ["1280", "child"]  # the fork ended too, with 5
        assert ended.stderr.count("\n  trace: ") == 1
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "train.flame.html",
            "train.json",
        ]

    def test_what_is_written_of_a_session(
        self, session: ProfileSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_session(session, tmp_path / "new" / "mine.json.gz", as_json=False)
        write_session(session, tmp_path / "mine.json", as_json=False)
        assert session.trace_path is not None
        plain = session.trace_path.read_bytes()
        assert gzip.decompress((tmp_path / "new" / "mine.json.gz").read_bytes()) == plain
        assert (tmp_path / "mine.json").read_bytes() == plain
        write_session(session, tmp_path / "report.html", as_json=False)
        assert (tmp_path / "report.html").read_text().lower().startswith("<!doctype html")
        write_session(session, tmp_path / "numbers", as_json=True)
        assert capsys.readouterr().out == ""
        write_session(session, None, as_json=True)
        printed = json.loads(capsys.readouterr().out)
        assert printed == json.loads((tmp_path / "numbers").read_text())
        assert printed["kernels"]

    def test_memory(self, tmp_path: Path) -> None:
        ended = self.run(tmp_path, "memory", "--json", "train.py")
        line, _, text = ended.stdout.partition("\n")
        assert (ended.returncode, line) == (0, "done [] None")
        assert json.loads(text)["timeline"]
