"""What `_native.summarize` answers, worked out the slow way, to hold it to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache


def summarize(samples: Sequence[float], confidence: float = 0.95) -> dict[str, float]:
    """Everything that is said about samples."""
    ordered, count = sorted(samples), len(samples)
    mean = statistics.fmean(ordered)
    std = statistics.stdev(ordered) if count > 1 else 0.0
    half = t_quantile(0.5 + confidence / 2, count - 1) * std / math.sqrt(count) if count > 1 else 0.0
    return {
        "count": float(count),
        "mean": mean,
        "std": std,
        "min": ordered[0],
        "median": percentile(ordered, 0.5),
        "p95": percentile(ordered, 0.95),
        "p99": percentile(ordered, 0.99),
        "max": ordered[-1],
        "ci_low": mean - half,
        "ci_high": mean + half,
    }


def percentile(ordered: Sequence[float], part: float) -> float:
    """By straight lines between neighbours."""
    at = part * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


@cache
def t_quantile(part: float, freedom: int) -> float:
    """Student's t, by halving an interval."""
    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_below(middle, freedom) < part else (low, middle)
    return (low + high) / 2


def t_below(t: float, freedom: int) -> float:
    """How likely Student's t is below `t`, by Simpson's rule over the angle, where the density is smooth."""
    steps = 400
    end = math.atan(t / math.sqrt(freedom))
    width = end / steps
    weights = [1 if at in (0, steps) else 4 if at % 2 else 2 for at in range(steps + 1)]
    area = sum(w * math.cos(at * width) ** (freedom - 1) for at, w in enumerate(weights)) * width / 3
    log_factor = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(math.pi)
    return 0.5 + math.exp(log_factor) * area
