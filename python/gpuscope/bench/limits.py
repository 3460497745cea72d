"""How long to measure: what ends a measurement, and options that say so by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from gpuscope.errors import UsageError

__all__ = ["LimitOptions", "Limits", "nearest"]


_WHOLE = ("warmup", "min_repeats", "max_repeats")


class LimitOptions(TypedDict, total=False):
    """The options of ``measure`` that say how long it goes on."""

    warmup: int
    """Calls before the clock runs."""
    min_repeats: int
    """No interval is looked at before so many repeats."""
    max_repeats: int
    """The most repeats."""
    precision: float
    """The half width of the confidence interval that is good enough, as a part of the mean."""
    confidence: float
    """How sure the interval is, between 0 and 1."""
    time_limit_s: float
    """The longest that one measurement may take, without its very first call."""


@dataclass(frozen=True)
class Limits:
    """What ends a measurement: enough precision, enough repeats, or enough time."""

    warmup: int = 10
    min_repeats: int = 20
    max_repeats: int = 1000
    precision: float = 0.02
    confidence: float = 0.95
    time_limit_s: float = 20.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        _check("warmup", self.warmup, self.warmup >= 0, "0 or more")
        _check("min_repeats", self.min_repeats, self.min_repeats >= 1, "1 or more")
        enough = self.max_repeats >= self.min_repeats
        _check("max_repeats", self.max_repeats, enough, f"at least min_repeats, {self.min_repeats}")
        _check("precision", self.precision, self.precision > 0, "more than 0, such as 0.02 for 2 %")
        _check("confidence", self.confidence, 0 < self.confidence < 1, "a part of one, such as 0.95")
        _check("time_limit_s", self.time_limit_s, self.time_limit_s > 0, "a number of seconds above 0")

    def but(self, options: LimitOptions) -> Limits:
        """The same with other values for some; fewer repeats at most are also fewer at least.

        >>> Limits().but({"max_repeats": 5}).min_repeats
        5
        """
        known = [field.name for field in fields(self)]
        for name, value in options.items():
            if name not in known:
                raise UsageError(f"{name}: there is no such option{nearest(name, known)}")
            whole = name in _WHOLE
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise UsageError(f"{name}={value!r}: a {'whole ' if whole else ''}number is needed")
        changed: dict[str, Any] = dict(options)
        if "max_repeats" in changed and "min_repeats" not in changed:
            changed["min_repeats"] = min(self.min_repeats, changed["max_repeats"])
        if "min_repeats" in changed and "max_repeats" not in changed:
            changed["max_repeats"] = max(self.max_repeats, changed["min_repeats"])
        return replace(self, **changed)


def _check(name: str, value: float, good: bool, use: str) -> None:
    if not good:
        raise UsageError(f"{name}={value}: use {use}")


def nearest(name: str, known: Iterable[str]) -> str:
    """How an error about a name goes on: the known name that is nearest, or all of them.

    >>> nearest("warmups", ["warmup", "batch"])
    '; did you mean warmup?'
    >>> nearest("x", ["warmup", "batch"])
    '; known are batch, warmup'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known are {', '.join(names)}" if names else ""
