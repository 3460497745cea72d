"""What measured runs say, as answers: tables, figures and files, from results and from the history.

A run is named by the path of its results, or as the history knows it: its number, the beginning of its id or commit, its
label, or ``latest``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpuscope import _native
from gpuscope._flags import flags
from gpuscope.answer import Answer
from gpuscope.errors import UsageError

__all__ = ["add_to_history", "compare", "gate", "report", "runs", "trend"]

PathName = str | os.PathLike[str]
RunName = PathName | int


def report(run: RunName, *, db: PathName | None = None) -> Answer:
    """One run as a dashboard: ``report("profiling_data.json").save("dashboard.html")``."""
    return _answer(["bench", "report", _name(run), *flags(db=db)])


def compare(first: RunName, *others: RunName, db: PathName | None = None) -> Answer:
    """Runs side by side: how many times as fast as the first, and how sure that is. One comparison_data.json is two."""
    return _answer(["bench", "compare", _name(first), *map(_name, others), *flags(db=db)])


def gate(
    *,
    relative: float = 0.03,
    absolute: Iterable[str] = (),
    significance: float = 0.005,
    newest: int = 5,
    benchmark: str | None = None,
    metric: str | None = None,
    device: str | None = None,
    project: str | None = None,
    db: PathName | None = None,
) -> Answer:
    """Did the newest runs of the history get worse? ``.found`` says so.

    Args:
        relative: Changes below this share of the level before do not matter.
        absolute: Changes below this do not matter: ``["0.1ms", "peak_memory=64MiB"]``.
        significance: The chance of an alarm without a cause.
        newest: So many of the newest runs may be worse without having become the new level.
        benchmark: Only this one.
        metric: Only this number of each.
        device: Only runs on this GPU.
        project: Only this project, instead of the one of the current folder.
        db: Another history than the usual one.
    """
    if relative < 0:
        raise UsageError(f"relative={relative}: a share of the level before, such as 0.03")
    limits = {"relative": f"{relative * 100}%", "absolute": list(absolute), "significance": significance}
    wanted = {"benchmark": benchmark, "metric": metric, "device": device, "project": project, "db": db}
    return _answer(["bench", "gate", *flags(newest=newest, **limits, **wanted)])


def trend(
    *,
    benchmark: str | None = None,
    metric: str | None = None,
    device: str | None = None,
    project: str | None = None,
    db: PathName | None = None,
) -> Answer:
    """How numbers went from run to run, and where they changed for good."""
    wanted = {"benchmark": benchmark, "metric": metric, "device": device, "project": project, "db": db}
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
