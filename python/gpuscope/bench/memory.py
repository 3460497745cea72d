"""The most memory that a configuration held, and who says so.

On a GPU the allocator of torch or CuPy knows. Without one there is the resident memory of the process: its
peak is set back before each configuration where the system can do that, and what counts is how far the peak
rises above what was resident before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuscope.bench.clocks import cupy_sees_gpu, loaded, torch_sees_gpu
from gpuscope.profiling._resident import resident_bytes

__all__ = ["Peak", "PeakMemory"]

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
#: What the kernel takes as "forget the peak of the resident memory".
_FORGET_PEAK = "5"

TORCH = "torch.cuda.max_memory_allocated"
CUPY = "memory pool of CuPy"
RESIDENT = "growth of the peak resident memory"


@dataclass(frozen=True)
class Peak:
    """A number of bytes, ``None`` if nobody knows, and where it comes from."""

    size: int | None
    source: str | None


class PeakMemory:
    """Follows the peak from when it is made; ``read`` says how high it came."""

    def __init__(self) -> None:
        """Set the peak back."""
        # A library that is loaded only later starts from nothing: its peak is that of this configuration.
        torch = loaded("torch")
        if torch is not None and torch_sees_gpu(torch):
            torch.cuda.reset_peak_memory_stats()
        cupy = loaded("cupy")
        if cupy is not None and cupy_sees_gpu(cupy):
            cupy.get_default_memory_pool().free_all_blocks()
        self._resident = resident_bytes()
        _forget_peak()

    def read(self) -> Peak:
        """The peak since this was made."""
        torch, cupy = loaded("torch"), loaded("cupy")
        if torch is not None and torch_sees_gpu(torch):
            return Peak(int(torch.cuda.max_memory_allocated()), TORCH)
        if cupy is not None and cupy_sees_gpu(cupy):
            # The pool gives nothing back by itself, so what it holds is the most that it held.
            return Peak(int(cupy.get_default_memory_pool().total_bytes()), CUPY)
        peak = _peak_resident_bytes()
        if peak is None or not self._resident:
            return Peak(None, None)
        return Peak(max(0, peak - self._resident), RESIDENT)


def _forget_peak() -> None:
    # Some sandboxes and systems other than Linux cannot; then only a peak above all earlier ones shows.
    try:
        _CLEAR.write_text(_FORGET_PEAK)
    except OSError:
        return


def _peak_resident_bytes() -> int | None:
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    usage = _usage_of_this_process()
    return None if usage is None else max_resident_bytes(usage())


def _usage_of_this_process() -> Callable[[], Any] | None:
    if sys.platform == "win32":
        return None
    import resource

    return lambda: resource.getrusage(resource.RUSAGE_SELF)


def max_resident_bytes(usage: Any) -> int:
    """The peak that the system's account of a process has; Apple counts bytes, others kilobytes."""
    return int(usage.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
