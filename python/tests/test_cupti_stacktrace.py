"""Where the program was in its Python code."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gpuscope.cupti import StackCall, StacktraceCollector
from gpuscope.errors import UsageError


def inner(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_done() and time.monotonic() < deadline:
        pass


def outer(is_done: Callable[[], bool]) -> None:
    inner(is_done)


def at_once() -> bool:
    return True


def after_two_milliseconds() -> Callable[[], bool]:
    end = time.perf_counter_ns() + 2_000_000
    return lambda: time.perf_counter_ns() >= end


def traced(
    function: Callable[[], object], collector: StacktraceCollector | None = None
) -> StacktraceCollector:
    collector = collector or StacktraceCollector()
    before = sys.gettrace()
    sys.settrace(collector.trace_calls)
    try:
        function()
    finally:
        sys.settrace(before)
    return collector


def named(collector: StacktraceCollector, name: str) -> list[StackCall]:
    return [call for call in collector.calls if call.name.split(".")[-1] == name]


def test_every_call_is_traced_with_its_depth_and_time() -> None:
    before = time.time_ns()
    collector = traced(lambda: outer(after_two_milliseconds()))
    after = time.time_ns()
    (around,), (within,) = named(collector, "outer"), named(collector, "inner")
    assert within.depth == around.depth + 1
    assert before - 1_000_000 <= around.start_ns <= within.start_ns
    assert within.end_ns <= around.end_ns <= after + 1_000_000
    assert within.end_ns - within.start_ns >= 1_000_000
    assert within.filename == __file__
    assert within.line == inner.__code__.co_firstlineno
    assert collector.samples == 0


def test_calls_that_fail_and_generators_end_where_they_end() -> None:
    def fails() -> None:
        raise ValueError

    def numbers() -> Iterator[int]:
        yield 1
        inner(at_once)
        yield 2

    def run() -> None:
        with pytest.raises(ValueError):
            fails()
        list(numbers())
        outer(at_once)

    collector = traced(run)
    (run_call,) = named(collector, "run")
    assert [call.depth for call in named(collector, "fails")] == [run_call.depth + 1]
    assert {call.depth for call in named(collector, "numbers")} == {run_call.depth + 1}
    assert len(named(collector, "numbers")) == 3, "each time it goes on"
    assert [call.depth - run_call.depth for call in named(collector, "inner")] == [2, 2]


def test_calls_that_were_open_when_tracing_stopped_do_not_pile_up() -> None:
    collector = StacktraceCollector()
    before = sys.gettrace()

    def stops_inside() -> None:
        sys.settrace(before)

    depths = []
    for _ in range(3):
        sys.settrace(collector.trace_calls)
        stops_inside()
        traced(lambda: inner(at_once), collector)
        depths.append(named(collector, "inner")[-1].depth)
    assert len(set(depths)) == 1
    assert len(named(collector, "stops_inside")) == 3


def test_threads_have_stacks_of_their_own() -> None:
    collector = StacktraceCollector()
    threading.settrace(collector.trace_calls)
    try:
        thread = threading.Thread(target=outer, args=(at_once,))
        thread.start()
        thread.join()
    finally:
        threading.settrace(None)  # type: ignore[arg-type]  # That is how it is switched off.
    traced(lambda: outer(at_once), collector)
    assert len({call.thread for call in named(collector, "outer")}) == 2
    points = collector.depth_over_time()
    assert points[-1].depth == 0
    assert max(point.depth for point in points) >= 2


def test_beyond_the_limit_calls_are_counted_only() -> None:
    collector = traced(lambda: [inner(at_once) for _ in range(10)], StacktraceCollector(max_calls=4))
    assert len(collector.calls) == 4
    assert collector.dropped >= 7
    collector.clear()
    assert collector.calls == []


def test_sampling_sees_what_takes_long() -> None:
    before = time.time_ns()
    with StacktraceCollector(interval_ms=1) as collector:
        outer(lambda: collector.samples >= 20)
    after = time.time_ns()
    seen = sum(call.end_ns - call.start_ns for call in named(collector, "inner"))
    assert (after - before) / 2 < seen <= after - before
    (around,) = named(collector, "outer")
    assert before - 1_000_000 <= around.start_ns <= around.end_ns <= after + 1_000_000
    assert all(call.thread == threading.get_ident() for call in collector.calls)
    assert not named(collector, "_sample_until_stopped")
    samples = collector.samples
    time.sleep(0.01)
    assert collector.samples == samples, "nobody looks any more"


def test_sampling_of_all_threads() -> None:
    with StacktraceCollector(interval_ms=1, all_threads=True) as collector:
        thread = threading.Thread(target=outer, args=(lambda: collector.samples >= 20,))
        thread.start()
        thread.join()
    assert thread.ident in {call.thread for call in named(collector, "inner")}


def test_a_collector_collects_once_at_a_time() -> None:
    with StacktraceCollector() as collector, pytest.raises(UsageError, match="collecting already"):
        collector.start()
    collector.start()
    collector.stop()
    collector.stop()
    with pytest.raises(UsageError, match="interval_ms"):
        StacktraceCollector(interval_ms=0)
