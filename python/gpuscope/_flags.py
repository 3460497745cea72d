"""Keyword arguments as the flags of the command line: one place decides what an option means, and it is not here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict

__all__ = ["Selection", "Step", "flags"]

Step = int | str | tuple[int, int]


class Selection(TypedDict, total=False):
    """Which part of a run a question is about."""

    rank: int
    """Only this rank."""
    device: int
    """Only GPU events on this device."""
    stream: int
    """Only GPU events on this stream."""
    step: Step
    """Only this step, or those from one to another with both ends in: `3`, `(3, 5)`, `"3..5"`."""
    from_ns: int
    """From this time on, in nanoseconds after the rank's first event."""
    to_ns: int
    """Up to this time."""
    drop_last_step: bool
    """Leave out what the last step launched: its GPU work may have been cut off."""


#: Where Python has a word of its own, or says the unit.
_NAMES = {"from_ns": "from", "to_ns": "to"}

Value = object


def flags(**options: Value) -> list[str]:
    """Give the flags that say the same.

    >>> flags(num_kernels=5, exclude_memory=True, duration_ratio=None, step=(3, 5), device=-1)
    ['--num-kernels=5', '--exclude-memory', '--step=3..5', '--device=-1']
    """
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + _NAMES.get(name, name).replace("_", "-")
        words += _words(flag, value)
    return words


def _words(flag: str, value: Value) -> list[str]:
    match value:
        case None | False:
            return []
        case True:
            return [flag]
        case (int() as first, int() as last):
            return [f"{flag}={first}..{last}"]
        case float() if value.is_integer():
            return [f"{flag}={int(value)}"]
        case str() | int() | float():
            return [f"{flag}={value}"]
        case os.PathLike():
            return [f"{flag}={os.fspath(value)}"]
        case Iterable():
            return [word for one in value for word in _words(flag, one)]
        case _:
            return [f"{flag}={value}"]
