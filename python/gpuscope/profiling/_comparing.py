"""What changed between two sessions."""

from __future__ import annotations

from typing import Any

from gpuscope.profiling.session import KernelInfo, ProfileSession


def compare(baseline: ProfileSession, other: ProfileSession) -> dict[str, Any]:
    """Speed-up, memory and kernels of ``other`` against ``baseline``; positive differences are savings.

    >>> slow, fast = ProfileSession(total_time_ms=8.0), ProfileSession(total_time_ms=4.0, iterations=2)
    >>> compare(slow, fast)["speedup"]
    4.0
    """
    before_ms, after_ms = baseline.time_per_iteration_ms, other.time_per_iteration_ms
    notes = []
    if baseline.device != other.device:
        notes.append(f"the sessions ran on different devices: {baseline.device} and {other.device}")
    if min(before_ms, after_ms) <= 0:
        notes.append("a session took no time, so there is no speed-up")
    return {
        "baseline": baseline.name,
        "other": other.name,
        "speedup": before_ms / after_ms if min(before_ms, after_ms) > 0 else float("nan"),
        "basis": "wall time of one iteration under the profiler",
        "time_diff": {
            "total_ms": before_ms - after_ms,
            "total_pct": 100 * (before_ms - after_ms) / before_ms if before_ms > 0 else float("nan"),
            "cuda_ms": _each(baseline, baseline.cuda_time_ms) - _each(other, other.cuda_time_ms),
            "cpu_ms": _each(baseline, baseline.cpu_time_ms) - _each(other, other.cpu_time_ms),
        },
        "memory_diff": {
            "peak_mb": baseline.peak_memory_mb - other.peak_memory_mb,
            "allocated_mb": baseline.allocated_memory_mb - other.allocated_memory_mb,
            "reserved_mb": baseline.reserved_memory_mb - other.reserved_memory_mb,
        },
        "kernel_diff": _kernels(baseline, other),
        "notes": notes,
    }


def _kernels(baseline: ProfileSession, other: ProfileSession) -> dict[str, Any]:
    before, after = _by_name(baseline), _by_name(other)
    changed = [
        {
            "name": name,
            "baseline_us": _each(baseline, before[name].cuda_time_us),
            "other_us": _each(other, after[name].cuda_time_us),
            "saved_us": _each(baseline, before[name].cuda_time_us) - _each(other, after[name].cuda_time_us),
            "baseline_calls": _each(baseline, before[name].calls),
            "other_calls": _each(other, after[name].calls),
        }
        for name in before.keys() & after.keys()
    ]
    return {
        "changed": sorted(changed, key=lambda row: (-abs(row["saved_us"]), row["name"])),
        "removed": _alone(baseline, before, after),
        "added": _alone(other, after, before),
    }


def _alone(
    session: ProfileSession, here: dict[str, KernelInfo], there: dict[str, KernelInfo]
) -> list[dict[str, Any]]:
    return [
        {"name": name, "time_us": _each(session, kernel.cuda_time_us), "calls": _each(session, kernel.calls)}
        for name, kernel in here.items()
        if name not in there
    ]


def _by_name(session: ProfileSession) -> dict[str, KernelInfo]:
    return {kernel.name: kernel for kernel in session.kernels}


def _each(session: ProfileSession, amount: float) -> float:
    return amount / max(session.iterations, 1)
