"""Why are the GPUs slow? Reads GPU traces, says where the time went and what would help.

    import gpuscope

    run = gpuscope.open("traces/")
    print(run.analyze())                      # the cause, the evidence, the expected gain
    run.analyze().save("report.html")
    frame = run.kernels().to_pandas()

Drop-in namespaces for those who come from elsewhere: `gpuscope.hta`, `gpuscope.tracelens`, `gpuscope.profiling`,
`gpuscope.cupti` and `gpuscope.plots`. Benchmarks, with how sure they are and how they changed: `gpuscope.bench`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from gpuscope._native import VERSION as __version__
from gpuscope.answer import Answer
from gpuscope.errors import (
    GpuscopeError,
    InputError,
    InternalError,
    MissingDependency,
    NoSuchName,
    UsageError,
)
from gpuscope.run import Rank, Run, diff, open, open_events
from gpuscope.table import Column, Table
from gpuscope.tools import charts, compile_log, demo

__all__ = [
    "Answer",
    "Column",
    "GpuscopeError",
    "InputError",
    "InternalError",
    "MissingDependency",
    "NoSuchName",
    "Rank",
    "Run",
    "Table",
    "UsageError",
    "__version__",
    "charts",
    "compile_log",
    "demo",
    "diff",
    "open",
    "open_events",
]

_SUBMODULES = frozenset({"bench", "cupti", "hta", "plots", "profiling", "tracelens"})


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"gpuscope.{name}")
    raise AttributeError(f"module 'gpuscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
