"""From integer nanoseconds to the microseconds of HTA's tables."""

from __future__ import annotations


def us(nanoseconds: float) -> float:
    """Nanoseconds in microseconds.

    >>> us(1_500)
    1.5
    """
    return nanoseconds / 1000


def pct(percentage: float | None) -> float:
    """A percentage as tables show it: two decimals, and not a number where there is none.

    >>> pct(12.3456), pct(None)
    (12.35, nan)
    """
    return float("nan") if percentage is None else round(percentage, 2)
