"""Tables of kernel launchers: summed by name, by category and by arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpuscope.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

_DIRECT, _SUBTREE = "total_direct_kernel_time", "total_subtree_kernel_time"
_SHARE, _SHARE_SO_FAR = "Percentage (%)", "Cumulative Percentage (%)"
_KEYS = (
    "name",
    "op category",
    "process_name",
    "process_label",
    "thread_name",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
)
_LONGEST_SHORT_NAME = 64


def by_name(launchers: pd.DataFrame) -> pd.DataFrame:
    """A row for each operator."""
    groups = launchers.groupby("name", sort=False)
    summary = groups.agg(
        **{
            f"{_DIRECT}_sum": (_DIRECT, "sum"),
            f"{_SUBTREE}_sum": (_SUBTREE, "sum"),
        }
    ).reset_index()
    summary[f"{_DIRECT}_ms"] = summary[f"{_DIRECT}_sum"] / 1000
    summary[f"{_SUBTREE}_ms"] = summary[f"{_SUBTREE}_sum"] / 1000
    summary["Count"] = groups.size().to_numpy()
    summary["Categories"] = [sorted(set(group["op category"])) for _, group in groups]
    return _with_shares(
        summary.sort_values(f"{_DIRECT}_sum", ascending=False, kind="stable"), f"{_DIRECT}_sum"
    )


def by_category(launchers: pd.DataFrame) -> pd.DataFrame:
    """A row for each sort of operators."""
    groups = launchers.groupby("op category", sort=False)
    summary = groups.agg(Count=(_DIRECT, "size"), **{f"{_DIRECT}_ms": (_DIRECT, "sum")}).reset_index()
    summary[f"{_DIRECT}_ms"] /= 1000
    return _with_shares(summary.sort_values(f"{_DIRECT}_ms", ascending=False, kind="stable"), f"{_DIRECT}_ms")


def by_arguments(
    launchers: pd.DataFrame, event_name: str | None, agg_metrics: Sequence[str], include_pct: bool
) -> pd.DataFrame:
    """A row for each operator with the same arguments."""
    keys = [key for key in _KEYS if key in launchers.columns]
    if not keys:
        raise UsageError(f"expected a frame of kernel launchers, with any of the columns {', '.join(_KEYS)}")
    chosen = launchers if event_name is None else launchers[launchers["name"] == event_name]
    metrics = list(dict.fromkeys([*agg_metrics, "sum"]))
    columns: dict[str, Any] = {"operation_count": ("name", "size")}
    for metric in metrics:
        columns |= {
            f"{time}_{metric}": (time, metric) for time in (_DIRECT, _SUBTREE) if time in chosen.columns
        }
    columns["ex_UID"] = ("UID", "first")
    # Not every operator records its arguments; those that do not are groups too.
    groups = chosen.groupby(keys, dropna=False, sort=False)
    unique = groups.agg(**columns).reset_index()
    if "kernel_details" in chosen.columns:
        details = [kernel_statistics(group, agg_metrics) for _, group in groups["kernel_details"]]
        unique["kernel_details_summary"] = details
        unique["trunc_kernel_details"] = [_shortened(kernels) for kernels in details]
    unique = unique.sort_values([f"{_DIRECT}_sum", "ex_UID"], ascending=[False, True]).reset_index(drop=True)
    return _with_shares(unique, f"{_DIRECT}_sum") if include_pct else unique


def kernel_statistics(calls: Iterable[Any], agg_metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Durations of each kernel on each stream over all calls of an operator, largest sum last."""
    from statistics import fmean, median, pstdev  # slow to import, and rarely needed

    durations: dict[tuple[str, Any], list[float]] = defaultdict(list)
    for kernels in calls:
        for kernel in kernels:
            durations[kernel["name"], kernel["stream"]].append(float(kernel["dur"]))
    named: dict[str, tuple[str, Callable[[list[float]], float]]] = {
        "mean": ("mean_duration_us", fmean),
        "median": ("median_duration_us", median),
        "std": ("std_dev_duration_us", pstdev),
        "min": ("min_duration_us", min),
        "max": ("max_duration_us", max),
    }
    rows = [
        {
            "name": name,
            "stream": stream,
            "count": len(times),
            "total_duration_us": sum(times),
            **{named[metric][0]: named[metric][1](times) for metric in agg_metrics if metric in named},
        }
        for (name, stream), times in durations.items()
    ]
    return sorted(rows, key=lambda row: (row["total_duration_us"], row["name"]))


def _shortened(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "name": _shortened_name(kernel["name"]),
            "stream": kernel["stream"],
            "mean_duration_us": round(kernel["total_duration_us"] / kernel["count"], 2),
        }
        for kernel in kernels
    ]


def _shortened_name(name: str) -> str:
    return name if len(name) <= _LONGEST_SHORT_NAME else name[:_LONGEST_SHORT_NAME] + "..."


def _with_shares(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The table with each row's share of the sum of a column, and that of all rows so far."""
    total = table[column].sum()
    shares = table[column] / total * 100 if total else table[column] * 0.0
    return table.assign(**{_SHARE: shares, _SHARE_SO_FAR: shares.cumsum()}).reset_index(drop=True)
