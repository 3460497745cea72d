"""What idle streams waited for, gap by gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

from .._events import NONE
from .._units import us

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

CATEGORIES = ("host_wait", "kernel_wait", "other")


def idle_time_breakdown(
    t: Trace, ranks: Sequence[int], streams: Sequence[int] | None, consecutive_kernel_delay: float
) -> pd.DataFrame:
    """The idle time of each stream by what it waited for, with the number of gaps."""
    rows: list[dict[str, Any]] = []
    for rank in ranks:
        answer = t.ask(rank, "idle", consecutive_kernel_delay_us=consecutive_kernel_delay).data
        for stream in answer["streams"]:
            if streams is not None and stream["stream"] not in streams:
                continue
            for category in CATEGORIES:
                found = stream["categories"][category]
                rows.append(
                    {
                        "rank": rank,
                        "stream": stream["stream"],
                        "idle_category": category,
                        "idle_time": us(found["idle_ns"]),
                        "idle_time_ratio": round(found["ratio"], 4),
                        "count": found["count"],
                        "device": stream["device"],
                    }
                )
    frame = need("pandas", "gpuscope.hta").DataFrame(rows, columns=_COLUMNS)
    several_devices = bool((frame.groupby("rank")["device"].nunique() > 1).any())
    return frame if several_devices else frame.drop(columns="device")


_COLUMNS = ["rank", "stream", "idle_category", "idle_time", "idle_time_ratio", "count", "device"]


def idle_interval_statistics(
    t: Trace, ranks: Sequence[int], streams: Sequence[int] | None, consecutive_kernel_delay: float
) -> pd.DataFrame:
    """How long the gaps of each stream and category are: their number, mean, spread and quartiles."""
    pandas = need("pandas", "gpuscope.hta")
    parts = []
    for rank in ranks:
        gaps = _gaps(t.events(rank), consecutive_kernel_delay)
        if streams is not None:
            gaps = gaps[gaps["stream"].isin(streams)]
        if gaps.empty:
            continue
        described = gaps.groupby(["device", "stream", "idle_category"], sort=False)["gap"].describe().round(2)
        described = described.reset_index(["device", "stream"]).drop(columns="device")
        described.insert(0, "rank", rank)
        parts.append(described)
    columns = ["rank", "stream", "count", "mean", "std", "min", "25%", "50%", "75%", "max"]
    if not parts:
        return pandas.DataFrame(columns=columns, index=pandas.Index([], name="idle_category"))
    return pandas.concat(parts)[columns]


def _gaps(events: pd.DataFrame, consecutive_kernel_delay: float) -> pd.DataFrame:
    """Every gap on every stream (us): from the latest end so far to the next start, never below 0."""
    import numpy as np

    work = events[events["is_gpu"] & events["stream"].ge(0)]
    work = work.sort_values(["device", "stream", "ts_ns"], kind="stable")
    tracks = work.groupby(["device", "stream"])
    # Whole numbers throughout: a float holds no nanosecond since 1970.
    first = tracks.cumcount().eq(0)
    busy_until = tracks["end_ns"].cummax().shift(fill_value=0)
    gaps, before_ns = work[~first], busy_until[~first]
    gap_ns = (gaps["ts_ns"] - before_ns).clip(lower=0)
    launched = gaps["launch"].ne(NONE)
    calls = events.loc[gaps.loc[launched, "launch"], "ts_ns"].to_numpy()
    host = launched.to_numpy(copy=True)
    host[host] = calls > before_ns[launched].to_numpy()
    short = gap_ns.to_numpy() < consecutive_kernel_delay * 1000
    category = np.select([host, short], CATEGORIES[:2], CATEGORIES[2])
    return gaps.assign(idle_category=category, gap=gap_ns / 1000)[
        ["device", "stream", "idle_category", "gap"]
    ]
