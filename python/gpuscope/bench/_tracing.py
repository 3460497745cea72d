"""The trace of a configuration, recorded by torch's profiler after the clock has stopped."""

from __future__ import annotations

import re
from pathlib import Path

from gpuscope.bench.clocks import Work
from gpuscope.errors import UsageError
from gpuscope.profiling._torch import (
    export_trace,
    need_torch,
    new_profiler,
    profiler_is_running,
    synchronize,
)

#: Enough to see what repeats, and small.
_STEPS = 3


def record_trace(work: Work, key: str, folder: Path) -> str:
    """Record some repeats into ``traces/`` of a folder, each as a step; gives the path within the folder."""
    torch = need_torch("a trace of each configuration")
    if profiler_is_running(torch):
        raise UsageError(
            "a torch profiler is running already, and torch keeps only one at a time; stop it first"
        )
    # Names of configurations may be anything, names of files may not.
    name = f"traces/{re.sub(r'[^A-Za-z0-9_.-]+', '_', key)}.json.gz"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    profiler = new_profiler(torch, memory=True, shapes=True, stacks=False)
    with profiler:
        for step in range(_STEPS):
            with torch.profiler.record_function(f"ProfilerStep#{step}"):
                work()
        synchronize(torch)
    export_trace(profiler, path)
    return name
