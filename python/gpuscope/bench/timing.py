"""Repeating work until its mean time is known well enough.

A measurement ends when the half width of the confidence interval of the mean is at most ``precision`` times
the mean, or when a limit is met. The interval is looked at after batches that grow by half, not after every
repeat: the more often one looks, the more often an interval looks narrow by chance.

There is no GPU where this is tested: the clocks for GPUs (``clocks``) are held to stand-ins of torch and CuPy.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from gpuscope.bench._summary import summarize
from gpuscope.bench.clocks import Clock, HostClock, Work, clock_of_this_process
from gpuscope.bench.limits import Limits
from gpuscope.errors import UsageError

__all__ = ["Measurement", "Stopped", "measure", "measure_together"]

Stopped = Literal["precise", "repeats", "time"]
#: Told how far a measurement is, after each batch.
Watcher = Callable[["Measurement"], None]

#: In the order of the document that has them.
_TIMING_KEYS = ("mean", "std", "min", "max", "median", "p95", "p99", "ci_low", "ci_high")
#: An interval needs two samples.
_FEWEST = 2
#: Warming up may take this part of the time limit, so that something is left to measure in.
_WARMUP_SHARE = 0.25
#: How many repeats of one of several works come before the next one's.
_TURN = 5


@dataclass(frozen=True)
class Measurement:
    """How long some work takes: every sample, what they say together, and why there are no more of them."""

    samples_ms: tuple[float, ...]
    summary: Mapping[str, float]
    """``mean``, ``std``, ``min``, ``median``, ``p95``, ``p99``, ``max``, ``ci_low``, ``ci_high`` in ms; ``count``."""
    stopped: Stopped
    """``precise``: the interval is narrow enough; ``repeats`` and ``time``: a limit came first."""
    clock: str
    confidence: float = 0.95

    @property
    def mean_ms(self) -> float:
        """The mean of the samples."""
        return self.summary["mean"]

    @property
    def half_width_ms(self) -> float:
        """Half the width of the confidence interval of the mean; infinite for a single sample."""
        half = (self.summary["ci_high"] - self.summary["ci_low"]) / 2
        return half if len(self.samples_ms) >= _FEWEST and math.isfinite(half) else math.inf

    def to_dict(self) -> dict[str, Any]:
        """``timing``, ``samples_ms``, ``stopped`` and ``clock`` as they stand in profiling_data.json."""
        timing: dict[str, Any] = {key: _number(self.summary[key]) for key in _TIMING_KEYS}
        timing["count"] = len(self.samples_ms)
        # A clock that counts nanoseconds has six digits to give.
        samples = [round(sample, 6) for sample in self.samples_ms]
        return {"timing": timing, "samples_ms": samples, "stopped": self.stopped, "clock": self.clock}

    def __str__(self) -> str:
        """Say it in a line."""
        interval = f" ± {self.half_width_ms:.3g}" if math.isfinite(self.half_width_ms) else ""
        sure = f"{100 * self.confidence:g} % confidence"
        return f"{self.mean_ms:.4g}{interval} ms ({sure}, {len(self.samples_ms)} repeats)"


def _number(value: float) -> float | None:
    # JSON has no word for what is not a number.
    return value if math.isfinite(value) else None


def measure(
    work: Work,
    *,
    warmup: int = 10,
    min_repeats: int = 20,
    max_repeats: int = 1000,
    precision: float = 0.02,
    confidence: float = 0.95,
    time_limit_s: float = 20.0,
    clock: Clock | None = None,
    watcher: Watcher | None = None,
) -> Measurement:
    """Do some work again and again until its mean time is known well enough.

    Args:
        work: Called without arguments; what it gives is dropped.
        warmup: Calls before the clock runs.
        min_repeats: No interval is looked at before so many repeats.
        max_repeats: The most repeats, also where that is fewer than ``min_repeats``.
        precision: The half width of the confidence interval that is good enough, as a part of the mean.
        confidence: How sure the interval is.
        time_limit_s: The longest it may take after the first warm-up call, which may have to compile; at least
            two repeats are timed, though.
        clock: What to time with; by default events of the GPU that torch or CuPy use, else the host's clock.
        watcher: Called with the measurement so far after each batch.
    """
    least = min(min_repeats, max_repeats)
    limits = Limits(warmup, least, max_repeats, precision, confidence, time_limit_s)
    return measure_together([work], limits, clock=clock, watcher=watcher)[0]


def measure_together(
    works: Sequence[Work],
    limits: Limits | None = None,
    *,
    clock: Clock | None = None,
    watcher: Watcher | None = None,
) -> list[Measurement]:
    """Measure works that are to be compared: they take turns, so that what drifts hits all of them alike.

    Each is repeated as often as the one that needs most; the time limit counts for each of them.
    """
    if not works:
        raise UsageError("there is nothing to measure: name at least one piece of work")
    return _Session(works, limits or Limits(), clock, watcher).run()


class _Session:
    """One measurement under way."""

    def __init__(
        self, works: Sequence[Work], limits: Limits, clock: Clock | None, watcher: Watcher | None
    ) -> None:
        self._works = works
        self._limits = limits
        self._watcher = watcher
        self._samples: list[list[float]] = [[] for _ in works]
        # Work that imports its library in its first call shows its clock only after the warm-up.
        self._wanted_clock = clock
        self._clock: Clock = clock or HostClock()
        self._begin = self._clock.now()
        self._calls = 0

    def run(self) -> list[Measurement]:
        """Warm up, then add batches until there is a reason to stop."""
        gc.collect()
        self._warm_up()
        stopped: Stopped | None = None
        while stopped is None:
            self._batch(self._batch_size())
            stopped = self._reason()
            if self._watcher is not None and stopped is None:
                self._watcher(self._measurement(0, "repeats"))
        return [self._measurement(at, stopped) for at in range(len(self._works))]

    def _warm_up(self) -> None:
        for done in range(self._limits.warmup):
            for work in self._works:
                work()
            if done == 0:
                # The first call compiles and allocates: it says nothing about those that follow.
                self._begin = self._clock.now()
                continue
            self._calls += 1
            if self._passed() > _WARMUP_SHARE * self._time_limit():
                break
        self._clock = self._wanted_clock or clock_of_this_process()
        self._clock.synchronize()

    def _batch_size(self) -> int:
        limits, done = self._limits, len(self._samples[0])
        wanted = limits.min_repeats - done if done < limits.min_repeats else math.ceil(done / 2)
        wanted = min(wanted, limits.max_repeats - done)
        if not self._calls:
            # Nobody knows yet how long a repeat takes.
            return min(wanted, _FEWEST)
        left = self._time_limit() - self._passed()
        a_repeat = self._passed() / self._calls
        fitting = int(left / a_repeat) if a_repeat > 0 else wanted
        return max(1, min(wanted, max(fitting, _FEWEST - done)))

    def _batch(self, repeats: int) -> None:
        # A work alone needs no turns, and waits for its device less often without them.
        turn = repeats if len(self._works) == 1 else _TURN
        for done in range(0, repeats, turn):
            for work, samples in zip(self._works, self._samples, strict=True):
                samples += self._clock.time(work, min(turn, repeats - done))
        self._calls += repeats

    def _reason(self) -> Stopped | None:
        done = len(self._samples[0])
        if done >= self._limits.min_repeats and all(map(self._is_precise, range(len(self._works)))):
            return "precise"
        if done >= self._limits.max_repeats:
            return "repeats"
        if done >= _FEWEST and self._passed() >= self._time_limit() * (1 - 1 / (self._calls + 1)):
            # Another repeat would not fit.
            return "time"
        return None

    def _is_precise(self, at: int) -> bool:
        so_far = self._measurement(at, "precise")
        return so_far.half_width_ms <= self._limits.precision * so_far.mean_ms

    def _measurement(self, at: int, stopped: Stopped) -> Measurement:
        samples, confidence = self._samples[at], self._limits.confidence
        summary = MappingProxyType(summarize(samples, confidence))
        return Measurement(tuple(samples), summary, stopped, self._clock.name, confidence)

    def _passed(self) -> float:
        return self._clock.now() - self._begin

    def _time_limit(self) -> float:
        return self._limits.time_limit_s * len(self._works)
