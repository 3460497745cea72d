"""Which annotation of the GPU each kernel ran under."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gpuscope._lazy import need

from .._events import NONE
from ..utils.utils import shorten_name

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

_CATEGORY = "gpu_user_annotation"


def kernels_with_user_annotations(
    t: Trace, rank: int, expand_names: bool, shorten_names: bool
) -> pd.DataFrame | None:
    """The GPU events of a rank with the annotation on their stream; ``None`` if there are no annotations."""
    events = t.events(rank)
    # The GPU runs behind: what a step launched may lie under annotations that begin after its end.
    everything = t.all_events(rank)
    annotations = everything[everything["cat"].eq(_CATEGORY)]
    if annotations.empty:
        return None
    work = events[events["is_gpu"]]
    frame = t.get_trace(rank).loc[work.index].sort_values("ts", kind="stable")
    names = _around(annotations, work).reindex(frame.index)
    numbers = t.symbol_table.get_sym_id_map()
    frame["user_annotation"] = names.map(numbers).fillna(NONE).astype("int64")
    if expand_names:
        decoded = t.symbol_table.decode(frame["name"])
        frame["s_name"] = decoded.map(shorten_name) if shorten_names else decoded
        frame["s_cat"] = t.symbol_table.decode(frame["cat"])
        frame["s_user_annotation"] = names.fillna("")
    return frame.reset_index(drop=True)


def _around(annotations: pd.DataFrame, work: pd.DataFrame) -> pd.Series:
    """By index of a GPU event, the annotation on its track that holds its start, the last to begin."""
    pandas = need("pandas", "gpuscope.hta")

    begun: defaultdict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    ordered = annotations.sort_values(["ts_ns", "dur_ns"], ascending=[True, False], kind="stable")
    tracks = zip(ordered["pid"], ordered["tid"], strict=True)
    spans = zip(ordered["ts_ns"], ordered["end_ns"], ordered["name"].astype(str), strict=True)
    for track, span in zip(tracks, spans, strict=True):
        begun[track].append(span)
    found: dict[int, str] = {}
    for track, events in work.sort_values("ts_ns", kind="stable").groupby(["pid", "tid"]):
        waiting = iter(begun.get((int(track[0]), int(track[1])), []))
        following = next(waiting, None)
        running: list[tuple[int, str]] = []
        for index, start in zip(events.index, events["ts_ns"], strict=True):
            while following is not None and following[0] <= start:
                running.append((following[1], following[2]))
                following = next(waiting, None)
            # Those that ended go; with several running, the one that began last is at the end.
            running = [annotation for annotation in running if annotation[0] > start]
            if running:
                found[index] = running[-1][1]
    return pandas.Series(found, dtype=object)
