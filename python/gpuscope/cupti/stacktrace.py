"""Where was the program in its Python code, and when?

Two ways give the same answer. ``sys.settrace(collector.trace_calls)`` sees every call and makes the program
much slower; ``with StacktraceCollector() as collector:`` looks at the stack every few milliseconds and costs
next to nothing, but sees no call that is shorter.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, Self

from gpuscope.cupti.clock import offset_to_kernel_clock
from gpuscope.errors import UsageError


class StackCall(NamedTuple):
    """One call of a Python function, with times in nanoseconds on the kernels' clock."""

    name: str
    filename: str
    line: int
    thread: int
    depth: int
    start_ns: int
    end_ns: int


class DepthPoint(NamedTuple):
    """From this time on, so many calls were open, and this was the innermost."""

    time_ns: int
    depth: int
    name: str


class _Call(NamedTuple):
    code: CodeType
    thread: int
    depth: int
    start: int
    end: int


@dataclass(slots=True)
class _Open:
    code: CodeType
    frame: FrameType | None
    depth: int
    start: int


@dataclass(slots=True)
class _Thread:
    stack: list[_Open] = field(default_factory=list)
    last_seen: int = 0


class StacktraceCollector:
    """Collects the course of the Python call stack, on the clock that kernels have.

    Args:
        interval_ms: how often ``with`` looks at the stack.
        all_threads: also look at the threads that did not start it.
        max_calls: how many calls are kept; ``dropped`` counts the others.

    >>> import sys
    >>> collector = StacktraceCollector()
    >>> def work():
    ...     return sum(range(10))
    >>> sys.settrace(collector.trace_calls); total = work(); sys.settrace(None)
    >>> [call.name for call in collector.calls]
    ['work']
    """

    def __init__(
        self, interval_ms: float = 5.0, all_threads: bool = False, max_calls: int = 1_000_000
    ) -> None:
        """Nothing is collected before it is started."""
        if interval_ms <= 0:
            raise UsageError(f"interval_ms must be more than 0, not {interval_ms}")
        self.interval_ms = interval_ms
        self.all_threads = all_threads
        self.max_calls = max_calls
        self.dropped = 0
        """Calls beyond ``max_calls``, which are not kept."""
        self.samples = 0
        """How often the stack was looked at; 0 when every call was traced."""
        self._calls: list[_Call] = []
        self._threads: dict[int, _Thread] = {}
        self._sampler: threading.Thread | None = None
        self._stopping = threading.Event()

    # Every call

    def trace_calls(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function for ``sys.settrace`` (and ``threading.settrace``), which notes every call and return."""
        now = time.perf_counter_ns()
        thread_id = threading.get_ident()
        thread = self._threads.get(thread_id)
        if thread is None:
            thread = self._threads[thread_id] = _Thread()
        thread.last_seen = now
        if event == "call":
            self._close_strangers(thread_id, thread, frame.f_back, now)
            depth = thread.stack[-1].depth + 1 if thread.stack else _depth_of(frame)
            thread.stack.append(_Open(frame.f_code, frame, depth, now))
            frame.f_trace_lines = False
        elif event == "return" and any(call.frame is frame for call in reversed(thread.stack)):
            while thread.stack[-1].frame is not frame:
                self._close(thread_id, thread, now)
            self._close(thread_id, thread, now)
        return self.trace_calls

    def _close_strangers(self, thread_id: int, thread: _Thread, caller: FrameType | None, now: int) -> None:
        """Ends calls that are not around the caller: tracing was off when they returned."""
        while thread.stack and not _is_around(thread.stack[-1].frame, caller):
            self._close(thread_id, thread, now)

    # From time to time

    def start(self) -> None:
        """Begins to look at the stack of the calling thread, from time to time."""
        if self._sampler is not None:
            raise UsageError(
                "this StacktraceCollector is collecting already; stop it first, or make another one"
            )
        self._stopping.clear()
        starter = threading.get_ident()
        self._sampler = threading.Thread(
            target=self._sample_until_stopped, args=(starter,), name="gpuscope stack sampler", daemon=True
        )
        self._sampler.start()

    def stop(self) -> None:
        """Looks no more."""
        if self._sampler is not None:
            self._stopping.set()
            self._sampler.join()
            self._sampler = None

    def __enter__(self) -> Self:
        """Starts to look at the stack."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops."""
        self.stop()

    def _sample_until_stopped(self, starter: int) -> None:
        own = threading.get_ident()
        while True:
            now = time.perf_counter_ns()
            frames = sys._current_frames()
            for thread_id, frame in frames.items():
                if thread_id != own and (self.all_threads or thread_id == starter):
                    self._sampled(thread_id, frame, now)
            del frames  # They keep everything alive that the program has in its variables.
            self.samples += 1
            if self._stopping.wait(self.interval_ms / 1e3):
                break
        now = time.perf_counter_ns()
        for thread_id, thread in self._threads.items():
            thread.last_seen = now
            while thread.stack:
                self._close(thread_id, thread, now)

    def _sampled(self, thread_id: int, innermost: FrameType | None, now: int) -> None:
        codes: list[CodeType] = []
        while innermost is not None:
            codes.append(innermost.f_code)
            innermost = innermost.f_back
        codes.reverse()
        thread = self._threads.setdefault(thread_id, _Thread())
        thread.last_seen = now
        same = 0
        for known, code in zip(thread.stack, codes, strict=False):
            if known.code is not code:
                break
            same += 1
        while len(thread.stack) > same:
            self._close(thread_id, thread, now)
        for depth in range(same, len(codes)):
            thread.stack.append(_Open(codes[depth], None, depth + 1, now))

    # The answer

    @property
    def calls(self) -> list[StackCall]:
        """All calls by their start; those that are still open end where their thread was last seen."""
        offset = offset_to_kernel_clock()
        found = [*self._calls, *self._still_open()]
        found.sort(key=lambda call: (call.start, call.depth))
        return [
            StackCall(
                name=call.code.co_qualname,
                filename=call.code.co_filename,
                line=call.code.co_firstlineno,
                thread=call.thread,
                depth=call.depth,
                start_ns=call.start + offset,
                end_ns=call.end + offset,
            )
            for call in found
        ]

    @property
    def threads(self) -> list[int]:
        """Threads that were seen, the one with most calls first."""
        counts = dict.fromkeys(self._threads, 0)
        for call in self._calls:
            counts[call.thread] += 1
        return sorted(counts, key=lambda thread: -counts[thread])

    def depth_over_time(self, thread: int | None = None) -> list[DepthPoint]:
        """How deep the stack was, at each change; of the thread with most calls, unless one is named."""
        if thread is None:
            thread = next(iter(self.threads), None)
        return depth_over_time([call for call in self.calls if call.thread == thread])

    def clear(self) -> None:
        """Forgets all calls that have ended."""
        self._calls.clear()
        self.dropped = 0

    def _still_open(self) -> list[_Call]:
        return [
            _Call(call.code, thread_id, call.depth, call.start, thread.last_seen)
            for thread_id, thread in self._threads.items()
            for call in thread.stack
        ]

    def _close(self, thread_id: int, thread: _Thread, now: int) -> None:
        call = thread.stack.pop()
        if len(self._calls) < self.max_calls:
            self._calls.append(_Call(call.code, thread_id, call.depth, call.start, now))
        else:
            self.dropped += 1

    def __repr__(self) -> str:
        """How many calls were seen."""
        return f"<StacktraceCollector: {len(self._calls)} calls>"


def depth_over_time(calls: list[StackCall]) -> list[DepthPoint]:
    """How deep one thread was in its calls, at each change.

    >>> outer = StackCall("outer", "a.py", 1, thread=1, depth=1, start_ns=0, end_ns=100)
    >>> inner = StackCall("inner", "a.py", 5, thread=1, depth=2, start_ns=20, end_ns=60)
    >>> [(point.time_ns, point.depth) for point in depth_over_time([outer, inner])]
    [(0, 1), (20, 2), (60, 1), (100, 0)]
    """
    points: list[DepthPoint] = []
    open_calls: list[StackCall] = []

    def note(time_ns: int) -> None:
        depth, name = (open_calls[-1].depth, open_calls[-1].name) if open_calls else (0, "")
        if points and points[-1].time_ns == time_ns:
            points.pop()
        points.append(DepthPoint(time_ns, depth, name))

    def end_until(time_ns: int | None) -> None:
        while open_calls and (time_ns is None or open_calls[-1].end_ns <= time_ns):
            note(open_calls.pop().end_ns)

    for call in sorted(calls, key=lambda call: (call.start_ns, call.depth)):
        end_until(call.start_ns)
        open_calls.append(call)
        note(call.start_ns)
    end_until(None)
    return points


def _depth_of(frame: FrameType) -> int:
    depth, around = 1, frame.f_back
    while around is not None:
        depth, around = depth + 1, around.f_back
    return depth


def _is_around(frame: FrameType | None, inner: FrameType | None) -> bool:
    while inner is not None:
        if inner is frame:
            return True
        inner = inner.f_back
    return False
