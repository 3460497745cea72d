"""A clock with planted times, and stand-ins of torch and CuPy that keep the time of an imagined GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any


class PlantedClock:
    """Gives the durations it was told, over and over, and lets as much time pass."""

    name = "planted"

    def __init__(self, durations_ms: Iterable[float]) -> None:
        self._durations = itertools.cycle(durations_ms)
        self.seconds = 0.0
        self.batches: list[int] = []

    def now(self) -> float:
        return self.seconds

    def synchronize(self) -> None:
        pass

    def time(self, work: Callable[[], object], repeats: int) -> list[float]:
        self.batches.append(repeats)
        return [self._one(work) for _ in range(repeats)]

    def _one(self, work: Callable[[], object]) -> float:
        work()
        duration = next(self._durations)
        self.seconds += duration / 1e3
        return duration


class Gpu:
    """Work waits in its queue; events get their time when the queue is worked off, and not before."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.queue: list[Callable[[], None]] = []
        self.waits = 0

    def run_for(self, ms: float) -> None:
        """Enqueue work of so many milliseconds."""

        def pass_time() -> None:
            self.ms += ms

        self.queue.append(pass_time)

    def synchronize(self) -> None:
        self.waits += 1
        for action in self.queue:
            action()
        self.queue.clear()

    def event(self, **options: Any) -> Event:
        return Event(self, options)


class Event:
    def __init__(self, gpu: Gpu, options: dict[str, Any]) -> None:
        self._gpu = gpu
        self.options = options
        self.ms: float | None = None

    def record(self) -> None:
        def stamp() -> None:
            self.ms = self._gpu.ms

        self._gpu.queue.append(stamp)

    def elapsed_time(self, later: Event) -> float:
        if not self.options.get("enable_timing"):
            raise RuntimeError("both events must be made with enable_timing=True")
        return elapsed(self, later)


def elapsed(start: Event, stop: Event) -> float:
    if start.ms is None or stop.ms is None:
        raise RuntimeError("the event has not been passed yet")
    return stop.ms - start.ms


def torch_with(gpu: Gpu | None, *, hip: str | None = None) -> Any:
    """A torch that sees the GPU, or none."""
    peak = {"bytes": 10**9}
    cuda = SimpleNamespace(is_available=lambda: gpu is not None)
    if gpu is not None:
        cuda.Event = gpu.event
        cuda.synchronize = gpu.synchronize
        cuda.get_device_name = lambda: "NVIDIA GB10"
        cuda.get_device_capability = lambda: (12, 1)
        cuda.get_device_properties = lambda _: SimpleNamespace(gcnArchName="gfx942")
        cuda.reset_peak_memory_stats = lambda: peak.update(bytes=0)
        cuda.max_memory_allocated = lambda: peak["bytes"]
        cuda.allocate = lambda size: peak.update(bytes=max(peak["bytes"], size))
    return SimpleNamespace(
        cuda=cuda,
        version=SimpleNamespace(cuda=None if hip else "13.0", hip=hip),
        __version__="9.9.9",
        backends=SimpleNamespace(cudnn=SimpleNamespace(benchmark=True)),
        get_float32_matmul_precision=lambda: "high",
        are_deterministic_algorithms_enabled=lambda: False,
        get_num_threads=lambda: 7,
    )


def cupy_with(gpu: Gpu | None) -> Any:
    """A CuPy that sees the GPU, or raises as it does without one."""

    def count() -> int:
        if gpu is None:
            raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return 1

    runtime = SimpleNamespace(
        getDeviceCount=count,
        runtimeGetVersion=lambda: 13000,
        getDeviceProperties=lambda _: {"name": b"NVIDIA GB10"},
    )
    cuda = SimpleNamespace(runtime=runtime)
    pool = SimpleNamespace(held=10**9)
    pool.free_all_blocks = lambda: setattr(pool, "held", 0)
    pool.total_bytes = lambda: pool.held
    if gpu is not None:
        cuda.Event = lambda: gpu.event()
        cuda.get_elapsed_time = elapsed
        cuda.Device = lambda: SimpleNamespace(synchronize=gpu.synchronize, id=0, compute_capability="121")
    return SimpleNamespace(cuda=cuda, __version__="13.6.0", get_default_memory_pool=lambda: pool)
