"""All-to-alls in which every pair of ranks exchanges a size of its own, as experts' routing does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.tracelens._collectives import MEGABYTE, Collective, Part

if TYPE_CHECKING:
    import pandas as pd


def collectives(uneven: Sequence[Collective], detailed: bool) -> pd.DataFrame | None:
    """A row for each, the most data first."""
    if not uneven:
        return None
    frame: pd.DataFrame = need("pandas", "NcclAnalyser").DataFrame([_row(each, detailed) for each in uneven])
    of_ranks = [column for column in frame.columns if column.startswith("rank_")]
    frame = frame[[column for column in frame.columns if column not in of_ranks] + of_ranks]
    return frame.sort_values("total data communicated (MB)", ascending=False, kind="stable")


def summary(uneven: Sequence[Collective], agg_metrics: Sequence[str]) -> pd.DataFrame | None:
    """A row for each process group and type, the longest first."""
    frame = collectives(uneven, detailed=False)
    if frame is None:
        return None
    columns: dict[str, Any] = {}
    for name in ("total data communicated (MB)", "wall_time (us)", "throughput (GB/s)"):
        columns |= {f"{name}_{how}": (name, how) for how in agg_metrics}
        if name == "wall_time (us)":
            columns["Total wall_time (us)"] = (name, "sum")
    for name in ("size_imbalance", "max_rank_dur (us)", "skew in start time", "skew in end time"):
        columns |= {f"{name}_{how}": (name, how) for how in ("mean", "max")}
    columns["count"] = ("collective_id", "size")
    columns |= {name: (name, "first") for name in ("Process Group Ranks", "Collective name", "Group size")}
    table = frame.groupby(["Process Group Name", "dtype"], dropna=False).agg(**columns)
    table["Total wall_time (ms)"] = table["Total wall_time (us)"] / 1000
    return table.sort_values("Total wall_time (ms)", ascending=False, kind="stable").reset_index()


def heatmap(uneven: Sequence[Collective]) -> pd.DataFrame | None:
    """A row for each pair of ranks that exchanged anything, as far as sizes are recorded."""
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    for collective in uneven:
        for part in collective.parts:
            sizes, width = _split_sizes(part), part.element_bytes
            if width is not None:
                for receiver, count in zip(_members(part, len(sizes)), sizes, strict=True):
                    sent[part.rank, receiver].append(count * width)
    if not sent:
        return None
    rows = [
        {
            "src_rank": source,
            "dst_rank": receiver,
            "total_sent_MB": sum(sizes) / MEGABYTE,
            "avg_sent_MB": _mean(sizes) / MEGABYTE,
            "count": len(sizes),
        }
        for (source, receiver), sizes in sorted(sent.items())
    ]
    return need("pandas", "NcclAnalyser").DataFrame(rows)


def _row(collective: Collective, detailed: bool) -> dict[str, Any]:
    parts = collective.parts
    first = parts[0]
    starts, ends = [part.start_ns for part in parts], [part.start_ns + part.dur_ns for part in parts]
    durations = [part.dur_ns / 1000 for part in parts]
    sizes = [part.megabytes("In") or 0.0 for part in parts]
    wall_ns = max(ends) - min(starts)
    rates = [
        size * MEGABYTE / part.dur_ns
        for size, part in zip(sizes, parts, strict=True)
        if size and part.dur_ns > 0
    ]
    row = {
        "collective_id": collective.id,
        "Process Group Name": collective.group,
        "Process Group Ranks": first.args.get("Process Group Ranks"),
        "Collective name": collective.name,
        "Group size": first.args.get("Group size"),
        "dtype": first.args.get("dtype"),
        "stream": first.args.get("stream"),
        "total data communicated (MB)": sum(sizes),
        "total nelems communicated": sum(part.args.get("In msg nelems") or 0 for part in parts),
        "wall_time (us)": wall_ns / 1000,
        "max_rank_dur (us)": max(durations),
        "min_rank_dur (us)": min(durations),
        "avg_rank_dur (us)": _mean(durations),
        "throughput (GB/s)": sum(sizes) * MEGABYTE / wall_ns if wall_ns else None,
        "max_rank_throughput (GB/s)": max(rates, default=None),
        "min_rank_throughput (GB/s)": min(rates, default=None),
        "size_imbalance": max(sizes) / _mean(sizes) if any(sizes) else None,
        "skew in start time": (max(starts) - min(starts)) / 1000,
        "skew in end time": (max(ends) - min(ends)) / 1000,
    }
    if detailed:
        for part in parts:
            row |= _of_rank(part, min(starts), max(ends))
    return row


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _of_rank(part: Part, first_start: int, last_end: int) -> dict[str, Any]:
    columns = {
        "ts": part.start_ns / 1000,
        "dur": part.dur_ns / 1000,
        "In msg nelems": part.args.get("In msg nelems"),
        "Out msg nelems": part.args.get("Out msg nelems"),
        "In msg size (MB)": part.megabytes("In"),
        "Out msg size (MB)": part.megabytes("Out"),
        "In split size": part.args.get("In split size"),
        "Out split size": part.args.get("Out split size"),
        "skew in start time": (part.start_ns - first_start) / 1000,
        "skew in end time": (last_end - part.start_ns - part.dur_ns) / 1000,
    }
    return {f"rank_{part.rank}_{name}": value for name, value in columns.items()}


def _split_sizes(part: Part) -> list[int]:
    """How many elements went to each member; empty if that is not recorded for all of them."""
    sizes = _numbers(part.args.get("In split size"))
    members = part.args.get("Group size")
    return sizes if members is None or len(sizes) == members else []


def _members(part: Part, count: int) -> list[int]:
    """The ranks of the group; their places in it if the group does not say."""
    ranks = _numbers(part.args.get("Process Group Ranks"))
    return ranks if len(ranks) == count else list(range(count))


def _numbers(value: Any) -> list[int]:
    """A list of numbers, or the text of one: traces have both."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [int(number) for number in value] if isinstance(value, (list, tuple)) else []
