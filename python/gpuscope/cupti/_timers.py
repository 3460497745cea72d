"""When did work of a layer begin and end: on the host's clock, or on the GPU's?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

Mark = Any
"""What a timer notes at an instant: nanoseconds, or an event of the GPU."""


class Timer(Protocol):
    """Notes instants cheaply, and tells later when they were."""

    def mark(self) -> Mark:
        """Notes that all work so far was issued."""

    def read(self, mark: Mark) -> int:
        """When that work was done, on the scale of ``time.perf_counter_ns``."""
        ...

    def finish(self) -> None:
        """Waits until all marks can be read."""


class HostTimer:
    """For work that is done when the call returns."""

    def mark(self) -> Mark:
        """Now."""
        return time.perf_counter_ns()

    def read(self, mark: Mark) -> int:
        """The mark is the time."""
        return int(mark)

    def finish(self) -> None:
        """Nothing is under way."""


class CudaTimer:
    """For work that a GPU does later, in the order of a stream; in torch, AMD's are used in the same way.

    The first event is recorded when the GPU has nothing to do, so that its time on the host's clock is known.
    """

    def __init__(self, device: torch.device) -> None:
        """Waits for the device."""
        import torch

        self._cuda = torch.cuda
        self._device = device
        self._cuda.synchronize(device)
        self._first = self.mark()
        self._cuda.synchronize(device)
        self._first_ns = time.perf_counter_ns()

    def mark(self) -> Mark:
        """An event in the current stream."""
        event = self._cuda.Event(enable_timing=True)
        event.record(self._cuda.current_stream(self._device))
        return event

    def read(self, mark: Mark) -> int:
        """When the GPU came to the event."""
        milliseconds: float = self._first.elapsed_time(mark)
        return self._first_ns + round(milliseconds * 1e6)

    def finish(self) -> None:
        """Waits for the device."""
        self._cuda.synchronize(self._device)


class Timers:
    """The timer that fits a device."""

    def __init__(self) -> None:
        """Timers of GPUs are made when they are asked for."""
        self._host = HostTimer()
        self._cuda: dict[str, CudaTimer] = {}

    def of(self, device: torch.device | None) -> Timer:
        """Tensors of unknown devices, and none, are timed on the host."""
        if device is None or device.type != "cuda":
            return self._host
        key = str(device)
        if key not in self._cuda:
            self._cuda[key] = CudaTimer(device)
        return self._cuda[key]

    def finish(self) -> None:
        """Waits until everything that was marked is done."""
        for timer in self._cuda.values():
            timer.finish()
