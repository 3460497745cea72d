"""What time was it on the kernels' clock?

CUPTI gives the times of kernels on the clock of ``cuptiGetTimestamp``: that is ``CLOCK_REALTIME`` on Linux,
another one on Windows and WSL. Collectors in Python read ``time.perf_counter_ns``, which never jumps, and add
the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gpuscope.cupti.registry import registry_if_any

_TRIES = 7


def offset_to_kernel_clock() -> int:
    """What to add to ``time.perf_counter_ns()`` to have the time of CUPTI's records, in nanoseconds.

    >>> abs(time.perf_counter_ns() + offset_to_kernel_clock() - kernel_clock_ns()) < 1_000_000_000
    True
    """
    return _offset_between(time.perf_counter_ns, kernel_clock_ns)


def kernel_clock_ns() -> int:
    """Now, on the clock of CUPTI's records; where it is not in use, on the one that it has on Linux."""
    active = registry_if_any()
    return time.time_ns() if active is None else int(active.cupti.get_timestamp())


def _offset_between(own: Callable[[], int], other: Callable[[], int]) -> int:
    """The other clock is read between two readings of our own; the closest pair of several tells most."""
    best_width, best_offset = None, 0
    for _ in range(_TRIES):
        before = own()
        there = other()
        after = own()
        if best_width is None or after - before < best_width:
            best_width, best_offset = after - before, there - (before + after) // 2
    return best_offset
