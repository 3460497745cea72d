"""Where numbers about memory come from: the GPU's allocator, torch's on the CPU, or the process itself."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling._allocations import Level, host_levels
from gpuscope.profiling._resident import resident_bytes
from gpuscope.profiling._torch import (
    accelerator,
    export_trace,
    new_profiler,
    profiler_is_running,
)

_HISTORY_ENTRIES = 100_000
_STACK_FRAMES = 8


@dataclass(frozen=True)
class Taken:
    """How much was taken at one moment; ``allocated_bytes`` is ``None`` if that is known only afterwards."""

    allocated_bytes: int | None
    reserved_bytes: int


@dataclass
class Course:
    """What a source knows when the block has ended: every change, and who made the largest ones."""

    levels: list[Level] = field(default_factory=list)
    peak_bytes: int | None = None
    culprits: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class MemorySource(Protocol):
    """Something that can be asked at any time, also from another thread, how much memory is taken."""

    device: str
    description: str

    def start(self) -> None:
        """Begin; called in the thread that runs the block."""
        ...

    def sample(self) -> Taken:
        """What is taken now."""
        ...

    def stop(self) -> Course:
        """End, and tell what is known only now."""
        ...


def memory_source(torch: Any, record_history: bool) -> MemorySource:
    """The best source on this machine."""
    found = accelerator(torch)
    if found.is_gpu:
        return GpuAllocator(torch, found.kind, record_history)
    if record_history and not profiler_is_running(torch):
        return HostAllocator(torch)
    return ProcessMemory(asked_for_history=record_history)


class ProcessMemory:
    """The process' resident memory: of everything in it, not of tensors alone."""

    device = "cpu"
    description = "process: allocated_mb and reserved_mb are the resident memory of the whole process"

    def __init__(self, asked_for_history: bool = False) -> None:
        self._asked_for_history = asked_for_history

    def start(self) -> None:
        """Nothing has to be prepared."""

    def sample(self) -> Taken:
        """The resident memory now."""
        taken = resident_bytes()
        return Taken(taken, taken)

    def stop(self) -> Course:
        """Single allocations are not known."""
        if not self._asked_for_history:
            return Course()
        return Course(
            notes=["a torch profiler was running already, so single allocations could not be recorded"]
        )


class HostAllocator:
    """Torch's allocations on the CPU, recorded one by one by torch.profiler."""

    device = "cpu"
    description = (
        "torch CPU allocator: allocated_mb is what CPU tensors took since the block began; "
        "reserved_mb is the resident memory of the whole process"
    )

    def __init__(self, torch: Any) -> None:
        self._profiler = new_profiler(torch, memory=True, shapes=False, stacks=False)

    def start(self) -> None:
        """Begin to record allocations."""
        self._profiler.start()

    def sample(self) -> Taken:
        """The resident memory now; tensors are known at the end."""
        return Taken(None, resident_bytes())

    def stop(self) -> Course:
        """Every allocation and release, and the operators behind them."""
        self._profiler.stop()
        with tempfile.TemporaryDirectory(prefix="gpuscope-") as folder:
            trace = Path(folder) / "memory.json"
            try:
                export_trace(self._profiler, trace)
            except UsageError as error:
                return Course(notes=[f"single allocations are not known: {error}"])
            return Course(levels=host_levels(trace), culprits=_culprits(trace))


def _culprits(trace: Path) -> dict[str, Any]:
    import gpuscope

    # Who allocated is a welcome extra: without it the course of memory is still right.
    with suppress(GpuscopeError):
        for device in gpuscope.open(trace).memory().data["devices"]:
            peak = device["peak"]
            if device["device"] == "cpu" and peak is not None:
                return {
                    "peak_operator": peak["operator"],
                    "largest_operators": [
                        {"operator": row["operator"], "count": row["count"], "mb": row["bytes"] / 2**20}
                        for row in peak["operators"]
                    ],
                }
    return {}


class GpuAllocator:
    """The caching allocator of CUDA or ROCm: its counters, and its history if wished."""

    def __init__(self, torch: Any, kind: str, record_history: bool) -> None:
        self._torch = torch
        self._index = int(torch.cuda.current_device())
        self._owns_history = record_history and not _history_is_on(torch)
        self._record_history = record_history
        self._start_ns = 0
        self.device = f"{kind}:{self._index}"
        self.description = (
            f"{kind} allocator: allocated_mb is what tensors take, reserved_mb what is held for them"
        )

    def start(self) -> None:
        """Begin to count the peak anew."""
        self._torch.cuda.reset_peak_memory_stats(self._index)
        if self._owns_history:
            self._torch.cuda.memory._record_memory_history(
                enabled="all", context="alloc", stacks="python", max_entries=_HISTORY_ENTRIES
            )
        self._start_ns = time.time_ns()

    def sample(self) -> Taken:
        """The allocator's counters now."""
        counters = self._torch.cuda.memory_stats(self._index)
        return Taken(
            int(counters.get("allocated_bytes.all.current", 0)),
            int(counters.get("reserved_bytes.all.current", 0)),
        )

    def stop(self) -> Course:
        """The exact peak and, if wished, every change with the line of the program behind it."""
        course = Course(peak_bytes=int(self._torch.cuda.max_memory_allocated(self._index)))
        if self._record_history:
            history = self._torch.cuda.memory._snapshot(self._index)["device_traces"][self._index]
            allocated = int(self._torch.cuda.memory_allocated(self._index))
            if self._owns_history:
                self._torch.cuda.memory._record_memory_history(enabled=None)
            course.levels, course.culprits = read_history(history, self._start_ns, allocated)
        return course


def _history_is_on(torch: Any) -> bool:
    asked = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return bool(asked()) if asked is not None else False


def read_history(
    history: Sequence[Mapping[str, Any]], start_ns: int, allocated_at_end: int
) -> tuple[list[Level], dict[str, Any]]:
    """The course of memory from the allocator's history, and the stack that reached the peak.

    The history may have lost its oldest entries, so levels are counted from the end backwards.
    """
    levels: list[Level] = []
    level = allocated_at_end
    peak: tuple[int, Mapping[str, Any]] | None = None
    for entry in reversed(history):
        sign = {"alloc": 1, "free_requested": -1}.get(entry["action"])
        time_ns = int(entry.get("time_us", 0)) * 1000
        if sign is None or time_ns < start_ns:
            continue
        levels.append(Level(time_ns, level))
        if sign > 0 and (peak is None or level >= peak[0]):
            peak = (level, entry)
        level -= sign * int(entry["size"])
    levels.reverse()
    if peak is None:
        return levels, {}
    frames = peak[1].get("frames", [])[:_STACK_FRAMES]
    stack = [f"{frame['filename']}:{frame['line']} {frame['name']}" for frame in frames]
    return levels, {"peak_stack": stack, "peak_allocation_mb": int(peak[1]["size"]) / 2**20}
