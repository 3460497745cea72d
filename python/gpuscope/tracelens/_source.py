"""What an analyser is given: raw events, a file, or traces that gpuscope has opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import errors
from . import _exact

if TYPE_CHECKING:
    from .. import Rank, Run


class Source:
    """One rank's trace, as raw events and as a rank of gpuscope; each is made when it is first asked for."""

    def __init__(self, given: TraceLike) -> None:
        """Keeps what was given; nothing is read yet."""
        self._given = given

    @classmethod
    def of(cls, given: TraceLike) -> Source:
        """The source of what was given, which may be one already."""
        return given if isinstance(given, Source) else cls(given)

    @cached_property
    def rank(self) -> Rank | None:
        """The trace as gpuscope opened it; ``None`` for events that came as such."""
        from .. import Rank, Run
        from .. import open as open_traces

        if isinstance(self._given, Rank):
            return self._given
        if isinstance(self._given, Run):
            return only_rank(self._given)
        if isinstance(self._given, (str, os.PathLike)):
            return only_rank(open_traces(self._given))
        return None

    @cached_property
    def events(self) -> list[Mapping[str, Any]]:
        """The elements of the trace's event array, as dictionaries."""
        if isinstance(self._given, (str, os.PathLike)):
            return event_list(_load(self._given))
        if self.rank is not None:
            return event_list(_load(self.rank.path))
        if isinstance(self._given, (bytes, bytearray)):
            return event_list(_exact.loads(bytes(self._given)))
        return event_list(self._given)


def only_rank(run: Run) -> Rank:
    """The one rank of a run; an error that says what to do if there are more."""
    if len(run.ranks) != 1:
        numbers = ", ".join(str(rank.number) for rank in run.ranks[:8])
        raise errors.UsageError(
            f"expected the trace of one rank, but there are {len(run.ranks)} (ranks {numbers}"
            f"{', …' if len(run.ranks) > 8 else ''}): pass one of them, such as gpuscope.open(…).ranks[0]"
        )
    return run.ranks[0]


def event_list(trace: Any) -> list[Mapping[str, Any]]:
    """The events of a parsed trace: of a list of them, or of an object that has it as ``traceEvents``."""
    found = trace.get("traceEvents") if isinstance(trace, Mapping) else trace
    if not isinstance(found, Iterable) or isinstance(found, (str, Mapping)):
        raise errors.UsageError(
            "expected a list of trace events, or an object with `traceEvents`, as json.load reads a trace"
        )
    return [event for event in found if isinstance(event, Mapping)]


def _load(path: str | os.PathLike[str]) -> Any:
    from .data_loader import DataLoader

    return DataLoader.load_data(path)


if TYPE_CHECKING:
    TraceLike: TypeAlias = (
        Iterable[Mapping[str, Any]] | Mapping[str, Any] | bytes | str | os.PathLike[str] | Run | Rank | Source
    )
