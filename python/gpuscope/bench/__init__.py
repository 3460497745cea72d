"""Benchmarks: how long does it take, how sure is that, and how does it compare with last week?

    gpuscope bench run gpt                      # the built-in family of small GPTs
    gpuscope bench run benchmarks.toml          # your own matrix
    gpuscope bench report profiling_results/profiling_data.json -o dashboard.html

>>> from gpuscope.bench import benchmark
>>> @benchmark(batch=(1, 8), max_repeats=50)
... def sums(batch: int) -> int:
...     return sum(range(1000 * batch))
>>> [case.batch for case in sums.spec.cases()]
[1, 8]

``measure(work)`` repeats work until its mean time is known well enough, on the GPU's own clock where there is
one. ``run(sums)`` measures a whole matrix. Results have the shape of profiling_data.json, which
``PerformanceDashboard`` and ``gpuscope bench report`` draw, ``gpuscope bench compare`` compares and
``gpuscope history`` keeps. Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuscope.bench.answers import add_to_history, compare, gate, report, runs, trend
    from gpuscope.bench.dashboards import ComparisonDashboard, PerformanceDashboard
    from gpuscope.bench.family import GPT_CONFIGS
    from gpuscope.bench.runner import run
    from gpuscope.bench.spec import Spec, benchmark, load_spec
    from gpuscope.bench.timing import Measurement, measure

__all__ = [
    "GPT_CONFIGS",
    "ComparisonDashboard",
    "Measurement",
    "PerformanceDashboard",
    "Spec",
    "add_to_history",
    "benchmark",
    "compare",
    "gate",
    "load_spec",
    "measure",
    "report",
    "run",
    "runs",
    "trend",
]

_HOME = {
    "trend": "answers",
    "runs": "answers",
    "report": "answers",
    "gate": "answers",
    "compare": "answers",
    "add_to_history": "answers",
    "GPT_CONFIGS": "family",
    "ComparisonDashboard": "dashboards",
    "Measurement": "timing",
    "PerformanceDashboard": "dashboards",
    "Spec": "spec",
    "benchmark": "spec",
    "load_spec": "spec",
    "measure": "timing",
    "run": "runner",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
