"""How can many events be drawn as few, without losing what can be seen?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

MOST_POINTS = 4_000
_FINEST_SHARE = 2_000

Point = TypeVar("Point", bound=tuple[Any, ...])


class Stretch(NamedTuple):
    """A lane was busy with this for some time."""

    start_ns: float
    end_ns: float
    name: str
    events: int = 1


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Of a course ``(time, value, …)`` so many points that no extreme is lost.

    Of each of ``most / 4`` equal stretches of time the first, the lowest, the highest and the last are kept.

    >>> thinned([(time, 100 if time == 51 else 0) for time in range(100)], most=8)
    [(0, 0), (49, 0), (50, 0), (51, 100), (99, 0)]
    """
    if len(points) <= most:
        return list(points)
    first, last = points[0][0], points[-1][0]
    buckets = most // 4
    width = (last - first) / buckets or 1
    kept: list[Point] = []
    bucket: list[Point] = []
    number = 0
    for point in points:
        belongs_to = min(int((point[0] - first) / width), buckets - 1)
        if belongs_to != number and bucket:
            kept.extend(_extremes(bucket))
            bucket = []
        number = belongs_to
        bucket.append(point)
    kept.extend(_extremes(bucket))
    return kept


def joined(stretches: Sequence[Stretch], whole_ns: float, most: int = MOST_POINTS) -> list[Stretch]:
    """Stretches of one lane by time; of too many, those are one whose gap a figure of the whole cannot show.

    Each is named after the longest one in it.

    >>> lane = [Stretch(0, 10, "a"), Stretch(11, 40, "b"), Stretch(90_000, 90_001, "c")]
    >>> [(stretch.end_ns, stretch.name, stretch.events) for stretch in joined(lane, 100_000, most=2)]
    [(40, 'b', 2), (90001, 'c', 1)]
    """
    ordered = sorted(stretches, key=lambda stretch: stretch.start_ns)
    if len(ordered) <= most:
        return ordered
    finest = whole_ns / _FINEST_SHARE
    found: list[Stretch] = []
    longest = 0.0
    for stretch in ordered:
        length = stretch.end_ns - stretch.start_ns
        if found and stretch.start_ns - found[-1].end_ns < finest:
            last = found.pop()
            name = stretch.name if length > longest else last.name
            longest = max(longest, length)
            end = max(last.end_ns, stretch.end_ns)
            found.append(Stretch(last.start_ns, end, name, last.events + stretch.events))
        else:
            found.append(stretch)
            longest = length
    return found


def _extremes(bucket: list[Point]) -> list[Point]:
    places = range(len(bucket))
    lowest = min(places, key=lambda place: bucket[place][1])
    highest = max(places, key=lambda place: bucket[place][1])
    return [bucket[place] for place in sorted({0, lowest, highest, len(bucket) - 1})]
