"""A stand-in for ``cupti.cupti`` on machines without a GPU.

It has the functions that gpuscope calls, with the same arguments, and records with the attributes of
``ActivityKernel13`` and ``ActivityMemcpy7`` of cupti-python 13.4. Like the real one, it has one pair of
callbacks for the process, asks for a buffer when there is something to write, delivers when it is told to
flush, and uses the memory of records again afterwards.
"""

from __future__ import annotations

import ctypes
import enum
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class ActivityKind(enum.IntEnum):
    MEMCPY = 1
    KERNEL = 3
    CONCURRENT_KERNEL = 10
    MEMCPY2 = 22


class cuptiError(Exception):  # As in the package.
    pass


class StandIn:
    ActivityKind = ActivityKind
    cuptiError = cuptiError

    def __init__(self, ahead_ns: int = 0) -> None:
        self.calls: list[str] = []
        self.enabled: set[int] = set()
        self.refused: set[int] = set()
        self.dropped = 0
        self._ahead_ns = ahead_ns
        self._callbacks: tuple[Callable[[], Any], Callable[[list[Any]], None]] | None = None
        self._buffer: list[SimpleNamespace] = []

    def activity_register_callbacks(self, func_buffer_requested: Any, func_buffer_completed: Any) -> None:
        self.calls.append("register")
        self._callbacks = (func_buffer_requested, func_buffer_completed)

    def activity_enable(self, kind: int) -> None:
        if kind in self.refused:
            raise cuptiError("CUPTI_ERROR_INVALID_KIND")
        self.calls.append(f"enable {ActivityKind(kind).name}")
        self.enabled.add(int(kind))

    def activity_disable(self, kind: int) -> None:
        self.calls.append(f"disable {ActivityKind(kind).name}")
        self.enabled.discard(int(kind))

    def activity_flush_all(self, flag: int) -> None:
        self.calls.append(f"flush {flag}")
        if self._callbacks is None or not self._buffer:
            return
        records, self._buffer = self._buffer, []
        self._callbacks[1](records)
        for record in records:  # What was not copied is lost.
            record.__dict__.update(dict.fromkeys(record.__dict__, 0))

    def activity_get_num_dropped_records(self, context: int, stream_id: int, dropped: int) -> None:
        ctypes.c_size_t.from_address(dropped).value = self.dropped

    def get_timestamp(self) -> int:
        return time.time_ns() + self._ahead_ns

    def run_kernel(self, name: str, start: int, end: int, stream: int = 7) -> None:
        """The GPU runs a kernel."""
        self._write(
            kind=int(ActivityKind.CONCURRENT_KERNEL),
            name=name,
            start=start,
            end=end,
            device_id=0,
            stream_id=stream,
            correlation_id=len(self._buffer) + 1,
            grid_x=4,
            grid_y=2,
            grid_z=1,
            block_x=128,
            block_y=1,
            block_z=1,
            registers_per_thread=32,
            static_shared_memory=1024,
            dynamic_shared_memory=512,
        )

    def run_copy(self, size: int, start: int, end: int, copy_kind: int = 1, peer: bool = False) -> None:
        """The GPU copies."""
        self._write(
            kind=int(ActivityKind.MEMCPY2 if peer else ActivityKind.MEMCPY),
            start=start,
            end=end,
            bytes=size,
            copy_kind=copy_kind,
            device_id=0,
            stream_id=7,
            correlation_id=len(self._buffer) + 1,
        )

    def _write(self, **record: Any) -> None:
        if record["kind"] not in self.enabled or self._callbacks is None:
            return
        if not self._buffer:
            size, most_records = self._callbacks[0]()
            assert size > 0
            assert most_records == 0
        self._buffer.append(SimpleNamespace(**record))
