"""What the programs that draw dashboards have in common: some options, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from gpuscope.bench import _options
from gpuscope.bench.__main__ import EXIT_DONE, EXIT_FAILURES, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_USAGE
from gpuscope.bench.dashboards import ComparisonDashboard, PerformanceDashboard
from gpuscope.errors import GpuscopeError, InputError, UsageError

Dashboard = PerformanceDashboard | ComparisonDashboard


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, and where the dashboard goes."""
    parser.add_argument(
        "--batch-size", type=_options.size, default=4, metavar="N", help="sequences at a time [4]"
    )
    parser.add_argument("--seq-len", type=_options.size, default=64, metavar="N", help="tokens of each [64]")
    folder = Path("profiling_results")
    parser.add_argument("--output-dir", type=Path, default=folder, metavar="FOLDER", help=f"[{folder}]")


def load(dashboard: Dashboard, file: Path | None, measure_with: str) -> None:
    """Take what was measured earlier: the file, or what is in the output folder."""
    if file is None and not dashboard.data_file.exists():
        raise UsageError(
            f"{dashboard.data_file} is not there yet: measure with {measure_with}, or name results with --data FILE"
        )
    dashboard.load_data(file)


def draw(dashboard: Dashboard, fill: Callable[[], None]) -> int:
    """Fill the dashboard, draw it and say what it shows; gives the exit code."""
    try:
        fill()
        page = dashboard.create_dashboard()
        dashboard.print_summary()
    except GpuscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INPUT if isinstance(error, InputError) else EXIT_USAGE
    except KeyboardInterrupt:
        print(f"interrupted: what was finished is in {dashboard.data_file}", file=sys.stderr)
        return EXIT_INTERRUPTED
    print(f"dashboard: {page}")
    return EXIT_FAILURES if dashboard.data.get("failures") else EXIT_DONE
