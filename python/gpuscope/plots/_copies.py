"""Which copies are meant? They come as objects, as lists of begins and ends, and in traces."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuscope.errors import UsageError
from gpuscope.plots import _runs


class Copy(NamedTuple):
    """So many bytes were under way from the start to the end."""

    start_ns: float
    end_ns: float
    bytes: int
    kind: str


def copies(source: Any, kinds: Mapping[int, str]) -> list[Copy]:
    """All copies by their start.

    >>> changes = [(0, 64, 1), (10, 32, 2), (20, -64, 1), (50, -32, 2)]
    >>> for copy in copies(changes, {1: "Host -> Device", 2: "Device -> Host"}):
    ...     print(*copy)
    0.0 20.0 64 Host -> Device
    10.0 50.0 32 Device -> Host
    """
    run = _runs.run_of(source)
    if run is not None:
        found = _of_run(run)
    elif hasattr(source, "copies"):
        found = [_of_record(record, kinds) for record in source.copies]
    else:
        found = _of_list(getattr(source, "memcpy_info", source), kinds)
    return sorted(found, key=lambda copy: copy.start_ns)


def under_way(found: list[Copy]) -> list[tuple[float, int]]:
    """Bytes that are being copied, at each change.

    >>> under_way([Copy(0, 20, 64, "a"), Copy(10, 20, 32, "a")])
    [(0, 64), (10, 96), (20, 0)]
    """
    changes = [(copy.start_ns, copy.bytes) for copy in found]
    # One that takes no time was there all the same.
    changes += [(max(copy.end_ns, copy.start_ns + 1), -copy.bytes) for copy in found]
    return _course(changes)


def in_all(found: list[Copy]) -> list[tuple[float, int]]:
    """Bytes of all copies that have ended, at each end."""
    return _course([(copy.end_ns, copy.bytes) for copy in found])


def _course(changes: list[tuple[float, int]]) -> list[tuple[float, int]]:
    points: list[tuple[float, int]] = []
    total = 0
    for time, change in sorted(changes):
        total += change
        if points and points[-1][0] == time:
            points.pop()
        points.append((time, total))
    return points


def _of_run(run: Any) -> list[Copy]:
    return [
        Copy(copy["start_ns"], copy["start_ns"] + copy["dur_ns"], copy["bytes"], row["kind"])
        for row in _runs.one_rank(run).bandwidth(series=True).data["copies"]
        for copy in row["series"] or ()
    ]


def _of_list(changes: Any, kinds: Mapping[int, str]) -> list[Copy]:
    if isinstance(changes, (str, bytes, Mapping)) or not isinstance(changes, Iterable):
        raise UsageError(
            "memcpy_info is a MemoryCopy, a list of (time_ns, bytes, copy_kind) with negative bytes where a "
            f"copy ends, a Run, a Rank, a ProfileSession or the path of a trace, not {type(changes).__name__}"
        )
    records = list(changes)
    if all(hasattr(record, "copy_kind") or hasattr(record, "start_ns") for record in records):
        return [_of_record(record, kinds) for record in records]
    return _paired(records, kinds)


def _of_record(record: Any, kinds: Mapping[int, str]) -> Copy:
    """From a record of ours, or one of CUPTI's."""
    start = getattr(record, "start_ns", None)
    if start is None:
        return Copy(
            float(record.start), float(record.end), int(record.bytes), _label(record.copy_kind, kinds)
        )
    return Copy(float(start), float(record.end_ns), int(record.bytes), _label(record.kind, kinds))


def _paired(changes: list[Any], kinds: Mapping[int, str]) -> list[Copy]:
    """Ends belong to the oldest begin of the same size and kind that has none."""
    found: list[Copy] = []
    begun: dict[tuple[Any, ...], deque[float]] = {}
    parsed = sorted((_change(change) for change in changes), key=lambda change: change[0])
    for time, size, kind, device in parsed:
        waiting = begun.setdefault((abs(size), kind, device), deque())
        if size >= 0:
            waiting.append(time)
        elif waiting:
            found.append(Copy(waiting.popleft(), time, -size, _label(kind, kinds)))
    last = parsed[-1][0] if parsed else 0.0
    for (size, kind, _), starts in begun.items():
        found.extend(Copy(start, last, size, _label(kind, kinds)) for start in starts)
    return found


def _change(change: Any) -> tuple[float, int, int, Any]:
    try:
        time, size, *rest = change
        kind = int(rest[0]) if rest else 0
        return float(time), int(size), kind, rest[1] if len(rest) > 1 else None
    except (TypeError, ValueError):
        raise UsageError(
            f"an entry of memcpy_info is (time_ns, bytes, copy_kind) or (time_ns, bytes), not {change!r}"
        ) from None


def _label(kind: Any, kinds: Mapping[int, str]) -> str:
    return kinds.get(int(kind), f"kind {kind}")
