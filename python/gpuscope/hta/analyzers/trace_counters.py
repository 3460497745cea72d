"""How much work waited for each stream, and how fast copies went: over time, and in summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

from .._units import us

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

#: Launches that a stream of CUDA takes before the next one has to wait.
CUDA_MAX_LAUNCH_QUEUE_PER_STREAM = 1024

_STATISTICS = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
#: Bandwidths are added up as integers of this many GB/s, so that nothing is left over when copies end.
_UNIT_GB_PER_S = 1e-9


def queue_length_time_series(t: Trace, ranks: Sequence[int]) -> dict[int, pd.DataFrame]:
    """How many launched events have not begun, after each change; ranks without launches are left out."""
    pandas = need("pandas", "gpuscope.hta")
    start = t.start_ns
    series = {}
    for rank in ranks:
        parts = []
        for stream in t.ask(rank, "queue", series=True).data["streams"]:
            points = stream["series"]
            times = [us(point["time_ns"] - start) for point in points]
            lengths = [point["length"] for point in points]
            # A stream is a thread of its device in these traces.
            part = {"ts": times, "pid": stream["device"], "tid": stream["stream"], "stream": stream["stream"]}
            parts.append(pandas.DataFrame(part | {"queue_length": lengths}))
        if parts:
            series[rank] = pandas.concat(parts, ignore_index=True)
    return series


def queue_length_summary(series: Mapping[int, pd.DataFrame]) -> pd.DataFrame | None:
    """Statistics of the points of each rank's and stream's queue; ``None`` if there are none."""
    pandas = need("pandas", "gpuscope.hta")
    parts = {rank: points.groupby("stream")[["queue_length"]].describe() for rank, points in series.items()}
    return pandas.concat(parts, names=["rank"]) if parts else None


def time_blocked_on_full_queue(
    t: Trace, series: Mapping[int, pd.DataFrame], max_queue_length: int
) -> pd.DataFrame | None:
    """How long the queue of each stream was full, in us and as a share; ``None`` if none ever was."""
    rows: list[dict[str, Any]] = []
    for rank, points in series.items():
        whole = t.get_trace_duration(rank)
        for (_, stream), of_stream in points.groupby(["pid", "stream"]):
            lasting = of_stream["ts"].shift(-1) - of_stream["ts"]
            full = of_stream["queue_length"].ge(max_queue_length)
            blocked = float(lasting[full].sum())
            if full.any():
                rows.append(
                    {
                        "rank": rank,
                        "stream": stream,
                        "duration_at_max_queue_length": blocked,
                        "relative_duration_at_max_queue_length": blocked / whole if whole else 0.0,
                    }
                )
    return need("pandas", "gpuscope.hta").DataFrame(rows) if rows else None


def memory_bw_time_series(t: Trace, ranks: Sequence[int]) -> dict[int, pd.DataFrame]:
    """The bandwidth of the copies under way, after each change; ranks without copies are left out."""
    pandas = need("pandas", "gpuscope.hta")
    start = t.start_ns
    series = {}
    for rank in ranks:
        parts = []
        for device in _devices(t, rank):
            for kind in _copies(t, rank, series=True, device=device):
                times, rates = _bandwidth(kind["series"])
                part = {"ts": [us(time - start) for time in times], "pid": device, "name": kind["kind"]}
                parts.append(pandas.DataFrame(part | {"memory_bw_gbps": rates}))
        if parts:
            joined = pandas.concat(parts, ignore_index=True)
            series[rank] = joined.sort_values("ts", kind="stable", ignore_index=True)
    return series


def memory_bw_summary(t: Trace, ranks: Sequence[int]) -> pd.DataFrame | None:
    """Statistics of the bandwidth of each kind of copy while such copies were under way; ``None`` without
    copies.

    Each bandwidth counts as long as it lasted. ``count`` is the number of copies.
    """
    pandas = need("pandas", "gpuscope.hta")
    keys = ["mean_gb_per_s", "std_gb_per_s", "min_gb_per_s", "p25_gb_per_s"]
    keys += ["median_gb_per_s", "p75_gb_per_s", "max_gb_per_s"]
    rows = {}
    for rank in ranks:
        for kind in _copies(t, rank):
            over_time = kind["over_time"]
            if over_time is not None:
                rows[rank, kind["kind"]] = [float(kind["count"]), *(over_time[key] for key in keys)]
    if not rows:
        return None
    index = pandas.MultiIndex.from_tuples(rows, names=["rank", "name"])
    columns = pandas.MultiIndex.from_product([["memory_bw_gbps"], _STATISTICS])
    return pandas.DataFrame(list(rows.values()), index=index, columns=columns)


def _copies(t: Trace, rank: int, **options: Any) -> list[dict[str, Any]]:
    data = t.ask(rank, "bandwidth", **options).data
    return [*data["copies"], *data["sets"]]


def _devices(t: Trace, rank: int) -> list[int]:
    streams = t.rank(rank).info().data["ranks"][0]["streams"]
    return sorted({stream["device"] for stream in streams})


def _bandwidth(copies: list[dict[str, int]]) -> tuple[list[int], list[float]]:
    """When the summed bandwidth of copies changes, and to what."""
    changes: dict[int, int] = {}
    for copy in copies:
        if copy["dur_ns"] <= 0:
            continue
        start, end = copy["start_ns"], copy["start_ns"] + copy["dur_ns"]
        # Bytes per nanosecond are GB/s.
        rate = copy["bytes"] * round(1 / _UNIT_GB_PER_S) // copy["dur_ns"]
        changes[start] = changes.get(start, 0) + rate
        changes[end] = changes.get(end, 0) - rate
    times = sorted(changes)
    rates = []
    current = 0
    for time in times:
        current += changes[time]
        rates.append(current * _UNIT_GB_PER_S)
    return times, rates
