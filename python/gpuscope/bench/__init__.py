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

from typing import TYPE_CHECKING

from gpuscope._lazy import attributes

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
    "ComparisonDashboard": "dashboards",
    "GPT_CONFIGS": "family",
    "Measurement": "timing",
    "PerformanceDashboard": "dashboards",
    "Spec": "spec",
    "add_to_history": "answers",
    "benchmark": "spec",
    "compare": "answers",
    "gate": "answers",
    "load_spec": "spec",
    "measure": "timing",
    "report": "answers",
    "run": "runner",
    "runs": "answers",
    "trend": "answers",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
