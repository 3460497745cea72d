"""What an analyser is given: raw events, a file, or traces that gpuscope has opened."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuscope.errors import UsageError
from gpuscope.run import Rank, Run, open_events
from gpuscope.run import open as open_traces
from gpuscope.tracelens import _exact
from gpuscope.tracelens.data_loader import DataLoader

_numbers = itertools.count(1)

Event: TypeAlias = Mapping[str, Any]
"""An element of a trace's event array."""


class Source:
    """One rank's trace, as raw events and as a rank of gpuscope; each is made when it is first asked for."""

    def __init__(self, given: TraceLike) -> None:
        """Keep what was given; nothing is read yet."""
        self._given = given

    @classmethod
    def of(cls, given: TraceLike) -> Source:
        """Give the source of a trace, which may be one already."""
        return given if isinstance(given, Source) else cls(given)

    @cached_property
    def rank(self) -> Rank | None:
        """The trace as gpuscope opened it; ``None`` for events that came as such."""
        if isinstance(self._given, Rank):
            return self._given
        if isinstance(self._given, Run):
            return only_rank(self._given)
        if isinstance(self._given, (str, os.PathLike)):
            return only_rank(open_traces(self._given))
        return None

    @cached_property
    def opened(self) -> Rank:
        """The trace as gpuscope opens it, whatever was given."""
        if self.rank is not None:
            return self.rank
        # Traces that are compared have to have names of their own.
        name = f"events {next(_numbers)}"
        if isinstance(self._given, bytes):
            return only_rank(open_events(self._given, name=name))
        text = ",\n".join(_exact.event_json(event) for event in self.events)
        return only_rank(open_events(f'{{"traceEvents":[{text}]}}', name=name))

    @cached_property
    def events(self) -> list[Event]:
        """The events: those of a file as it has them, those of an opened trace as gpuscope keeps them."""
        if isinstance(self._given, (str, os.PathLike)):
            return event_list(DataLoader.load_data(self._given))
        if self.rank is not None:
            return kept_events(self.rank)
        if isinstance(self._given, (bytes, bytearray)):
            return event_list(_exact.loads(bytes(self._given)))
        return event_list(self._given)

    @property
    def is_jax(self) -> bool:
        """Whether an opened trace is one of JAX."""
        if self.rank is None:
            return False
        inputs = self.rank.run.inputs
        return any(entry["format"] == "jax" for entry in inputs if entry["rank"] == self.rank.number)


def only_rank(run: Run) -> Rank:
    """Give the one rank of a run; an error that says what to do if there are more."""
    if len(run.ranks) != 1:
        numbers = ", ".join(str(rank.number) for rank in run.ranks[:8])
        more = ", …" if len(run.ranks) > 8 else ""
        raise UsageError(
            f"expected the trace of one rank, but there are {len(run.ranks)} (ranks {numbers}{more}): "
            "pass one of them, such as gpuscope.open(…).ranks[0]"
        )
    return run.ranks[0]


def event_list(trace: Any) -> list[Event]:
    """Give the events of a parsed trace: a list of them, or an object that has it as ``traceEvents``."""
    found = trace.get("traceEvents") if isinstance(trace, Mapping) else trace
    if not isinstance(found, Iterable) or isinstance(found, (str, Mapping)):
        raise UsageError(
            "expected a list of trace events, or an object with `traceEvents`, as json.load reads a trace"
        )
    return [event for event in found if isinstance(event, Mapping)]


def kept_events(rank: Rank) -> list[Event]:
    """Give the events of an opened trace in the form that traces have."""
    table = rank.events(args=True)
    # The meaning of an argument's column is the argument's name in the trace.
    arguments = {column.name: column.doc for column in table.columns if column.name not in _PLACES} | _LINKS
    return [_event(row, arguments) for row in table]


# What the table of events has besides arguments.
_PLACES = (
    "index",
    "name",
    "cat",
    "ts_ns",
    "dur_ns",
    "pid",
    "tid",
    "process",
    "thread",
    "kind",
    "launch",
    "parent",
)
_LINKS = {"device": "device", "stream": "stream", "correlation": "correlation", "external_id": "External id"}


def _event(row: Mapping[str, Any], arguments: Mapping[str, str]) -> dict[str, Any]:
    event = {
        "ph": "X" if row["dur_ns"] is not None else "i",
        **{name: row[name] for name in ("name", "cat", "pid", "tid") if row[name] is not None},
        "args": {key: _value(row[name]) for name, key in arguments.items() if row[name] is not None},
    }
    for name, key in (("ts_ns", "ts"), ("dur_ns", "dur")):
        if row[name] is not None:
            event[key] = _exact.DecimalFloat.from_ns(row[name])
    for name in ("process", "thread"):
        if row[name] is not None:
            event[name] = {f"{name}_name": row[name]}
    return event


def _value(value: Any) -> Any:
    """Lists are kept as their text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


if TYPE_CHECKING:
    TraceLike: TypeAlias = (
        Iterable[Mapping[str, Any]] | Mapping[str, Any] | bytes | str | os.PathLike[str] | Run | Rank | Source
    )
