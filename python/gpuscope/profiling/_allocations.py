"""How much memory CPU tensors took, change by change, as torch.profiler recorded it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

_MEMORY_EVENT = re.compile(rb'"name":\s*"\[memory\]".*?"args":\s*\{(?P<args>[^}]*)\}', re.DOTALL)
_TIME_US = re.compile(rb'"ts":\s*(-?[0-9.]+)')
_BYTES = re.compile(rb'"Bytes":\s*(-?\d+)')
_DEVICE_TYPE = re.compile(rb'"Device Type":\s*(-?\d+)')
_BASE_TIME_NS = re.compile(rb'"baseTimeNanoseconds":\s*(\d+)')
_CPU = b"0"


@dataclass(frozen=True)
class Level:
    """How many bytes were taken from ``time_ns`` (of the Unix clock) on."""

    time_ns: int
    allocated_bytes: int


def host_levels(trace: Path) -> list[Level]:
    """The memory of CPU tensors at first and after each allocation and release in a trace of torch.profiler.

    Torch's own running total is of no use here: it keeps blocks that were released while nothing was
    recorded. So the changes are summed up anew. Memory taken before the recording is unknown; it counts as
    far as it was released within the recording, because then it was certainly there.
    """
    content = trace.read_bytes()
    base = _BASE_TIME_NS.search(content)
    base_ns = int(base[1]) if base else 0
    changes = sorted(_host_changes(content))
    if not changes:
        return []
    totals = list(accumulate(size for _, size in changes))
    there_before = max(0, -min(totals))
    times_ns = [base_ns + round(time_us * 1000) for time_us, _ in changes]
    levels = [Level(at, total + there_before) for at, total in zip(times_ns, totals, strict=True)]
    return [Level(times_ns[0], there_before), *levels]


def _host_changes(content: bytes) -> list[tuple[float, int]]:
    changes = []
    for event in _MEMORY_EVENT.finditer(content):
        device, size, time = (pattern.search(event[0]) for pattern in (_DEVICE_TYPE, _BYTES, _TIME_US))
        if device and size and time and device[1] == _CPU:
            changes.append((float(time[1]), int(size[1])))
    return changes
