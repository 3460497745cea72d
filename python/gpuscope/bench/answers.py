"""What measured runs say, as answers: tables, figures and files, from results and from the history.

A run is named by the path of its results, or as the history knows it: its number, the beginning of its id or commit, its
label, or ``latest``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict, Unpack

from gpuscope import _native
from gpuscope._flags import flags
from gpuscope.answer import Answer
from gpuscope.errors import UsageError

__all__ = ["Wanted", "add_to_history", "compare", "gate", "report", "runs", "trend"]

PathName = str | os.PathLike[str]
RunName = PathName | int


def report(run: RunName, *, db: PathName | None = None) -> Answer:
    """One run as a dashboard: ``report("profiling_data.json").save("dashboard.html")``."""
    return _answer(["bench", "report", _name(run), *flags(db=db)])


def compare(first: RunName, *others: RunName, db: PathName | None = None) -> Answer:
    """Runs side by side: how many times as fast as the first, and how sure that is. One comparison_data.json is two."""
    return _answer(["bench", "compare", _name(first), *map(_name, others), *flags(db=db)])


class Wanted(TypedDict, total=False):
    """Which numbers of the history."""

    benchmark: str
    """Only this one."""
    metric: str
    """Only this number of each."""
    device: str
    """Only runs on this GPU."""
    project: str
    """Only this project, instead of the one of the current folder."""
    db: PathName
    """Another history than the usual one."""


def gate(
    *,
    relative: float = 0.03,
    absolute: Iterable[str] = (),
    significance: float = 0.005,
    newest: int = 5,
    **wanted: Unpack[Wanted],
) -> Answer:
    """Did the newest runs of the history get worse? ``.found`` says so. Takes the keyword arguments of `Wanted`, too.

    Args:
        relative: Changes below this share of the level before do not matter.
        absolute: Changes below this do not matter: ``["0.1ms", "peak_memory=64MiB"]``.
        significance: The chance of an alarm without a cause.
        newest: So many of the newest runs may be worse without having become the new level.
        wanted: Which numbers.
    """
    if relative < 0:
        raise UsageError(f"relative={relative}: a share of the level before, such as 0.03")
    limits = {"relative": f"{relative * 100}%", "absolute": list(absolute), "significance": significance}
    return _answer(["bench", "gate", *flags(newest=newest, **limits, **wanted)])


def trend(**wanted: Unpack[Wanted]) -> Answer:
    """How numbers went from run to run, and where they changed for good."""
    return _answer(["history", "trend", *flags(**wanted)])


def runs(*, project: str | None = None, label: str | None = None, db: PathName | None = None) -> Answer:
    """The runs of the history, the newest first."""
    return _answer(["history", "list", *flags(project=project, label=label, db=db)])


def add_to_history(
    *inputs: PathName,
    name: str | None = None,
    label: str | None = None,
    commit: str | None = None,
    project: str | None = None,
    kernel: str | None = None,
    db: PathName | None = None,
) -> str:
    """Add results, or the numbers of traces, which together are one run called ``name``; gives what was added."""
    from gpuscope.tools import _command

    options = {"name": name, "label": label, "commit": commit, "project": project, "kernel": kernel, "db": db}
    return _command(["history", "add", *[os.fspath(path) for path in inputs], *flags(**options)])


def _name(run: RunName) -> str:
    return str(run) if isinstance(run, int) else os.fspath(run)


def _answer(words: list[str]) -> Answer:
    return Answer(_native.Traces.of_text(b"[]", "bench", []), words)
