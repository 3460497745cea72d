"""Clocks that time work where it runs: events on the GPU's stream, or the host's clock where there is none.

A GPU runs behind the program that feeds it, so the host's clock would time the feeding. Events are recorded
on the stream before and after the work, and read when the GPU has passed them: nothing waits between two
repeats.

Only libraries that are loaded already are looked at: work that uses torch or CuPy has imported it, and for
other work there is nothing to wait for. The paths for GPUs are tested with stand-ins of torch and CuPy that
keep their calling conventions, as the machines that test this have no GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

Work = Callable[[], object]

__all__ = ["Clock", "CupyClock", "HostClock", "TorchClock", "Work", "clock_of_this_process"]

_NS_PER_MS = 1e6


class Clock(Protocol):
    """What ``measure`` needs to know of time."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        ...

    def now(self) -> float:
        """A reading of the wall clock in seconds, for time limits."""
        ...

    def synchronize(self) -> None:
        """Wait until all work that was begun is done."""
        ...

    def time(self, work: Work, repeats: int) -> list[float]:
        """Do the work so many times, and give the milliseconds that each took."""
        ...


class HostClock:
    """The clock of the host; with something to wait for, each repeat ends when that is done."""

    def __init__(self, synchronize: Callable[[], object] | None = None) -> None:
        """Take the function that waits for a device, if there is one."""
        self._synchronize = synchronize

    @property
    def name(self) -> str:
        """What it is called in results."""
        return "time.perf_counter_ns" + (" with synchronisation" if self._synchronize else "")

    def now(self) -> float:
        """The wall clock in seconds."""
        return time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the device, if there is one."""
        if self._synchronize is not None:
            self._synchronize()

    def time(self, work: Work, repeats: int) -> list[float]:
        """Time each repeat by itself."""
        times = []
        for _ in range(repeats):
            begin = time.perf_counter_ns()
            work()
            self.synchronize()
            times.append((time.perf_counter_ns() - begin) / _NS_PER_MS)
        return times


class TorchClock:
    """CUDA or HIP events of torch, on the stream that is current."""

    def __init__(self, torch: Any) -> None:
        """Use this torch."""
        self._torch = torch

    @property
    def name(self) -> str:
        """What it is called in results."""
        return "torch.cuda.Event"

    def now(self) -> float:
        """The wall clock in seconds."""
        return time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._torch.cuda.synchronize()

    def time(self, work: Work, repeats: int) -> list[float]:
        """Put events around each repeat, and wait once for all of them."""
        event = self._torch.cuda.Event
        # Made beforehand: making an event takes as long as launching a small kernel.
        pairs = [(event(enable_timing=True), event(enable_timing=True)) for _ in range(repeats)]
        for start, stop in pairs:
            start.record()
            work()
            stop.record()
        self._torch.cuda.synchronize()
        return [float(start.elapsed_time(stop)) for start, stop in pairs]


class CupyClock:
    """CUDA or HIP events of CuPy, on the stream that is current."""

    def __init__(self, cupy: Any) -> None:
        """Use this CuPy."""
        self._cupy = cupy

    @property
    def name(self) -> str:
        """What it is called in results."""
        return "cupy.cuda.Event"

    def now(self) -> float:
        """The wall clock in seconds."""
        return time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._cupy.cuda.Device().synchronize()

    def time(self, work: Work, repeats: int) -> list[float]:
        """Put events around each repeat, and wait once for all of them."""
        cuda = self._cupy.cuda
        pairs = [(cuda.Event(), cuda.Event()) for _ in range(repeats)]
        for start, stop in pairs:
            start.record()
            work()
            stop.record()
        cuda.Device().synchronize()
        return [float(cuda.get_elapsed_time(start, stop)) for start, stop in pairs]


def clock_of_this_process() -> Clock:
    """The clock for what this process has loaded: torch's events, CuPy's, or the host's clock.

    >>> clock_of_this_process().name.startswith(("time", "torch", "cupy"))
    True
    """
    torch = loaded("torch")
    if torch is not None and torch_sees_gpu(torch):
        return TorchClock(torch)
    cupy = loaded("cupy")
    if cupy is not None and cupy_sees_gpu(cupy):
        return CupyClock(cupy)
    return HostClock(_other_device(torch))


def loaded(library: str) -> Any:
    """The library if somebody has imported it as a whole, else ``None``; nothing is imported."""
    module = sys.modules.get(library)
    # A module whose import is still under way, or failed half way, has not got its parts.
    return module if hasattr(module, "cuda") else None


def torch_sees_gpu(torch: Any) -> bool:
    """Whether this torch has a GPU to use."""
    return bool(torch.cuda.is_available())


def cupy_sees_gpu(cupy: Any) -> bool:
    """Whether this CuPy has a GPU to use; it raises rather than says no."""
    try:
        return int(cupy.cuda.runtime.getDeviceCount()) > 0
    except Exception:
        return False


def _other_device(torch: Any) -> Callable[[], object] | None:
    # Apple's and Intel's GPUs have no events that could be read the same way in all releases of torch.
    for name in ("mps", "xpu"):
        device = getattr(torch, name, None)
        available = getattr(device, "is_available", None)
        if available is not None and available():
            wait: Callable[[], object] | None = getattr(device, "synchronize", None)
            return wait
    return None
