"""The events of one rank as a data frame in nanoseconds, with the step that each belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuscope._lazy import need

if TYPE_CHECKING:
    import pandas as pd

    from gpuscope import Rank

NONE = -1
#: Neither work nor operators: nobody counts these when traces are compared.
NOT_COMPARED = ["Trace", "gpu_user_annotation", "cuda_sync", "cuda_profiler_range"]

_OPTIONAL_NUMBERS = ("pid", "tid", "device", "stream", "correlation", "launch", "parent")


def load(rank: Rank, args: bool = False) -> pd.DataFrame:
    """All duration events in file order, under their index in the file.

    ``launch`` is the index of the call that put a GPU event there, ``parent`` that of the host event around
    it, ``step`` the number of the profiler step; -1 is none. ``is_gpu`` marks kernels, copies and memory
    sets.
    """
    pandas = need("pandas", "gpuscope.hta")

    table = rank.events(args=args)
    events = table.to_pandas()
    if events["ts_ns"].dtype.kind == "f":
        # Events without a time make it a column of floats, which hold no nanosecond since 1970.
        events["ts_ns"] = pandas.array(table["ts_ns"], dtype="Int64")
    events = events[events["dur_ns"].notna() & events["ts_ns"].notna()].set_index("index", drop=False)
    events.index.name = None
    events["ts_ns"] = events["ts_ns"].astype("int64")
    events["dur_ns"] = events["dur_ns"].astype("int64").clip(lower=0)
    events["end_ns"] = events["ts_ns"] + events["dur_ns"]
    events["is_gpu"] = events["kind"].notna()
    for column in _OPTIONAL_NUMBERS:
        events[column] = events[column].fillna(NONE).astype("int64")
    events["step"] = _steps(events)
    return events


def profiler_steps(events: pd.DataFrame) -> pd.DataFrame:
    """The profiler's steps by start: ``number``, ``ts_ns``, ``end_ns``."""
    annotations = events[events["cat"].eq("user_annotation")]
    numbers = annotations["name"].astype(str).str.extract(r"^ProfilerStep\s*#\s*(\d+)", expand=False)
    steps = annotations.assign(number=numbers)[numbers.notna()].sort_values("ts_ns", kind="stable")
    return steps[["number", "ts_ns", "end_ns"]].astype("int64")


def without_last_step(events: pd.DataFrame) -> pd.DataFrame:
    """What is left without the last step: its GPU work may have been cut off."""
    steps = profiler_steps(events)
    if len(steps) < 2:
        return events
    return events[_issued(events) < int(steps["ts_ns"].iloc[-1])]


def _issued(events: pd.DataFrame) -> pd.Series:
    """When the host began each event: GPU work with its launch, everything else by itself."""
    launched = events["launch"].ne(NONE)
    issued = events["ts_ns"].copy()
    issued[launched] = events["ts_ns"].loc[events.loc[launched, "launch"]].to_numpy()
    return issued


def _steps(events: pd.DataFrame) -> pd.Series:
    import numpy as np

    pandas = need("pandas", "gpuscope.hta")

    steps = profiler_steps(events)
    if steps.empty:
        return pandas.Series(NONE, index=events.index, dtype="int64")
    issued = _issued(events).to_numpy()
    place = np.searchsorted(steps["ts_ns"].to_numpy(), issued, side="right") - 1
    inside = (place >= 0) & (issued < steps["end_ns"].to_numpy()[place])
    # GPU work without a known launch may have been issued at any time.
    inside &= (events["launch"].ne(NONE) | ~events["is_gpu"]).to_numpy()
    return pandas.Series(np.where(inside, steps["number"].to_numpy()[place], NONE), index=events.index)
