"""Which operators took the GPU's time, call by call and summed up."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import UsageError
from gpuscope.tracelens import jax_launchers, launcher_tables
from gpuscope.tracelens._kinds import arguments, gpu_kind
from gpuscope.tracelens.gpu_event_analyser import GPUEventAnalyser, span_ns
from gpuscope.tracelens.jax_gpu_event_analyser import JaxGPUEventAnalyser
from gpuscope.tracelens.trace_to_tree import Node, TraceToTree

if TYPE_CHECKING:
    import os

    import pandas as pd

ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
_GPUSCOPE_ARGUMENTS = ("input_dims", "input_types", "input_strides", "concrete_inputs")
UNKNOWN = "Unknown"


class TreePerfAnalyzer:
    """The GPU time of each operator call of a trace."""

    def __init__(
        self,
        tree: TraceToTree,
        *,
        jax: bool = False,
        add_python_func: bool = False,
        include_unlinked_kernels: bool = True,
    ) -> None:
        """Takes a call tree.

        GPU events without a known launch are GPU time like any other and count in the timeline; with
        ``include_unlinked_kernels=False`` they are left out, as TraceLens does unless told otherwise.
        """
        self.tree = tree
        self.jax = jax
        self.add_python_func = add_python_func
        self.include_unlinked_kernels = include_unlinked_kernels

    @classmethod
    def from_file(
        cls,
        profile_filepath: str | os.PathLike[str],
        *,
        jax: bool = False,
        add_python_func: bool = False,
        include_unlinked_kernels: bool = True,
    ) -> TreePerfAnalyzer:
        """Reads a trace: plain, gzip or zstd. ``jax`` says that it is one of JAX."""
        tree = TraceToTree(profile_filepath, add_python_func=add_python_func)
        return cls(
            tree, jax=jax, add_python_func=add_python_func, include_unlinked_kernels=include_unlinked_kernels
        )

    def get_df_gpu_timeline(self, micro_idle_thresh_us: float | None = None) -> pd.DataFrame:
        """Where the GPU's time went: ``type``, ``time ms``, ``percent``; for JAX, of each ``gpu_pid``."""
        if self.jax:
            return self._jax_timeline(micro_idle_thresh_us)
        if self.include_unlinked_kernels:
            return GPUEventAnalyser(self.tree.source, jax=False).get_breakdown_df(micro_idle_thresh_us)
        linked = [node for node in self.tree.gpu_events if node["parent"] is not None]
        return GPUEventAnalyser(linked, jax=False).get_breakdown_df(micro_idle_thresh_us)

    def get_kernel_launchers(self, include_nccl: bool = False) -> list[Node]:
        """Every call that put work on a GPU, in order of its start.

        A call is that of the innermost operator around the launch, or the launch itself if there is none, as
        with a graph. Each is its event of the trace, with ``total_direct_kernel_time`` (how long what it
        launched itself kept the GPU busy, in µs), ``total_subtree_kernel_time`` (the same with what operators
        below it launched), ``direct_kernel_count``, ``kernel_details`` and ``op category``. Communication is
        left out unless ``include_nccl``. Kernels of JAX stand for themselves.
        """
        if self.jax:
            return jax_launchers.launchers(self.tree.source.events, include_nccl)
        direct: dict[int, list[Node]] = defaultdict(list)
        for kernel in self.tree.gpu_events:
            if kernel["parent"] is not None and (include_nccl or gpu_kind(kernel) != "communication"):
                direct[self.tree.owners[kernel["parent"]]].append(kernel)
        calls = [self._launcher(self.tree.get_UID2event(uid), kernels) for uid, kernels in direct.items()]
        return sorted(calls, key=lambda call: (span_ns(call)[0], call["UID"]))

    def get_df_kernel_launchers(
        self, id_cols: bool = False, include_kernel_details: bool = False, include_nccl: bool = False
    ) -> pd.DataFrame:
        """The calls of :meth:`get_kernel_launchers` as a frame, a row for each."""
        rows = [
            self._row(call, id_cols, include_kernel_details)
            for call in self.get_kernel_launchers(include_nccl)
        ]
        columns = _columns(id_cols, include_kernel_details)
        return need("pandas", "get_df_kernel_launchers").DataFrame(rows, columns=columns)

    @staticmethod
    def get_df_kernel_launchers_summary(df_kernel_launchers: pd.DataFrame) -> pd.DataFrame:
        """GPU time by the name of operators, largest first."""
        return launcher_tables.by_name(df_kernel_launchers)

    @staticmethod
    def get_df_kernel_launchers_summary_by_category(df_kernel_launchers: pd.DataFrame) -> pd.DataFrame:
        """GPU time by sorts of operators, largest first."""
        return launcher_tables.by_category(df_kernel_launchers)

    @staticmethod
    def get_df_kernel_launchers_unique_args(
        df_kernel_launchers: pd.DataFrame,
        event_name: str | None = None,
        agg_metrics: Sequence[str] = ("mean",),
        include_pct: bool = False,
    ) -> pd.DataFrame:
        """GPU time by operators with the same shapes, types, strides and values, largest first."""
        return launcher_tables.by_arguments(df_kernel_launchers, event_name, agg_metrics, include_pct)

    def _launcher(self, event: Node, kernels: list[Node]) -> Node:
        return {
            **event,
            "op category": self._category(event),
            "total_direct_kernel_time": self.tree.busy_ns(kernels) / 1000,
            "total_subtree_kernel_time": self.tree.busy_ns(self.tree.get_gpu_events(event)) / 1000,
            "direct_kernel_count": len(kernels),
            "kernel_details": [
                {
                    "name": kernel["name"],
                    "dur": kernel["dur"],
                    "stream": arguments(kernel).get("stream"),
                }
                for kernel in kernels
            ],
        }

    def _row(self, call: Node, id_cols: bool, include_kernel_details: bool) -> dict[str, Any]:
        args = arguments(call)
        process, thread = self._tracks.get((call.get("pid"), None), {}), (call.get("pid"), call.get("tid"))
        row = {
            "name": call["name"],
            "op category": call["op category"],
            "UID": call["UID"],
            "process_name": process.get("process_name", _attached(call, "process")),
            "process_label": process.get("process_labels", UNKNOWN),
            "thread_name": self._tracks.get(thread, {}).get("thread_name", _attached(call, "thread")),
            "total_direct_kernel_time": call["total_direct_kernel_time"],
            "total_subtree_kernel_time": call["total_subtree_kernel_time"],
            "direct_kernel_count": call["direct_kernel_count"],
            **{name: _as_tuples(args.get(name)) for name in ARGUMENTS},
        }
        if id_cols:
            row |= {"pid": call.get("pid"), "tid": call.get("tid"), "external_id": args.get("External id")}
        if include_kernel_details:
            row["kernel_details"] = call["kernel_details"]
        return row

    @cached_property
    def _tracks(self) -> dict[tuple[Any, Any], dict[str, str]]:
        """Names of processes, under ``(pid, None)``, and of threads."""
        tracks: dict[tuple[Any, Any], dict[str, str]] = defaultdict(dict)
        for event in self.tree.events:
            if event.get("ph") == "M" and isinstance(event.get("name"), str):
                args = arguments(event)
                tid = event.get("tid") if event["name"].startswith("thread_") else None
                tracks[event.get("pid"), tid][event["name"]] = args.get("name", args.get("labels", UNKNOWN))
        return tracks

    def _category(self, event: Node) -> str:
        args = arguments(event)
        by_arguments = self._categories.get(_key(event["name"], [args.get(name) for name in ARGUMENTS]))
        return by_arguments or self._categories.get(event["name"], "other")

    @cached_property
    def _categories(self) -> dict[str, str]:
        """Sorts of operators as gpuscope tells them, by name and arguments and by name alone."""
        categories: dict[str, str] = {}
        for row in self.tree.source.opened.ops(by="args").data["ops"]:
            categories.setdefault(row["name"], row["category"])
            categories[_key(row["name"], [row.get(name) for name in _GPUSCOPE_ARGUMENTS])] = row["category"]
        return categories

    def _jax_timeline(self, micro_idle_thresh_us: float | None) -> pd.DataFrame:
        frames = JaxGPUEventAnalyser(self.tree.source).get_breakdown_df_multigpu(
            micro_idle_thresh_us=micro_idle_thresh_us
        )
        if not frames:
            raise UsageError("No GPU events found in the trace")
        parts = [frame.assign(gpu_pid=index + 1) for index, frame in sorted(frames.items())]
        return need("pandas", "get_df_gpu_timeline").concat(parts, ignore_index=True)


def _columns(id_cols: bool, include_kernel_details: bool) -> list[str]:
    columns = ["name", "op category", "UID", "process_name", "process_label", "thread_name"]
    columns += ["total_direct_kernel_time", "total_subtree_kernel_time", "direct_kernel_count", *ARGUMENTS]
    columns += ["pid", "tid", "external_id"] if id_cols else []
    return columns + (["kernel_details"] if include_kernel_details else [])


def _attached(call: Node, track: str) -> str:
    """Give the name of a process or thread as events of an opened trace have it."""
    names = call.get(track)
    return str(names.get(f"{track}_name", UNKNOWN)) if isinstance(names, dict) else UNKNOWN


def _key(name: str, arguments: list[Any]) -> str:
    return json.dumps([name, arguments], separators=(",", ":"))


def _as_tuples(value: Any) -> Any:
    """Lists as tuples, which frames can group by."""
    return tuple(_as_tuples(part) for part in value) if isinstance(value, list) else value
