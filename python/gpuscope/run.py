"""Open traces: a run of one or many ranks, kept in memory from one question to the next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from gpuscope import _native
from gpuscope._flags import flags
from gpuscope.answer import Answer
from gpuscope.errors import NoSuchName, UsageError
from gpuscope.questions import PathName, Questions
from gpuscope.table import Table

__all__ = ["Rank", "Run", "diff", "open", "open_events", "opened"]

Paths = PathName | Sequence[PathName]


class Run(Questions):
    """All ranks of one job. Ask it anything that `gpuscope COMMAND` answers."""

    def __init__(self, traces: _native.Traces) -> None:
        """Wrap traces of the native module; `gpuscope.open` makes them."""
        self._traces = traces
        self._about = {}

    @property
    def name(self) -> str:
        """What was opened."""
        return self._traces.name

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The files that were read: path, format, rank, number of events, bytes."""
        return self.info().inputs

    @cached_property
    def ranks(self) -> tuple[Rank, ...]:
        """All ranks, by number."""
        numbers = sorted({entry["rank"] for entry in self.inputs})
        return tuple(Rank(self, number) for number in numbers)

    def rank(self, number: int) -> Rank:
        """One rank."""
        for rank in self.ranks:
            if rank.number == number:
                return rank
        there = ", ".join(str(rank.number) for rank in self.ranks)
        raise NoSuchName(f"there is no rank {number}; there are {there}")

    def load(self) -> Run:
        """Read all traces now, rather than with the first question; says what cannot be read."""
        self._traces.load()
        return self

    def events(self, *, args: bool = False) -> dict[int, Table]:
        """Every event of each rank; with `args` every argument that gpuscope keeps is a column."""
        return {rank: Table(native) for rank, native in self._traces.events(None, args)}

    def __repr__(self) -> str:
        """Say what was opened."""
        return f"<gpuscope.Run {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.info()._repr_html_()


class Rank(Questions):
    """One rank of a run: the same questions, about it alone."""

    def __init__(self, run: Run, number: int) -> None:
        """Take one rank of a run."""
        self.run = run
        self.number = number
        self._traces = run._traces
        self._about = {"rank": number}

    @property
    def path(self) -> str:
        """The file it was read from."""
        return next(str(entry["path"]) for entry in self.run.inputs if entry["rank"] == self.number)

    def events(self, *, args: bool = False) -> Table:
        """Every event; with `args` every argument that gpuscope keeps is a column."""
        native = self._traces.events(self.number, args)
        return Table(native[0][1])

    def __repr__(self) -> str:
        """Say which rank of what."""
        return f"<gpuscope.Rank {self.number} of {self.run.name!r}>"


def open(
    paths: Paths,
    *,
    rank_regex: str | None = None,
    select_capture: str | int | None = None,
    classify: PathName | None = None,
    step_marker: str | None = None,
    memory: int | str | None = None,
) -> Run:
    """Open a trace, several, or a folder with one for each rank.

    Args:
        paths: A file, a folder, a glob, an archive, or a list of them; plain, gzip or zstd, recognised by content.
        rank_regex: How paths tell the rank: the first group is the number.
        select_capture: Which of several captures: its number (1 is the newest) or its folder.
        classify: A file of rules that sort kernels into kinds, before the built-in ones.
        step_marker: Steps are the annotations whose name matches, rather than `ProfilerStep#N`.
        memory: Bytes that traces may take in memory: 8_000_000_000 or "8GB". Half of the machine's by default.

    Raises:
        InputError: Nothing could be read; the message says what and why.
    """
    names = (
        [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]
    )
    if not names:
        raise UsageError("there is nothing to open: the list of paths is empty")
    reading = flags(rank_regex=rank_regex, select_capture=select_capture, classify=classify, memory=memory)
    return Run(_native.Traces(names, [*reading, *flags(step_marker=step_marker)]))


def open_events(
    events: Sequence[Mapping[str, Any]] | Mapping[str, Any] | bytes | str, *, name: str = "events"
) -> Run:
    """Open events that are in memory: a list of dictionaries, an object with `traceEvents`, or the text of a file.

    >>> run = open_events([{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2, "pid": 0, "tid": 7}])
    >>> run.kernels()["kernels"]["sum_ns"]
    [2000]
    """
    import json

    match events:
        case bytes():
            text = events
        case str():
            text = events.encode()
        case Mapping():
            text = json.dumps(events).encode()
        case _:
            text = json.dumps({"traceEvents": list(events)}).encode()
    return Run(_native.Traces.of_text(text, name, []))


def opened(run: Run | Rank | Paths) -> Run:
    """The run itself, or the one that paths name."""
    match run:
        case Run():
            return run
        case Rank():
            return run.run
        case _:
            return open(run)


def diff(a: Run | Paths, b: Run | Paths, *, tree: bool = False, fail_on: str | None = None) -> Answer:
    """What changed from one run to another: every event name, or with `tree` every call path.

    `fail_on` is an expression such as `"step_time > +3%"`; the answer's `.found` says whether it holds.
    """
    return opened(a).diff(opened(b), tree=tree, fail_on=fail_on)
