"""Collectives over all ranks: waiting and transfer, sizes, bandwidth, and who came late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import UsageError
from gpuscope.run import Run
from gpuscope.run import open as open_traces
from gpuscope.tracelens import all_to_all_v
from gpuscope.tracelens._collectives import MEGABYTE, Collective, matched

if TYPE_CHECKING:
    import os

    import pandas as pd

# Kernels that are collectives although nothing about them is recorded.
DEFAULT_CUSTOM_COLLECTIVE_PATTERNS: Sequence[tuple[str, str]] = (("cross_device_reduce", "allreduce"),)

_LONG_GROUPS = (
    "rank",
    "Process Group Name",
    "Process Group Ranks",
    "Collective name",
    "Group size",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "In split size",
    "Out split size",
    "stream",
)
_SYNC_GROUPS = ["Collective name", "dtype", "In msg nelems"]
_SYNC_METRICS = ("comm_latency", "skew in start time", "skew in end time", "algo bw (GB/s)", "bus bw (GB/s)")


class NcclAnalyser:
    """The collectives of a job, from one trace per rank.

    Ranks are those that the files say, else their place in the list. Collectives are matched over the ranks
    by their recorded sequence numbers, else by their order. Times are in µs, MB are 10⁶ bytes and GB/s are
    10⁹ bytes a second.
    """

    def __init__(
        self,
        list_profile_filepaths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | Run,
        world_size: int | None = None,
        use_multiprocessing: bool = False,
        max_workers: int | None = None,
        custom_collective_patterns: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        """Takes a trace per rank, which are read when a table is first asked for.

        ``custom_collective_patterns`` are pairs of a regular expression and the collective that kernels are
        whose name matches it, if nothing about them is recorded. ``use_multiprocessing`` and ``max_workers``
        are accepted for the sake of existing programs; files are read in parallel anyway.
        """
        self._given = list_profile_filepaths
        self._world_size = world_size
        self._patterns = (
            DEFAULT_CUSTOM_COLLECTIVE_PATTERNS
            if custom_collective_patterns is None
            else custom_collective_patterns
        )

    @cached_property
    def run(self) -> Run:
        """The traces as gpuscope opened them."""
        if isinstance(self._given, Run):
            return self._given
        if not self._given:
            raise UsageError("there are no collectives without traces: pass one file for each rank")
        return open_traces(self._given)

    @property
    def world_size(self) -> int:
        """The number of ranks of the job: as given, else of those that are here."""
        return len(self.run.ranks) if self._world_size is None else self._world_size

    def build_df_long(self) -> pd.DataFrame:
        """A row for what each rank did in each collective."""
        rows = [
            {
                "collective_id": collective.id,
                "index_in_group": collective.index,
                "rank": part.rank,
                "Process Group Name": collective.group,
                "Process Group Ranks": part.args.get("Process Group Ranks"),
                "Collective name": collective.name,
                "Group size": part.args.get("Group size"),
                "dtype": part.args.get("dtype"),
                "In msg nelems": part.args.get("In msg nelems"),
                "In msg size (MB)": part.megabytes("In"),
                "Out msg nelems": part.args.get("Out msg nelems"),
                "Out msg size (MB)": part.megabytes("Out"),
                "In split size": part.args.get("In split size"),
                "Out split size": part.args.get("Out split size"),
                "stream": part.args.get("stream"),
                "ts": part.start_ns / 1000,
                "dur": part.dur_ns / 1000,
            }
            for collective in self._collectives
            for part in collective.parts
        ]
        frame: pd.DataFrame = need("pandas", "NcclAnalyser").DataFrame(rows)
        return frame.sort_values(["rank", "ts"], kind="stable", ignore_index=True) if rows else frame

    def build_df_summary_long(
        self,
        agg_metrics: Sequence[str] = ("mean", "std", "min", "max"),
        group_by_cols: Sequence[str] = _LONG_GROUPS,
        include_count: bool = True,
    ) -> pd.DataFrame:
        """How long collectives of the same sort and size took on each rank, the largest sum first."""
        parts = self.build_df_long()
        if parts.empty:
            return parts
        columns: dict[str, Any] = {
            "In msg size (MB)_first": ("In msg size (MB)", "first"),
            "Out msg size (MB)_first": ("Out msg size (MB)", "first"),
            **{f"dur_{metric}": ("dur", metric) for metric in dict.fromkeys(["sum", *agg_metrics])},
        }
        if include_count:
            columns["operation_count"] = ("collective_id", "size")
        # Collectives about which nothing is recorded are communication too.
        summary = parts.groupby(list(group_by_cols), dropna=False).agg(**columns)
        return summary.sort_values("dur_sum", ascending=False, kind="stable").reset_index()

    def build_df_nccl_implicit_sync_cat(
        self, detailed: bool = False, strict_metadata_check: bool = True
    ) -> pd.DataFrame:
        """A row for each collective in which all wait for all; ``detailed`` adds each rank's times.

        ``comm_latency`` is the shortest duration over the ranks: the transfer without the waiting. Only parts
        that fit together are matched, so there is nothing for ``strict_metadata_check`` to find.
        """
        rows = [_sync_row(collective, detailed) for collective in self._synchronising]
        frame: pd.DataFrame = need("pandas", "NcclAnalyser").DataFrame(rows)
        of_ranks = [column for column in frame.columns if column.startswith("rank_")]
        waits = [column for column in of_ranks if column.endswith("_wait_time")]
        others = [column for column in of_ranks if column not in waits]
        return frame[[column for column in frame.columns if column not in of_ranks] + others + waits]

    def build_df_summary_nccl_implicit_sync_cat(
        self,
        agg_metrics: Sequence[str] = ("mean", "std"),
        metadata_fields: Sequence[str] = ("Process Group Name", "Group size", "Full msg size (MB)"),
        strict_metadata_check: bool = True,
    ) -> pd.DataFrame:
        """The same summed up by name, type and size, the largest transfer first."""
        collectives = self.build_df_nccl_implicit_sync_cat()
        if collectives.empty:
            return collectives
        columns: dict[str, Any] = {name: (name, "first") for name in metadata_fields if name in collectives}
        for metric in _SYNC_METRICS:
            if collectives[metric].notna().any():
                columns |= {f"{metric}_{how}": (metric, how) for how in agg_metrics}
        columns |= {"count": ("comm_latency", "size"), "Total comm latency (ms)": ("comm_latency", "sum")}
        keys = {
            key: collectives[key].astype(object).where(collectives[key].notna(), "Unknown")
            for key in _SYNC_GROUPS
        }
        summary = collectives.assign(**keys).groupby(_SYNC_GROUPS).agg(**columns)
        summary["Total comm latency (ms)"] /= 1000
        return summary.sort_values("Total comm latency (ms)", ascending=False, kind="stable").reset_index()

    def build_df_straggler_summary(self, strict_metadata_check: bool = True) -> pd.DataFrame:
        """How long each rank waited for the others, the shortest first: that rank is the late one."""
        pandas = need("pandas", "NcclAnalyser")
        if not self._synchronising:
            return pandas.DataFrame()
        parts = self.build_df_long()
        busy = parts.groupby("rank")["dur"].sum()
        rows = [_straggler_row(rank, self._synchronising, busy[rank]) for rank in sorted(set(parts["rank"]))]
        return pandas.DataFrame(rows).sort_values("total_wait_time_us", kind="stable", ignore_index=True)

    def build_df_nccl_all2allv(
        self, detailed: bool = False, strict_metadata_check: bool = True
    ) -> pd.DataFrame | None:
        """A row for each all-to-all of uneven sizes, the largest first; ``None`` if there is none."""
        return all_to_all_v.collectives(self._uneven, detailed)

    def build_df_summary_nccl_all2allv(
        self, agg_metrics: Sequence[str] = ("mean", "std", "min", "max"), strict_metadata_check: bool = True
    ) -> pd.DataFrame | None:
        """The same summed up by process group and type; ``None`` if there is none."""
        return all_to_all_v.summary(self._uneven, agg_metrics)

    def build_df_all2allv_heatmap(self, strict_metadata_check: bool = True) -> pd.DataFrame | None:
        """What each rank sent to each other in all-to-alls of uneven sizes; ``None`` if there is none."""
        return all_to_all_v.heatmap(self._uneven)

    @cached_property
    def _collectives(self) -> list[Collective]:
        return matched(self.run, self._patterns)

    @property
    def _synchronising(self) -> list[Collective]:
        return [collective for collective in self._collectives if collective.sort not in {None, "alltoallv"}]

    @property
    def _uneven(self) -> list[Collective]:
        return [collective for collective in self._collectives if collective.sort == "alltoallv"]


def _sync_row(collective: Collective, detailed: bool) -> dict[str, Any]:
    found, first = collective.found, collective.parts[0]
    row = {
        "collective_id": collective.id,
        "Process Group Name": collective.group,
        "Process Group Ranks": first.args.get("Process Group Ranks"),
        "Collective name": collective.name,
        "Group size": found["group_size"],
        "dtype": first.args.get("dtype"),
        "In msg nelems": first.args.get("In msg nelems"),
        "Out msg nelems": first.args.get("Out msg nelems"),
        "In msg size (MB)": first.megabytes("In"),
        "Out msg size (MB)": first.megabytes("Out"),
        "Full msg size (MB)": None if found["size_bytes"] is None else found["size_bytes"] / MEGABYTE,
        "comm_latency": found["latency_ns"] / 1000,
        "skew in start time": found["skew_start_ns"] / 1000,
        "earliest arrival rank": found["first_rank"],
        "avg_wait_time": sum(part.wait_ns for part in collective.parts) / len(collective.parts) / 1000,
        "skew in end time": found["skew_end_ns"] / 1000,
        "algo bw (GB/s)": found["algo_gb_per_s"],
        "bus bw (GB/s)": found["bus_gb_per_s"],
    }
    if detailed:
        for part in collective.parts:
            row[f"rank_{part.rank}_ts"] = part.start_ns / 1000
            row[f"rank_{part.rank}_dur"] = part.dur_ns / 1000
            row[f"rank_{part.rank}_wait_time"] = part.wait_ns / 1000
    return row


def _straggler_row(rank: int, collectives: Sequence[Collective], total_us: float) -> Mapping[str, Any]:
    waits = [
        part.wait_ns / 1000 for collective in collectives for part in collective.parts if part.rank == rank
    ]
    last = sum(
        min(collective.parts, key=lambda part: part.wait_ns).rank == rank for collective in collectives
    )
    return {
        "rank": rank,
        "total_wait_time_us": round(sum(waits), 1),
        "mean_wait_time_us": round(sum(waits) / len(waits), 1) if waits else 0.0,
        "times_arrived_last": last,
        "times_arrived_first": sum(collective.found["first_rank"] == rank for collective in collectives),
        "pct_arrived_last": round(100 * last / len(collectives), 1),
        "num_collectives": len(collectives),
        "total_nccl_dur_us": round(total_us, 1),
    }
