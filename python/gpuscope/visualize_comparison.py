"""``python -m gpuscope.visualize_comparison``: AS-IS beside TO-BE, the same models step by step and fused.

    python -m gpuscope.visualize_comparison --model tile-medium --benchmark
    python -m gpuscope.visualize_comparison --compare-all --benchmark

>>> from gpuscope.visualize_comparison import ComparisonDashboard
>>> ComparisonDashboard().output_dir.name
'profiling_results'
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuscope.bench import _options, _program
from gpuscope.bench.dashboards import ComparisonDashboard
from gpuscope.bench.family import GPT_CONFIGS
from gpuscope.errors import UsageError

__all__ = ["ComparisonDashboard", "main"]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(
        prog="python -m gpuscope.visualize_comparison",
        description="Compare models as they are with their fused form, and draw a dashboard.",
    )
    which = main.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="NAME", help=f"one of {', '.join(GPT_CONFIGS)}")
    which.add_argument("--compare-all", action="store_true", help="all models")
    source = main.add_mutually_exclusive_group()
    source.add_argument("--benchmark", action="store_true", help="measure now")
    source.add_argument("--data", type=Path, metavar="FILE", help="the comparison of an earlier run")
    main.add_argument("--no-compile", action="store_true", help="run the fused form without torch.compile")
    _program.add_options(main)
    _options.add_limits(main)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says: exit code 0, 2 for wrong usage, 3 for input that cannot be read."""
    options = parser().parse_args(argv)
    dashboard = ComparisonDashboard(options.output_dir)
    return _program.draw(dashboard, lambda: _fill(dashboard, options))


def _fill(dashboard: ComparisonDashboard, options: argparse.Namespace) -> None:
    if options.benchmark:
        if options.model is None and not options.compare_all:
            raise UsageError("name what to compare: --model tile-medium, or --compare-all")
        dashboard.run_benchmark(
            [options.model] if options.model else list(GPT_CONFIGS),
            options.batch_size,
            options.seq_len,
            compile=not options.no_compile,
            **_options.limits_of(options),
        )
        return
    _program.load(dashboard, options.data, "--benchmark")
    if options.model:
        dashboard.only([options.model])


if __name__ == "__main__":
    sys.exit(main())
