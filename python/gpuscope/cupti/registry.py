"""Who gets which of CUPTI's records?

CUPTI has one pair of buffer callbacks for the whole process: whoever registers last gets everything. Here
that pair is registered once, and records are handed on by their kind, so that kernels and copies can be
collected side by side, and a program's own callback gets all that it got before.
"""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from gpuscope.cupti.driver import BufferCompleted, CuptiModule, CuptiUnavailable, load_cupti, names_of

Listener = Callable[[Any], object]

_BUFFER_BYTES = 8 * 1024 * 1024
_AS_MANY_AS_FIT = 0
_ALSO_WHAT_IS_NOT_FULL = 1


class ActivityRegistry:
    """Hands the records of CUPTI to those who asked for their kind."""

    def __init__(self, cupti: CuptiModule) -> None:
        """CUPTI is called at the first ``start``."""
        self.cupti = cupti
        self.buffers = 0
        """How many were asked for or delivered; none means that CUPTI talks to somebody else."""
        self.failures: list[Exception] = []
        self._listeners: dict[int, list[Listener]] = {}
        self._others: list[BufferCompleted] = []
        self._is_registered = False
        self._lock = threading.Lock()

    def buffer_requested(self) -> tuple[int, int]:
        """CUPTI wants room for records."""
        self.buffers += 1
        return _BUFFER_BYTES, _AS_MANY_AS_FIT

    def buffer_completed(self, activities: list[Any]) -> None:
        """CUPTI has records, which are gone when this returns.

        The thread that calls is CUPTI's and cannot handle exceptions: they are kept, and raised by ``stop``.
        """
        self.buffers += 1
        for activity in activities:
            for listener in self._listeners.get(int(activity.kind), ()):
                self._try(listener, activity)
        for other in self._others:
            self._try(other, activities)

    def start(
        self,
        kinds: Iterable[int],
        listener: Listener,
        forward_to: BufferCompleted | None = None,
        optional: Iterable[int] = (),
    ) -> None:
        """From now on, the listener gets all records of these kinds, and of those optional ones that work."""
        kinds = [int(kind) for kind in kinds]
        with self._lock:
            if forward_to is not None and forward_to not in self._others:
                self._others.append(forward_to)
            self._register()
            for kind in kinds:
                self._enable(kind)
                self._listen(kind, listener)
            for kind in map(int, optional):
                try:
                    self._enable(kind)
                except CuptiUnavailable:
                    continue
                self._listen(kind, listener)

    def stop(self, kinds: Iterable[int]) -> None:
        """Hands out all records that there are, then collects these kinds no more.

        Other kinds stay on. Says so when nothing can have been collected, or records were lost.
        """
        stopped = [int(kind) for kind in kinds if int(kind) in self._listeners]
        if not stopped:
            return
        try:
            self._call("flushing records", self.cupti.activity_flush_all, _ALSO_WHAT_IS_NOT_FULL)
        finally:
            self._disable(stopped)
        self._tell_what_was_lost()
        if self.failures:
            failures, self.failures = self.failures, []
            raise failures[0]

    def kinds(self) -> frozenset[int]:
        """Kinds that are being collected."""
        return frozenset(self._listeners)

    def _register(self) -> None:
        if not self._is_registered:
            register = self.cupti.activity_register_callbacks
            self._call("registering buffers", register, self.buffer_requested, self.buffer_completed)
            self._is_registered = True

    def _enable(self, kind: int) -> None:
        if kind not in self._listeners:
            self._call(f"switching on {names_of(self.cupti, [kind])}", self.cupti.activity_enable, kind)

    def _disable(self, kinds: Iterable[int]) -> None:
        with self._lock:
            for kind in kinds:
                del self._listeners[kind]
                self._call(f"switching off {names_of(self.cupti, [kind])}", self.cupti.activity_disable, kind)

    def _listen(self, kind: int, listener: Listener) -> None:
        listeners = self._listeners.setdefault(kind, [])
        if listener not in listeners:
            listeners.append(listener)

    def _call(self, what: str, function: Callable[..., None], *arguments: Any) -> None:
        try:
            function(*arguments)
        except (self.cupti.cuptiError, RuntimeError) as error:
            raise CuptiUnavailable(
                f"CUPTI failed at {what}: {error}; another profiler of this process may hold it"
            ) from error

    def _try(self, function: Callable[[Any], object], argument: Any) -> None:
        try:
            function(argument)
        except Exception as error:
            self.failures.append(error)

    def _tell_what_was_lost(self) -> None:
        if self.buffers == 0:
            warnings.warn(
                "CUPTI never asked for a buffer: nothing ran on the GPU, or another part of the program "
                "registered its own callbacks later and gets the records; let it hand them on with "
                "gpuscope.cupti.dispatch(activities), or set up after it, with its callback as forward_to",
                RuntimeWarning,
                stacklevel=4,
            )
        dropped = self._dropped()
        if dropped:
            warnings.warn(f"CUPTI lost {dropped} records for want of room", RuntimeWarning, stacklevel=4)

    def _dropped(self) -> int:
        count = ctypes.c_size_t(0)
        try:
            self.cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(count))
        except (self.cupti.cuptiError, RuntimeError):
            return 0  # Not every version counts them for the whole process.
        return count.value


_registry: ActivityRegistry | None = None


def registry() -> ActivityRegistry:
    """The registry of this process; raises what ``load_cupti`` raises where there can be none."""
    global _registry
    if _registry is None:
        _registry = ActivityRegistry(load_cupti())
    return _registry


def registry_if_any() -> ActivityRegistry | None:
    """The registry of this process, if something was collected in it."""
    return _registry
