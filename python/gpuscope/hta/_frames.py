"""Events in the form of HTA's data frames: microseconds since the first one, names as numbers, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuscope._lazy import need

from ._events import NONE

if TYPE_CHECKING:
    import pandas as pd

    from .common.trace_symbol_table import TraceSymbolTable

#: HTA's name of a column, gpuscope's, and what stands for a missing value.
_ARGUMENTS: tuple[tuple[str, str, int | float | str], ...] = (
    ("bytes", "bytes", -1),
    ("memory_bw_gbps", "memory_bandwidth_gb_s", 0.0),
    ("wait_on_stream", "wait_on_stream", -1),
    ("wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_record_corr_id", -1),
    ("input_dims", "input_dims", "-1"),
    ("input_type", "input_type", "-1"),
    ("input_strides", "input_strides", "-1"),
    ("external_id", "external_id", -1),
    ("python_id", "python_id", -1),
    ("python_parent_id", "python_parent_id", -1),
    ("collective_name", "collective_name", ""),
    ("in_msg_nelems", "in_msg_nelems", 0),
    ("out_msg_nelems", "out_msg_nelems", 0),
    ("msg_dtype", "dtype", ""),
    ("group_size", "group_size", 0),
    ("process_rank", "rank", -1),
    ("in_split_size", "in_split_size", "[]"),
    ("out_split_size", "out_split_size", "[]"),
)


def trace_frame(events: pd.DataFrame, start_ns: int, symbols: TraceSymbolTable) -> pd.DataFrame:
    """The events of a rank with HTA's columns, under the index of each event in its file."""
    pandas = need("pandas", "gpuscope.hta")

    events = events[events["cat"].ne("Trace")]
    # Synchronisation has a stream in HTA's frames too. Host operators that name one do not run there.
    on_stream = events["is_gpu"] | events["cat"].eq("cuda_sync")
    frame = pandas.DataFrame(
        {
            "index": events["index"].astype("int64"),
            "cat": symbols.encode(events["cat"]),
            "name": symbols.encode(events["name"]),
            "pid": events["pid"],
            "tid": events["tid"],
            "ts": (events["ts_ns"] - start_ns) / 1000,
            "dur": events["dur_ns"] / 1000,
            "end": (events["end_ns"] - start_ns) / 1000,
            "stream": events["stream"].where(on_stream, NONE),
            "correlation": events["correlation"],
        }
    )
    for name, source, missing in _ARGUMENTS:
        frame[name] = events[source].astype(object).fillna(missing) if source in events else missing
        if not isinstance(missing, str):
            frame[name] = frame[name].astype(type(missing))
    frame["index_correlation"] = _links(events)
    frame["iteration"] = events["step"]
    return frame


def _links(events: pd.DataFrame) -> pd.Series:
    """Of a GPU event the index of its launch, of a launch that of the last event it put there; -1 for none.

    HTA says 0 for "not linked" where there is a correlation, and 0 is an index too.
    """
    links = events["launch"].copy()
    launched = links[links.ne(NONE)]
    links.loc[launched.to_numpy()] = launched.index.to_numpy()
    return links
