"""What sessions and memory timelines compute, on recordings whose numbers are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gpuscope
from gpuscope.errors import UsageError
from gpuscope.profiling import KernelInfo, MemoryProfiler, ProfileSession, UnifiedProfiler
from gpuscope.profiling._allocations import Level, host_levels
from gpuscope.profiling._memory_sources import Taken, read_history
from gpuscope.profiling._reading import read_trace
from gpuscope.profiling.memory import merged

MB = 1024 * 1024


def memory_event(ts: float, size: int, device_type: int = 0) -> dict[str, Any]:
    args = {
        "Total Reserved": 0,
        "Total Allocated": 9**9,
        "Bytes": size,
        "Device Id": -1,
        "Device Type": device_type,
    }
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "args": args,
    }


class TestHostAllocations:
    def levels(self, tmp_path: Path, *events: dict[str, Any]) -> list[tuple[int, int]]:
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"baseTimeNanoseconds": 7000, "traceEvents": list(events)}, indent=2))
        return [(level.time_ns, level.allocated_bytes) for level in host_levels(path)]

    def test_changes_are_summed_in_order_of_time(self, tmp_path: Path) -> None:
        found = self.levels(tmp_path, memory_event(3, -100), memory_event(1, 100), memory_event(2, 50))
        assert found == [(8000, 0), (8000, 100), (9000, 150), (10000, 50)]

    def test_what_is_released_must_have_been_there(self, tmp_path: Path) -> None:
        found = self.levels(tmp_path, memory_event(1, -300), memory_event(2, 100))
        assert [size for _, size in found] == [300, 0, 100]

    def test_other_devices_do_not_count(self, tmp_path: Path) -> None:
        assert self.levels(tmp_path, memory_event(1, 100, device_type=1)) == []

    def test_agree_with_the_analysis_of_the_trace(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.json"
        sizes = [100, 200, -100, 400, -200]
        total, events = 0, []
        for at, size in enumerate(sizes):
            total += size
            event = memory_event(at, size)
            event["args"]["Total Allocated"] = total
            events.append(event)
        path.write_text(json.dumps({"traceEvents": events}))
        (device,) = gpuscope.open(path).memory().data["devices"]
        assert (
            device["peak"]["allocated_bytes"]
            == max(level.allocated_bytes for level in host_levels(path))
            == 600
        )


class TestMerging:
    def test_a_peak_between_two_samples_is_kept(self) -> None:
        samples = [(0, Taken(None, MB)), (2_000_000, Taken(None, 2 * MB))]
        levels = [Level(0, 0), Level(500_000, 5 * MB), Level(1_000_000, 9 * MB), Level(1_500_000, 3 * MB)]
        points = merged(samples, levels, 0, "block")
        assert [(point.time_ms, point.allocated_mb, point.reserved_mb) for point in points] == [
            (0.0, 0.0, 1.0),
            (1.0, 9.0, 1.0),
            (2.0, 3.0, 2.0),
        ]

    def test_points_do_not_grow_with_allocations(self) -> None:
        samples = [(at * 1_000_000, Taken(None, 0)) for at in range(11)]
        levels = [Level(at * 100, (at % 7) * MB) for at in range(100_000)]
        assert len(merged(samples, levels, 0, "")) <= 2 * len(samples)

    def test_the_allocators_own_numbers_win(self) -> None:
        points = merged([(0, Taken(4 * MB, 8 * MB)), (1_000_000, Taken(5 * MB, 8 * MB))], [], 0, "")
        assert [point.allocated_mb for point in points] == [4.0, 5.0]


class TestGpuHistory:
    """The shape of `torch.cuda.memory._snapshot()["device_traces"][0]`, which only a GPU fills."""

    def entry(self, action: str, size: int, time_us: int, line: int = 0) -> dict[str, Any]:
        frames = [{"filename": "train.py", "line": line, "name": "forward"}]
        return {"action": action, "addr": 1, "size": size, "stream": 0, "time_us": time_us, "frames": frames}

    def test_is_counted_from_its_end(self) -> None:
        history = [
            self.entry("alloc", 7, 1),  # before the block
            self.entry("alloc", 100, 10, line=1),
            self.entry("segment_alloc", 2_000, 10),
            self.entry("alloc", 300, 20, line=2),
            self.entry("free_requested", 100, 30),
            self.entry("free_completed", 100, 31),
            self.entry("alloc", 50, 40, line=3),
        ]
        levels, culprits = read_history(history, start_ns=5_000, allocated_at_end=1_350)
        assert levels == [
            Level(10_000, 1_100),
            Level(20_000, 1_400),
            Level(30_000, 1_300),
            Level(40_000, 1_350),
        ]
        assert culprits["peak_stack"] == ["train.py:2 forward"]
        assert culprits["peak_allocation_mb"] == 300 / MB

    def test_may_be_empty(self) -> None:
        assert read_history([], 0, 5) == ([], {})


class TestReading:
    def test_a_gpu_trace_fills_a_session_with_the_numbers_of_the_command_line(self, corpus: Path) -> None:
        run = gpuscope.open(corpus / "h100_bert_small.json.gz")
        session = ProfileSession(name="bert", device="cuda")
        read_trace(session, run)
        timeline = run.timeline().data["ranks"][0]
        assert session.device == "cuda"
        assert session.cuda_time_ms == timeline["gpu_active_ns"] / 1e6
        assert session.cpu_time_ms == timeline["cpu_active_ns"] / 1e6
        assert [kernel.cuda_time_us for kernel in session.kernels] == sorted(
            (row["sum_ns"] / 1000 for row in run.kernels().data["kernels"]), reverse=True
        )
        assert sum(kernel.calls for kernel in session.kernels) == 61
        assert sum(kernel.percent for kernel in session.kernels) == pytest.approx(100)
        launches = run.launches().data["ranks"][0]["launches"]
        assert sum(kernel.cpu_time_us for kernel in session.kernels) == pytest.approx(
            sum(launch["cpu_ns"] for launch in launches) / 1000
        )
        findings = run.analyze().data["findings"]
        assert session.bottlenecks == [finding["title"] for finding in findings]
        assert len(session.recommendations) == len(findings) > 0
        assert f"up to {findings[0]['gain_pct']:.0f} % of a step" in session.recommendations[0]

    def test_a_trace_without_gpu_work_makes_it_a_session_of_the_cpu(self, corpus: Path) -> None:
        session = ProfileSession(device="cuda")
        read_trace(session, gpuscope.open(corpus / "cpu_only_rank-34.json.gz"))
        assert session.device == "cpu"
        assert session.cuda_time_ms == session.cpu_time_ms > 0
        assert "no GPU work was recorded" in session.notes[0]


class TestComparing:
    def session(self, total_ms: float, peak_mb: float, iterations: int, **kernels: float) -> ProfileSession:
        listed = [KernelInfo(name, time_us, 0.0, iterations) for name, time_us in kernels.items()]
        return ProfileSession(
            total_time_ms=total_ms,
            cuda_time_ms=total_ms / 2,
            peak_memory_mb=peak_mb,
            kernels=listed,
            iterations=iterations,
        )

    def test_is_of_one_iteration_and_positive_where_something_is_saved(self) -> None:
        before = self.session(40.0, 100.0, 2, gemm=20.0, softmax=8.0)
        after = self.session(40.0, 60.0, 4, gemm=20.0, flash=2.0)
        found = UnifiedProfiler().compare_sessions(before, after)
        assert found["speedup"] == 2.0
        assert found["time_diff"] == {"total_ms": 10.0, "total_pct": 50.0, "cuda_ms": 5.0, "cpu_ms": 0.0}
        assert found["memory_diff"]["peak_mb"] == 40.0
        (changed,) = found["kernel_diff"]["changed"]
        assert (changed["name"], changed["saved_us"], changed["other_calls"]) == ("gemm", 5.0, 1.0)
        assert found["kernel_diff"]["removed"] == [{"name": "softmax", "time_us": 4.0, "calls": 1.0}]
        assert found["kernel_diff"]["added"] == [{"name": "flash", "time_us": 0.5, "calls": 1.0}]

    def test_different_devices_and_empty_sessions_are_noted(self) -> None:
        found = UnifiedProfiler().compare_sessions(
            ProfileSession(device="cuda"), ProfileSession(device="cpu")
        )
        assert len(found["notes"]) == 2
        assert found["speedup"] != found["speedup"]  # not a number


class TestSession:
    def test_becomes_plain_values(self) -> None:
        session = ProfileSession(
            name="x", kernels=[KernelInfo("k", 4.0, 1.0, 2)], trace_path=Path("a/b.json")
        )
        values = json.loads(json.dumps(session.to_dict()))
        assert values["trace_path"] == str(Path("a/b.json"))
        assert values["kernels"][0]["mean_us"] == 2.0

    def test_without_a_trace_says_how_to_get_one(self) -> None:
        with pytest.raises(UsageError, match="enable_trace=True"):
            ProfileSession(name="x").open()


class TestMemoryProfiler:
    def test_arguments_are_checked(self) -> None:
        for wrong in (0.0, -1.0, float("nan")):
            with pytest.raises(UsageError, match="sample_interval_ms"):
                MemoryProfiler(sample_interval_ms=wrong)

    def test_nothing_tracked_is_said(self) -> None:
        profiler = MemoryProfiler()
        assert profiler.get_timeline() == []
        with pytest.raises(UsageError, match="nothing was tracked"):
            profiler.get_peak_analysis()


def test_iterations_are_checked() -> None:
    with pytest.raises(UsageError, match="iterations=0"):
        UnifiedProfiler().profile_function(print, iterations=0)
