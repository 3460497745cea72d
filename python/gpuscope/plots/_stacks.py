"""Which course of the Python stack is meant?"""

from __future__ import annotations

from typing import Any

from gpuscope.cupti.stacktrace import DepthPoint, StackCall, depth_over_time
from gpuscope.errors import UsageError
from gpuscope.plots import _runs


def depths(source: Any) -> list[DepthPoint]:
    """How deep the program was in Python calls, at each change, on the thread with most calls."""
    run = _runs.run_of(source)
    if run is not None:
        return depth_over_time(_busiest(_calls_of_run(run)))
    if hasattr(source, "depth_over_time"):
        return list(source.depth_over_time())
    if hasattr(source, "calls"):
        return depth_over_time(_busiest(list(source.calls)))
    if hasattr(source, "call_history"):
        raise UsageError(
            f"{type(source).__name__} has a call_history without times, which cannot be drawn over kernels; "
            "gpuscope.cupti.StacktraceCollector collects both"
        )
    raise UsageError(
        "stacks come from a StacktraceCollector, a Run, a Rank, a ProfileSession or the path of a trace, "
        f"not from {type(source).__name__}"
    )


def _busiest(calls: list[StackCall]) -> list[StackCall]:
    threads: dict[int, list[StackCall]] = {}
    for call in calls:
        threads.setdefault(call.thread, []).append(call)
    return max(threads.values(), key=len, default=[])


def _calls_of_run(run: Any) -> list[StackCall]:
    """Frames of Python; where none were recorded, everything that the host did."""
    events = _runs.events(
        run, "index", "parent", "name", "cat", "kind", "ts_ns", "dur_ns", "pid", "tid", "thread"
    )
    on_host = [event for event in events if event.kind is None and event.dur_ns is not None]
    frames = [event for event in on_host if event.cat == "python_function"] or on_host
    parents = {event.index: event.parent for event in on_host}
    depth_of = _depths(parents, {event.index for event in frames})
    return [
        StackCall(
            name=event.name,
            filename="",
            line=0,
            thread=hash((event.pid, event.tid, event.thread)),
            depth=depth_of[event.index],
            start_ns=event.ts_ns,
            end_ns=event.ts_ns + event.dur_ns,
        )
        for event in frames
    ]


def _depths(parents: dict[int, int | None], counted: set[int]) -> dict[int, int]:
    """How many of those that count are around each event, with itself.

    >>> _depths({1: None, 2: 1, 3: 2, 4: 99}, counted={1, 3, 4})
    {1: 1, 2: 1, 3: 2, 4: 1}
    """
    found: dict[int, int] = {}
    for index in parents:
        chain = []
        at: int | None = index
        while at is not None and at in parents and at not in found:
            chain.append(at)
            at = parents[at]
        depth = found.get(at, 0) if at is not None else 0
        for each in reversed(chain):
            depth += each in counted
            found[each] = depth
    return found
