"""What was collected, as a trace that every analysis of gpuscope understands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpuscope.cupti.copies import CopyRecord, MemoryCopy
from gpuscope.cupti.kernels import KernelDataCollector, KernelLaunch
from gpuscope.cupti.layers import ExtractModel, LayerCall
from gpuscope.cupti.stacktrace import StackCall, StacktraceCollector
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    from gpuscope import Run

Collector = KernelDataCollector | MemoryCopy | StacktraceCollector | ExtractModel
_Record = KernelLaunch | CopyRecord | StackCall | LayerCall

_SHORT_KINDS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}


def to_trace(*collectors: Collector) -> dict[str, Any]:
    """Everything that was collected as a trace in torch.profiler's JSON, which Perfetto shows as well.

    Times count from the first record, whose time on CUPTI's clock is ``baseTimeNanoseconds``.
    """
    records: list[_Record] = [record for collector in collectors for record in _records(collector)]
    base = min((record.start_ns for record in records), default=0)
    events = [_event(record, base) for record in records]
    events.sort(key=lambda event: event["ts"])
    # Times of today in microseconds leave a double no room for nanoseconds: they count from a base.
    return {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base, "traceEvents": events}


def to_run(*collectors: Collector, rank: int = 0) -> Run:
    """Everything that was collected as a ``Run``, for every question: ``to_run(kernels).kernels()``."""
    import gpuscope

    return gpuscope.open_events(to_trace(*collectors) | {"distributedInfo": {"rank": rank}}, name="collected")


def _records(collector: Collector) -> list[Any]:
    match collector:
        case KernelDataCollector():
            return list(collector.kernels)
        case MemoryCopy():
            return list(collector.copies)
        case StacktraceCollector():
            return list(collector.calls)
        case ExtractModel():
            return list(collector.timeline)
        case _:
            raise UsageError(f"{type(collector).__name__} is none of the collectors of gpuscope.cupti")


def _event(record: _Record, base: int) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": "X",
        "ts": (record.start_ns - base) / 1e3,
        "dur": (record.end_ns - record.start_ns) / 1e3,
    }
    match record:
        case KernelLaunch():
            arguments = {
                "device": record.device,
                "stream": record.stream,
                "correlation": record.correlation,
                "grid": list(record.grid),
                "block": list(record.block),
                "registers per thread": record.registers,
                "shared memory": record.shared_bytes,
            }
            event |= {"cat": "kernel", "name": record.name, "pid": record.device, "tid": record.stream}
            event["args"] = arguments
        case CopyRecord():
            name = f"Memcpy {_SHORT_KINDS.get(record.kind, 'Unknown')}"
            event |= {"cat": "gpu_memcpy", "name": name, "pid": record.device, "tid": record.stream}
            event["args"] = {
                "device": record.device,
                "stream": record.stream,
                "correlation": record.correlation,
                "bytes": record.bytes,
            }
        case StackCall():
            name = f"{record.filename}({record.line}): {record.name}"
            event |= {"cat": "python_function", "name": name, "pid": os.getpid(), "tid": record.thread}
        case LayerCall():
            name = f"{record.phase}: {record.layer}"
            event |= {"cat": "user_annotation", "name": name, "pid": os.getpid(), "tid": "layers"}
    return event
