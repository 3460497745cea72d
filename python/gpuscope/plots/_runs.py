"""Is it a trace that was given: open, or as a path or a session that has one?"""

from __future__ import annotations

import os
from collections import namedtuple
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuscope.errors import UsageError

ALL = 1_000_000
"""More kernels than any trace has names of."""

_ALWAYS_THERE = frozenset(
    {"index", "name", "cat", "ts_ns", "dur_ns", "pid", "tid", "process", "thread", "device", "stream"}
    | {"correlation", "external_id", "kind", "launch", "parent"}
)
"""Columns of events that are no arguments."""


def run_of(source: Any) -> Any:
    """The open ``Run`` or ``Rank`` behind what was given to draw, or None if it is something else."""
    import gpuscope

    if isinstance(source, (gpuscope.Run, gpuscope.Rank)):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _opened(Path(source))
    if hasattr(source, "trace_path"):
        if source.trace_path is None:
            raise UsageError("this session has no trace; profile with enable_trace=True to have one")
        return _opened(Path(source.trace_path))
    return None


def one_rank(run: Any) -> Any:
    """A rank itself, or the first one of a run: as ranks have clocks of their own, figures show one."""
    ranks = getattr(run, "ranks", None)
    if ranks is None:
        return run
    if not ranks:
        raise UsageError("there is no rank in this run")
    return ranks[0]


def events(run: Any, *columns: str) -> list[Any]:
    """All events of one rank, with these columns as attributes; None where an argument does not occur."""
    table = one_rank(run).events(args=not _ALWAYS_THERE.issuperset(columns)).to_dict()
    count = len(table["index"])
    record = namedtuple("Event", columns)  # type: ignore[misc]  # The fields are what the caller names.
    values = (table.get(column) or [None] * count for column in columns)
    return list(map(record._make, zip(*values, strict=True)))


def _opened(path: Path) -> Any:
    """Reading a trace again for each figure would cost as much again."""
    changed = path.stat().st_mtime_ns if path.is_file() else None
    return _read(path, changed) if changed is not None else _fresh(path)


@lru_cache(maxsize=2)
def _read(path: Path, changed: int) -> Any:
    return _fresh(path)


def _fresh(path: Path) -> Any:
    import gpuscope

    return gpuscope.open(path)
