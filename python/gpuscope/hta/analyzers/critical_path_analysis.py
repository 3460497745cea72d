"""What would have to be faster for a step to be faster, weighed as HTA weighs it."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from gpuscope._lazy import need
from gpuscope.errors import InputError, UsageError

from .._derived import derived_name, marked, read_json, write_json
from .._units import us

if TYPE_CHECKING:
    import pandas as pd

    from gpuscope import Answer

    from ..common.trace import Trace


class CPEdgeType(Enum):
    """What a stretch of the path is."""

    OPERATOR_KERNEL = "critical_path_operator"
    DEPENDENCY = "critical_path_dependency"
    KERNEL_LAUNCH_DELAY = "critical_path_kernel_launch_delay"
    KERNEL_KERNEL_DELAY = "critical_path_kernel_kernel_delay"
    SYNC_DEPENDENCY = "critical_path_sync_dependency"


#: gpuscope's word for what holds the path up: HTA's, and what kind of edge it is. Copies are GPU work to HTA.
_BOUNDS = {
    "cpu": ("cpu_bound", CPEdgeType.OPERATOR_KERNEL),
    "gpu_compute": ("gpu_compute_bound", CPEdgeType.OPERATOR_KERNEL),
    "gpu_memcpy": ("gpu_compute_bound", CPEdgeType.OPERATOR_KERNEL),
    "gpu_comm": ("gpu_communication_bound", CPEdgeType.OPERATOR_KERNEL),
    "kernel_launch": ("gpu_kernel_launch_overhead", CPEdgeType.KERNEL_LAUNCH_DELAY),
    "kernel_kernel": ("gpu_kernel_kernel_overhead", CPEdgeType.KERNEL_KERNEL_DELAY),
    "data_loading": ("data_loading", CPEdgeType.OPERATOR_KERNEL),
    "sync": ("", CPEdgeType.SYNC_DEPENDENCY),
    "unknown": ("", CPEdgeType.DEPENDENCY),
}


class CPGraph:
    """The critical path of a window of one rank.

    HTA's is a graph of networkx that can be changed and solved again; ``gpuscope.Run.whatif`` replays a step
    with something different. ``data`` is everything that gpuscope says about the path, see
    ``Run.critical_path``.
    """

    def __init__(self, t: Trace, rank: int, question: dict[str, Any], data: dict[str, Any]) -> None:
        """Hold what was asked and what was answered."""
        self.t = t
        self.rank = rank
        self.question = question
        self.data = data

    @property
    def critical_path_nodes(self) -> list[int]:
        """The indices of the path's events, each as often as the path comes to it."""
        return [int(index) for index in self.get_critical_path_breakdown()["index"] if index >= 0]

    @property
    def critical_path_events_set(self) -> set[int]:
        """The indices of the path's events."""
        return set(self.critical_path_nodes)

    def summary(self) -> pd.Series:
        """The share of the path, in percent, that each bottleneck holds."""
        breakdown = self.get_critical_path_breakdown()
        shares = breakdown.groupby("bound_by")["duration"].sum()
        total = shares.sum()
        return shares * 100 / total if total else shares

    def get_critical_path_breakdown(self) -> pd.DataFrame:
        """Every stretch of the path: its length in microseconds, its event, what holds it up."""
        stretches = self.data["events"]
        loading = self.question.get("data_load_events") or ()
        events = self.t.all_events(self.rank)
        found = dict(
            zip(zip(events["name"].astype(str), events["ts_ns"], strict=True), events.index, strict=True)
        )
        indices = [found.get((stretch["name"], stretch["start_ns"]), -1) for stretch in stretches]
        rows = events[["cat", "pid", "tid", "stream", "is_gpu"]].reindex(indices)
        bounds = [_BOUNDS[_bound(stretch, loading)] for stretch in stretches]
        columns = {
            "event_idx": indices,
            "duration": [us(stretch["weight_ns"]) for stretch in stretches],
            "type": [edge.value for _, edge in bounds],
            "s_name": [stretch["name"] for stretch in stretches],
            "cat": rows["cat"].astype(object).where(rows["cat"].notna(), "").tolist(),
            "pid": rows["pid"].fillna(-1).astype("int64").tolist(),
            "tid": rows["tid"].fillna(-1).astype("int64").tolist(),
            "stream": rows["stream"].where(rows["is_gpu"].eq(True), -1).fillna(-1).astype("int64").tolist(),
            "index": indices,
            "bound_by": [bound for bound, _ in bounds],
        }
        return need("pandas", "gpuscope.hta").DataFrame(columns)

    def show_critical_path(self) -> None:
        """Print the path, one stretch per line."""
        for stretch in self.data["events"]:
            print(f"{us(stretch['weight_ns']):12.3f} us  {stretch['bound_by']:<13}  {stretch['name']}")

    def save(self, out_dir: str) -> str:
        """Write the path to a file in this folder, for :func:`restore_cpgraph`: as JSON, never a pickle."""
        folder = Path(out_dir).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"critical_path_rank{self.rank}.cpgraph.json.gz"
        write_json(target, {"rank": self.rank, "question": self.question, "data": self.data})
        return str(target)


