"""Profiling a block of code or a function: its trace, its times, its memory and what would make it faster."""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling import _comparing
from gpuscope.profiling._allocations import host_levels
from gpuscope.profiling._reading import read_trace
from gpuscope.profiling._resident import resident_bytes
from gpuscope.profiling._torch import (
    BYTES_PER_MB,
    THE_CPU,
    accelerator,
    export_trace,
    need_torch,
    new_profiler,
    profiler_is_running,
    rank_of_this_process,
    synchronize,
)
from gpuscope.profiling.flame_graph import FlameGraphGenerator
from gpuscope.profiling.session import KernelInfo, ProfileSession

__all__ = ["KernelInfo", "ProfileSession", "UnifiedProfiler"]


class UnifiedProfiler:
    """Records what torch does in a block of code and says where the time went.

    Traces and flame graphs are written to ``output_dir``, named after the session, never over an older file.
    ``enable_trace`` keeps the trace, ``enable_memory`` records allocations, ``enable_flame_graph`` makes the
    flame graph. ``record_shapes`` and ``with_stack`` record more and cost more: arguments of operators, and
    Python's stacks.
    """

    def __init__(
        self,
        output_dir: str | Path = "./profiles",
        enable_trace: bool = True,
        enable_memory: bool = True,
        enable_flame_graph: bool = True,
        *,
        record_shapes: bool = True,
        with_stack: bool = False,
    ) -> None:
        """Set what is recorded, and where it goes."""
        self.output_dir = Path(output_dir)
        self.enable_trace = enable_trace
        self.enable_memory = enable_memory
        self.enable_flame_graph = enable_flame_graph
        self.record_shapes = record_shapes
        self.with_stack = with_stack

    @contextmanager
    def profile(self, name: str = "profile") -> Iterator[ProfileSession]:
        """Profile the block; the session it is given is filled when the block ends, also by an exception."""
        torch = need_torch("UnifiedProfiler.profile")
        if profiler_is_running(torch):
            raise UsageError(
                "a torch profiler is running already, and torch keeps only one at a time; stop it first"
            )
        device = accelerator(torch)
        session = ProfileSession(name=name, device=device.kind, device_name=device.name)
        if self.enable_trace:
            session.trace_path = self._new_file(name, rank_of_this_process(torch))
        profiler = new_profiler(
            torch, memory=self.enable_memory, shapes=self.record_shapes, stacks=self.with_stack
        )
        synchronize(torch)
        if self.enable_memory and device.is_gpu:
            torch.cuda.reset_peak_memory_stats()
        profiler.start()
        start_ns = time.perf_counter_ns()
        try:
            yield session
            # What the GPU still does belongs to the block, and so do errors that only show now.
            synchronize(torch)
        except BaseException as error:
            session.notes.append(f"the block ended with {type(error).__name__}: {error}")
            raise
        finally:
            session.total_time_ms = (time.perf_counter_ns() - start_ns) / 1e6
            if self.enable_memory and device.is_gpu:
                _read_gpu_memory(session, torch)
            self._finish(session, profiler)

    def profile_function(
        self,
        fn: Callable[..., Any],
        *args: Any,
        name: str | None = None,
        warmup: int = 3,
        iterations: int = 10,
        **kwargs: Any,
    ) -> ProfileSession:
        """Call ``fn(*args, **kwargs)`` ``warmup`` times, then ``iterations`` times under the profiler."""
        if warmup < 0 or iterations < 1:
            raise UsageError(f"warmup={warmup}, iterations={iterations}: at least 0 and 1 are needed")
        for _ in range(warmup):
            fn(*args, **kwargs)
        with self.profile(name or _name_of(fn)) as session:
            session.iterations = iterations
            for _ in range(iterations):
                fn(*args, **kwargs)
        return session

    def compare_sessions(self, baseline: ProfileSession, other: ProfileSession) -> dict[str, Any]:
        """How much faster ``other`` is (``speedup``), what it saves, and which kernels changed.

        ``time_diff``, ``memory_diff`` and ``kernel_diff`` hold differences, all for one iteration; positive
        is saved.
        """
        return _comparing.compare(baseline, other)

    def _finish(self, session: ProfileSession, profiler: Any) -> None:
        # What the block did counts more than what can be said about it: trouble here must not hide its
        # exception.
        try:
            profiler.stop()
            if session.trace_path is not None:
                self._read(session, profiler, session.trace_path)
            else:
                with tempfile.TemporaryDirectory(prefix="gpuscope-") as folder:
                    self._read(session, profiler, Path(folder) / "trace.json")
        except (GpuscopeError, RuntimeError, OSError) as error:
            session.notes.append(f"the trace could not be used: {error}")
            if session.trace_path is not None and session.trace_path.stat().st_size == 0:
                session.trace_path.unlink()
                session.trace_path = None

    def _read(self, session: ProfileSession, profiler: Any, trace: Path) -> None:
        import gpuscope

        export_trace(profiler, trace)
        run = gpuscope.open(trace)
        read_trace(session, run)
        if session.device == THE_CPU.kind:
            session.device_name = THE_CPU.name
            if self.enable_memory:
                _read_host_memory(session, trace)
        if self.enable_flame_graph:
            generator = FlameGraphGenerator()
            session.flame_graph_data = generator.from_run(run)
            if session.trace_path is not None:
                path = session.trace_path.with_suffix(".flame.html")
                session.flame_graph_path = generator.export_recorded(session.flame_graph_data, path)

    def _new_file(self, name: str, rank: int | None) -> Path:
        stem = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "profile"
        if rank is not None:
            stem += f"-rank{rank}"
        try:
            self.output_dir.mkdir(parents=True, exist_ok=True)
            path = self.output_dir / f"{stem}.json"
            # Creating it at once also holds against another process that looks for a name.
            for number in itertools.count(2):
                try:
                    path.touch(mode=0o600, exist_ok=False)
                    break
                except FileExistsError:
                    path = self.output_dir / f"{stem}-{number}.json"
        except OSError as error:
            raise UsageError(
                f"{self.output_dir}: traces cannot be written here: {error.strerror or error}"
            ) from error
        return path


def _name_of(fn: Callable[..., Any]) -> str:
    return str(getattr(fn, "__qualname__", None) or type(fn).__name__)


def _read_gpu_memory(session: ProfileSession, torch: Any) -> None:
    session.peak_memory_mb = torch.cuda.max_memory_allocated() / BYTES_PER_MB
    session.allocated_memory_mb = torch.cuda.memory_allocated() / BYTES_PER_MB
    session.reserved_memory_mb = torch.cuda.memory_reserved() / BYTES_PER_MB


def _read_host_memory(session: ProfileSession, trace: Path) -> None:
    levels = host_levels(trace)
    session.peak_memory_mb = max((level.allocated_bytes for level in levels), default=0) / BYTES_PER_MB
    session.allocated_memory_mb = levels[-1].allocated_bytes / BYTES_PER_MB if levels else 0.0
    session.reserved_memory_mb = resident_bytes() / BYTES_PER_MB
    session.notes.append(
        "memory is that of CPU tensors since the block began; reserved memory is the process' resident memory"
    )
