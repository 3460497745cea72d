"""Unions and differences of intervals, and the GPU times that follow from them.

Intervals are half open pairs ``(start, end)``. Touching ones are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Time = TypeVar("Time", int, float)


def merged(intervals: Iterable[tuple[Time, Time]]) -> list[tuple[Time, Time]]:
    """The union, as disjoint intervals in order.

    >>> merged([(5, 7), (0, 2), (2, 4), (6, 9)])
    [(0, 4), (5, 9)]
    """
    union: list[tuple[Time, Time]] = []
    for start, end in sorted(intervals):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def without(kept: Sequence[tuple[Time, Time]], taken: Sequence[tuple[Time, Time]]) -> list[tuple[Time, Time]]:
    """What of ``kept`` is not in ``taken``; both are unions as of :func:`merged`.

    >>> without([(0, 10), (20, 30)], [(2, 4), (8, 22)])
    [(0, 2), (4, 8), (22, 30)]
    """
    rest: list[tuple[Time, Time]] = []
    first = 0
    for start, end in kept:
        while first < len(taken) and taken[first][1] <= start:
            first += 1
        here = first
        while here < len(taken) and taken[here][0] < end:
            if start < taken[here][0]:
                rest.append((start, taken[here][0]))
            start = max(start, taken[here][1])
            here += 1
        if start < end:
            rest.append((start, end))
    return rest


def length(intervals: Iterable[tuple[Time, Time]]) -> Time:
    """The summed length.

    >>> length([(0, 4), (5, 9)])
    8
    """
    return sum(end - start for start, end in intervals)


def breakdown_ns(
    everything: Iterable[tuple[int, int]],
    computation: Iterable[tuple[int, int]],
    communication: Iterable[tuple[int, int]],
    copies: Iterable[tuple[int, int]],
    micro_idle_us: float | None = None,
) -> dict[str, int]:
    """Where the time of a GPU went, in nanoseconds, under the names of gpuscope's ``breakdown``.

    >>> breakdown_ns([(0, 4), (6, 9)], [(0, 4)], [(6, 9)], [])["idle_ns"]
    2
    """
    spans = list(everything)
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    # What has no length neither works nor ends a gap; it only counts for the first and last instant.
    busy = merged(span for span in spans if span[0] < span[1])
    computing, communicating, copying = merged(computation), merged(communication), merged(copies)
    exposed_copies = without(without(copying, computing), communicating)
    times = {
        "computation_ns": length(computing),
        "comm_ns": length(communicating),
        "memcpy_ns": length(copying),
        "exposed_comm_ns": length(without(communicating, computing)),
        "exposed_memcpy_ns": length(exposed_copies),
        "busy_ns": length(busy),
        "total_ns": last - first,
        "idle_ns": last - first - length(busy),
    }
    if micro_idle_us is not None:
        gaps = [end - start for start, end in without([(first, last)], busy)]
        times["micro_idle_ns"] = sum(gap for gap in gaps if gap < micro_idle_us * 1000)
        times["macro_idle_ns"] = times["idle_ns"] - times["micro_idle_ns"]
    return times
