"""Where GPU time went: computing or not, kernel by kernel, annotation by annotation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

from .._units import pct, us

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

Row = dict[str, Any]

#: What HTA keeps when nothing is said.
NUM_KERNELS = 10
NUM_ANNOTATIONS = 1000
DURATION_RATIO = 0.8
OTHERS = "others"
_STATISTICS = ["sum (us)", "max (us)", "min (us)", "stddev", "mean (us)"]


def temporal_breakdown(t: Trace) -> pd.DataFrame:
    """The share of time in which each rank's GPU computed, did something else, or idled."""
    rows = [row | {"rank": rank} for rank in t.get_ranks() for row in t.ask(rank, "temporal").data["ranks"]]
    columns = {
        "rank": [row["rank"] for row in rows],
        "idle_time(us)": [us(row["idle_ns"]) for row in rows],
        "compute_time(us)": [us(row["compute_ns"]) for row in rows],
        "non_compute_time(us)": [us(row["non_compute_ns"]) for row in rows],
        "kernel_time(us)": [us(row["kernel_ns"]) for row in rows],
        "idle_time_pctg": [pct(row["idle_pct"]) for row in rows],
        "compute_time_pctg": [pct(row["compute_pct"]) for row in rows],
        "non_compute_time_pctg": [pct(row["non_compute_pct"]) for row in rows],
    }
    return need("pandas", "gpuscope.hta").DataFrame(columns)


def comm_comp_overlap(t: Trace) -> pd.DataFrame:
    """The share of each rank's communication that ran beside computation; not a number without any."""
    rows = [row | {"rank": rank} for rank in t.get_ranks() for row in t.ask(rank, "overlap").data["ranks"]]
    columns = {
        "rank": [row["rank"] for row in rows],
        "comp_comm_overlap_pctg": [pct(row["overlap_pct"]) for row in rows],
    }
    return need("pandas", "gpuscope.hta").DataFrame(columns)


def kernel_breakdown(
    t: Trace, duration_ratio: float | None, num_kernels: int | None, include_memory_kernels: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The time of each kind of work over all ranks, and the statistics of the kernels of each rank."""
    pandas = need("pandas", "gpuscope.hta")
    sums: defaultdict[str, int] = defaultdict(int)
    rows: list[Row] = []
    for rank in t.get_ranks():
        whole = t.ask(rank, "kernels", exclude_memory=not include_memory_kernels).data
        for kind in whole["types"]:
            sums[kind["kernel_type"]] += kind["sum_ns"]
        limits = {"exclude_memory": not include_memory_kernels}
        if num_kernels is not None:
            listed = t.ask(rank, "kernels", num_kernels=num_kernels, **limits).data["kernels"]
        elif duration_ratio is not None:
            listed = t.ask(rank, "kernels", duration_ratio=duration_ratio, **limits).data["kernels"]
        else:
            top = t.ask(rank, "kernels", num_kernels=NUM_KERNELS, **limits).data["kernels"]
            share = t.ask(rank, "kernels", duration_ratio=DURATION_RATIO, **limits).data["kernels"]
            listed = _by_default(whole["kernels"], top, share)
        rows += [row | {"rank": rank} for row in listed]
    total = sum(sums.values())
    largest_first = sorted(sums.items(), key=lambda kind: (-kind[1], kind[0]))
    types = pandas.DataFrame(
        {
            "kernel_type": [kind for kind, _ in largest_first],
            "sum": [us(time) for _, time in largest_first],
            "percentage": [pct(100 * time / total) if total else 0.0 for _, time in largest_first],
        }
    )
    kernels = _statistics(rows, ["kernel_type", "rank"])
    return types, kernels.sort_values(["kernel_type", "name", "rank"], ignore_index=True)


def annotation_breakdown(
    t: Trace,
    use_gpu_annotation: bool,
    duration_ratio: float | None,
    num_kernels: int | None,
    allowlist_patterns: Sequence[str] | None,
) -> pd.DataFrame | None:
    """The statistics of annotations of each rank; ``None`` if nothing was annotated."""
    where = "gpu" if use_gpu_annotation else "cpu"
    expressions = [re.compile(pattern) for pattern in allowlist_patterns or ()]
    rows: list[Row] = []
    for rank in t.get_ranks():
        found = t.ask(rank, "annotations", **{where: True}).data["rows"]
        rows += [row | {"rank": rank} for row in _largest(found, num_kernels, duration_ratio, expressions)]
    if not rows:
        return None
    return _statistics(rows, ["rank"]).sort_values(["rank", "name"], ignore_index=True)


def _by_default(whole: list[Row], top: list[Row], share: list[Row]) -> list[Row]:
    """With no limit named, kinds of few kernels are listed whole; of others whichever limit keeps fewer."""

    def of(kind: str, rows: list[Row]) -> list[Row]:
        return [row for row in rows if row["kernel_type"] == kind]

    listed: list[Row] = []
    for kind in dict.fromkeys(row["kernel_type"] for row in whole):
        everything = of(kind, whole)
        few = len(everything) <= NUM_KERNELS
        fewest = sorted([of(kind, top), of(kind, share)], key=len)[0]
        listed += everything if few else fewest
    return listed


def _largest(
    rows: list[Row],
    num_kernels: int | None,
    duration_ratio: float | None,
    kept_anyway: Iterable[re.Pattern[str]],
) -> list[Row]:
    """The largest rows, and what is left of them as ``others``."""
    if num_kernels is None and duration_ratio is None:
        if len(rows) <= NUM_ANNOTATIONS:
            return rows
        num_kernels, duration_ratio = NUM_ANNOTATIONS, DURATION_RATIO
    elif num_kernels is not None:
        duration_ratio = None
    enough = sum(row["sum_ns"] for row in rows) * (1.0 if duration_ratio is None else duration_ratio)
    kept: list[Row] = []
    folded: list[Row] = []
    time = 0
    for place, row in enumerate(sorted(rows, key=lambda row: (-row["sum_ns"], row["name"]))):
        fits = (num_kernels is None or place < num_kernels) and (duration_ratio is None or time < enough)
        time += row["sum_ns"]
        named = any(expression.search(row["name"]) for expression in kept_anyway)
        (kept if fits or named else folded).append(row)
    return [*kept, _folded(folded)] if folded else kept


def _folded(rows: list[Row]) -> Row:
    """One row for many, with the statistics of all that they count."""
    count = sum(row["count"] for row in rows)
    mean = sum(row["sum_ns"] for row in rows) / count
    squares = sum(
        row["std_ns"] ** 2 * (row["count"] - 1) + row["count"] * (row["mean_ns"] - mean) ** 2 for row in rows
    )
    return {
        "name": OTHERS,
        "count": count,
        "sum_ns": sum(row["sum_ns"] for row in rows),
        "max_ns": max(row["max_ns"] for row in rows),
        "min_ns": min(row["min_ns"] for row in rows),
        "mean_ns": mean,
        "std_ns": (squares / (count - 1)) ** 0.5 if count > 1 else 0.0,
    }


def _statistics(rows: list[Row], further: list[str]) -> pd.DataFrame:
    """Rows of an answer under HTA's names for their columns."""
    keys = ["sum_ns", "max_ns", "min_ns", "std_ns", "mean_ns"]
    columns: dict[str, list[Any]] = {"name": [row["name"] for row in rows]}
    for title, key in zip(_STATISTICS, keys, strict=True):
        columns[title] = [us(row[key]) for row in rows]
    for key in [*further, "count"]:
        columns[key] = [row[key] for row in rows]
    return need("pandas", "gpuscope.hta").DataFrame(columns)
