"""``python -m gpuscope.visualize_performance``: the GPT family measured, or earlier results, as a dashboard.

    python -m gpuscope.visualize_performance --run-profiling
    python -m gpuscope.visualize_performance --data profiling_results/profiling_data.json

>>> from gpuscope.visualize_performance import PerformanceDashboard
>>> PerformanceDashboard().output_dir.name
'profiling_results'
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuscope.bench import _options, _program
from gpuscope.bench.dashboards import PerformanceDashboard
from gpuscope.bench.family import GPT_CONFIGS
from gpuscope.errors import UsageError

__all__ = ["PerformanceDashboard", "main"]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(
        prog="python -m gpuscope.visualize_performance",
        description="Measure the built-in family of GPTs, or take earlier results, and draw a dashboard.",
    )
    source = main.add_mutually_exclusive_group()
    source.add_argument("--run-profiling", action="store_true", help="measure now")
    source.add_argument("--data", type=Path, metavar="FILE", help="results of an earlier run")
    main.add_argument("--configs", nargs="+", metavar="NAME", help=f"only some of {', '.join(GPT_CONFIGS)}")
    _program.add_options(main)
    _options.add_history(main)
    _options.add_limits(main)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says: exit code 0, 1 if a configuration failed, 2 wrong usage, 3 unreadable input."""
    options = parser().parse_args(argv)
    dashboard = PerformanceDashboard(options.output_dir)
    return _program.draw(dashboard, lambda: _fill(dashboard, options))


def _fill(dashboard: PerformanceDashboard, options: argparse.Namespace) -> None:
    if options.run_profiling:
        dashboard.run_profiling(
            options.configs,
            options.batch_size,
            options.seq_len,
            history=not options.no_history,
            db=options.db,
            **_options.limits_of(options),
        )
    else:
        _program.load(dashboard, options.data, "--run-profiling")
    if not dashboard.data["benchmarks"]:
        raise UsageError("nothing was measured, so there is nothing to draw")


if __name__ == "__main__":
    sys.exit(main())