def restore_cpgraph(zip_filename: str, t_full: Trace, rank: int) -> CPGraph:
    """The path that :meth:`CPGraph.save` wrote."""
    try:
        saved = read_json(Path(zip_filename).expanduser())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{zip_filename}: {error}; only files of CPGraph.save can be read") from error
    if not isinstance(saved, dict) or not {"question", "data"} <= saved.keys():
        raise InputError(f"{zip_filename}: this is not a file that CPGraph.save wrote")
    return CPGraph(t_full, rank, saved["question"], saved["data"])


def critical_path(
    t: Trace,
    rank: int,
    annotation: str,
    instance_id: int | tuple[int, int] | None,
    data_load_events: Sequence[str] | None = None,
) -> tuple[CPGraph, bool]:
    """The critical path of a window, and whether there is one."""
    question: dict[str, Any] = {"annotation": annotation, "instance": _instance(instance_id)}
    data: dict[str, Any] = {"events": [], "path": []}
    # An annotation that is not there is an error elsewhere; HTA answers that it found no path.
    with suppress(UsageError):
        data = _answer(t, rank, question).data
    found = bool(data["events"])
    if not found:
        warnings.warn(
            f"no critical path: rank {rank} has no annotation {annotation!r} number {question['instance']}",
            stacklevel=3,
        )
    return CPGraph(t, rank, question | {"data_load_events": list(data_load_events or ())}, data), found


def _answer(t: Trace, rank: int, question: dict[str, Any]) -> Answer:
    annotation, instance = question["annotation"], _instance(question["instance"])
    # Who names a stretch means all of it, be it the last step.
    whole = {} if annotation == "" else {"drop_last_step": False}
    return t.ask(rank, "critical_path", annotation=annotation, instance=instance, **whole)


def _instance(instance_id: int | Sequence[int] | None) -> int | tuple[int, int]:
    if isinstance(instance_id, Sequence):
        first, last = instance_id
        return first, last
    return instance_id or 0


def _bound(stretch: dict[str, Any], loading: Sequence[str]) -> str:
    bound = str(stretch["bound_by"])
    if bound == "cpu" and any(re.search(pattern, stretch["name"]) for pattern in loading):
        return "data_loading"
    return bound


def write_overlay(
    t: Trace, graph: CPGraph, output_dir: Path, only_show_critical_events: bool, show_all_edges: bool
) -> Path:
    """Write the trace with the path marked and arrows along it."""
    source = t.trace_files[graph.rank]
    target = output_dir / derived_name(source, prefix="overlaid_critical_path_")
    document = _marked(t, graph, output_dir)
    events: list[dict[str, Any]] = document["traceEvents"]
    if show_all_edges:
        events += _arrows(graph.data["path"], events)
    if only_show_critical_events:
        document["traceEvents"] = [event for event in events if _is_shown(event)]
    write_json(target, marked(document, source))
    return target


def _marked(t: Trace, graph: CPGraph, folder: Path) -> dict[str, Any]:
    """The trace with the events of the path marked, and arrows from track to track."""
    with TemporaryDirectory(dir=folder) as temporary:
        document = read_json(_answer(t, graph.rank, graph.question).save(Path(temporary) / "path.json.gz"))
    return cast("dict[str, Any]", document if isinstance(document, dict) else {"traceEvents": document})


def _is_shown(event: dict[str, Any]) -> bool:
    """Whether an event stays when only the path is shown: what surrounds it does, other work does not."""
    if event.get("ph") != "X" or event.get("cat") in ("user_annotation", "python_function"):
        return True
    return bool(event.get("args", {}).get("critical"))


def _arrows(path: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Arrows between neighbours on one thread or stream; those to other tracks are there already."""
    placed = [(stretch, events[stretch["element"]]) for stretch in path if stretch["element"] is not None]
    arrows: list[dict[str, Any]] = []
    for number, ((before, source), (after, target)) in enumerate(pairwise(placed)):
        track = {"pid": source.get("pid"), "tid": source.get("tid")}
        if track != {"pid": target.get("pid"), "tid": target.get("tid")}:
            continue
        flow = {"cat": "critical_path", "name": "critical_path", "id": f"step-{number}", **track}
        leaves = before["start_ns"] + max(before["dur_ns"] - 1, 0)
        arrows.append(flow | {"ph": "s", "ts": us(leaves)})
        arrows.append(flow | {"ph": "f", "bp": "e", "ts": us(after["start_ns"])})
    return arrows
