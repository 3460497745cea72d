"""Small traces, event by event, for the tests of ``gpuscope.hta``. Times are microseconds."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

HOST, GPU = 100, 0


class TraceText:
    """A trace in the making."""

    def __init__(self, rank: int | None = 0) -> None:
        self.rank = rank
        self.events: list[dict[str, Any]] = []
        self._correlations = itertools.count(1)

    def span(self, cat: str, name: str, start: float, end: float, **more: Any) -> TraceText:
        args = {key: value for key, value in more.items() if key not in ("pid", "tid")}
        where = {"pid": more.get("pid", HOST), "tid": more.get("tid", HOST)}
        event = {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": round(end - start, 3), **where}
        self.events.append(event | {"args": args})
        return self

    def op(self, name: str, start: float, end: float, **more: Any) -> TraceText:
        return self.span("cpu_op", name, start, end, **more)

    def step(self, number: int, start: float, end: float) -> TraceText:
        return self.span("user_annotation", f"ProfilerStep#{number}", start, end)

    def kernel(
        self,
        name: str,
        start: float,
        end: float,
        *,
        launch: tuple[float, float] | None = None,
        stream: int = 7,
        call: str = "cudaLaunchKernel",
        cat: str = "kernel",
        thread: int = HOST,
        **args: Any,
    ) -> TraceText:
        """Work on a stream, with the call that launched it if there was one."""
        if launch is not None:
            args["correlation"] = next(self._correlations)
            self.span("cuda_runtime", call, *launch, tid=thread, correlation=args["correlation"])
        place = {"pid": GPU, "tid": stream, "device": GPU, "stream": stream}
        return self.span(cat, name, start, end, **place, **args)

    def copy(self, start: float, end: float, size: int, **more: Any) -> TraceText:
        kind = "Memcpy DtoD (Device -> Device)"
        return self.kernel(kind, start, end, cat="gpu_memcpy", bytes=size, call="cudaMemcpyAsync", **more)

    def write(self, path: Path) -> Path:
        document: dict[str, Any] = {"schemaVersion": 1}
        if self.rank is not None:
            document["distributedInfo"] = {"rank": self.rank, "world_size": 2, "backend": "nccl"}
        path.write_text(json.dumps(document | {"traceEvents": self.events}))
        return path
