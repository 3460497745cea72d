"""Two runs of a job compared: is it faster, by how much, and what made the difference?

    python examples/compare_runs.py [BEFORE AFTER] [-o FOLDER]

Each is a trace or a folder with one trace for each rank. Without them, a job of two ranks is simulated, and the
same job again with matrix products that take two thirds of the time. Writes the comparison as a page and as
JSON, and the report of each run, into the folder (default: ``compare_runs``). Needs no GPU and no other library.
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import gpuscope

MATRIX_PRODUCTS = re.compile("gemm|nvjet")


def simulate(folder: Path) -> tuple[Path, Path]:
    """Write the traces of the two runs, and say where."""
    before, after = folder / "before", folder / "after"
    gpuscope.demo(before, ranks=2, bytes=4_000_000)
    after.mkdir(parents=True, exist_ok=True)
    for trace in sorted(before.glob("*.json")):
        document = json.loads(trace.read_text())
        speed_up(document["traceEvents"], MATRIX_PRODUCTS, saved=1 / 3)
        (after / trace.name).write_text(json.dumps(document))
    return before, after


def speed_up(events: list[dict[str, Any]], names: re.Pattern[str], saved: float) -> None:
    """Take a share of the time of these kernels out of a trace: whatever comes later comes so much earlier."""
    kernels: list[tuple[float, float]] = sorted(
        (event["ts"], event["dur"])
        for event in events
        if event.get("cat") == "kernel" and names.search(event["name"])
    )
    starts = [start for start, _ in kernels]
    saved_until = [0.0, *accumulate(saved * duration for _, duration in kernels)]

    def moved(time: float) -> float:
        place = bisect.bisect_right(starts, time)
        if place == 0:
            return time
        start, duration = kernels[place - 1]
        return time - saved_until[place - 1] - saved * min(time - start, duration)

    for event in events:
        if "ts" in event:
            end = event["ts"] + event.get("dur", 0)
            event["ts"] = moved(event["ts"])
            if "dur" in event:
                event["dur"] = moved(end) - event["ts"]


def milliseconds(nanoseconds: float | None) -> str:
    return f"{'–':>10}" if nanoseconds is None else f"{nanoseconds / 1e6:10.3f}"


def print_figures(rows: Iterable[dict[str, Any]]) -> None:
    print(f"{'':16}{'before ms':>10} {'after ms':>10} {'change':>8}")
    for row in rows:
        change = "–" if row["change_pct"] is None else f"{row['change_pct']:+.1f} %"
        print(f"{row['metric']:16}{milliseconds(row['a_ns'])} {milliseconds(row['b_ns'])} {change:>8}")


def print_changes(rows: Iterable[dict[str, Any]], top: int) -> None:
    changed = [row for row in rows if row["device"] == "gpu" and abs(row["delta_ns"]) >= 1000]
    print("\nWhat changed most on the GPU")
    for row in changed[:top]:
        print(f"{row['delta_ns'] / 1e6:+10.3f} ms  {row['name'][:80]}")


def main() -> None:
    command_line = argparse.ArgumentParser(description="Compare two runs.")
    command_line.add_argument("runs", nargs="*", type=Path, metavar="BEFORE AFTER")
    command_line.add_argument("-o", "--output", type=Path, default=Path("compare_runs"), metavar="FOLDER")
    options = command_line.parse_args()
    if len(options.runs) not in (0, 2):
        command_line.error("name two runs, or none")
    options.output.mkdir(parents=True, exist_ok=True)
    paths = options.runs or simulate(options.output)
    before, after = map(gpuscope.open, paths)

    comparison = gpuscope.diff(before, after, fail_on="step_time > +3%")
    print_figures(comparison["summary"])
    print_changes(comparison["rows"], top=5)
    print("\nThe step is slower by more than 3 %." if comparison.found else "\nThe step is not slower.")

    written = [
        comparison.save(options.output / "comparison.html"),
        comparison.save(options.output / "comparison.json"),
        before.analyze().save(options.output / "report-before.html"),
        after.analyze().save(options.output / "report-after.html"),
    ]
    print("\nWrote", *written, sep="\n  ")


if __name__ == "__main__":
    main()
