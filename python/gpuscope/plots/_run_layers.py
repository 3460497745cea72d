"""Which layer of the model was a trace at, and when?

Work of the forward pass belongs to the module around its launch; work of the backward pass to the module
around the forward operator that it undoes, which has the same sequence number. Traces without GPU work show
the host's operators instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuscope.plots import _runs
from gpuscope.plots._phases import BACKWARD, FORWARD, RECOMPUTE

_MODULE = "nn.Module: "
_BACKWARD_STEP = "autograd::engine::evaluate_function"


class Span(NamedTuple):
    """A layer was at work."""

    start_ns: int
    end_ns: int
    layer: str
    phase: str


class _Call(NamedTuple):
    """One call of a module."""

    module: str
    event: int


class _Origin(NamedTuple):
    """Where an event of the host belongs to."""

    call: _Call | None = None
    is_backward: bool = False
    sequence: int | None = None


def spans(run: Any) -> list[Span]:
    """Stretches of consecutive work of one call of a layer in one phase, by their start."""
    columns = ("index", "parent", "launch", "name", "cat", "kind", "ts_ns", "dur_ns", "sequence_number")
    events = _runs.events(run, *columns)
    by_index = {event.index: event for event in events}
    origins = _Origins(by_index)
    undone = _calls_by_sequence(events, origins)
    work = [(event, event.launch) for event in events if event.kind is not None and event.launch is not None]
    if not work:
        work = [(event, event.index) for event in _innermost_operators(events)]
    found: list[Span] = []
    last: tuple[_Call, str] | None = None
    for event, launched_by in sorted(work, key=lambda item: item[0].ts_ns):
        call, phase = _place(origins.of(launched_by), undone)
        if call is None or event.dur_ns is None:
            continue
        end = event.ts_ns + event.dur_ns
        if last == (call, phase):
            found[-1] = found[-1]._replace(end_ns=max(found[-1].end_ns, end))
        else:
            found.append(Span(event.ts_ns, end, call.module, phase))
            last = call, phase
    return found


def _place(origin: _Origin, undone: dict[int, _Call]) -> tuple[_Call | None, str]:
    if origin.is_backward and origin.call is not None:
        return origin.call, RECOMPUTE
    if origin.is_backward:
        return (None if origin.sequence is None else undone.get(origin.sequence)), BACKWARD
    return origin.call, FORWARD


class _Origins:
    """Looks upwards from events of the host, and remembers what it saw."""

    def __init__(self, by_index: dict[int, Any]) -> None:
        self._by_index = by_index
        self._known: dict[int, _Origin] = {}

    def of(self, index: int | None) -> _Origin:
        """The innermost module around an event, and whether a step of the backward pass is."""
        chain = []
        while index is not None and index not in self._known and index in self._by_index:
            chain.append(index)
            index = self._by_index[index].parent
        origin = self._known.get(index, _Origin()) if index is not None else _Origin()
        for each in reversed(chain):
            event = self._by_index[each]
            if event.name.startswith(_MODULE):
                origin = origin._replace(call=_Call(event.name[len(_MODULE) :], each))
            elif event.name.startswith(_BACKWARD_STEP):
                # Modules further out only called backward().
                origin = _Origin(is_backward=True, sequence=event.sequence_number)
            self._known[each] = origin
        return origin


def _calls_by_sequence(events: list[Any], origins: _Origins) -> dict[int, _Call]:
    found: dict[int, _Call] = {}
    for event in events:
        if event.sequence_number is not None and event.cat == "cpu_op":
            call = origins.of(event.index).call
            if call is not None:
                found[event.sequence_number] = call
    return found


def _innermost_operators(events: list[Any]) -> list[Any]:
    operators = [event for event in events if event.cat == "cpu_op"]
    around = {event.parent for event in operators}
    return [event for event in operators if event.index not in around]
