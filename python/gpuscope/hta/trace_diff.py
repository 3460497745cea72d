"""What changed from one set of traces to another: operators and kernels, how often and how long."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from gpuscope._files import write_bytes, write_text
from gpuscope._lazy import need
from gpuscope.errors import UsageError

from . import _figures
from ._events import NONE, NOT_COMPARED
from .common.trace import Trace
from .utils.utils import shorten_name

if TYPE_CHECKING:
    import pandas as pd

    Numbers = int | Sequence[int]


class DeviceType(Enum):
    """Which events to compare."""

    CPU = 1
    GPU = 2
    ALL = 3


class LabeledTrace:
    """Traces under a name, which becomes part of the names of columns.

    All steps of a folder count, the last one included; open traces count as they were opened.
    """

    def __init__(
        self,
        label: str | None = None,
        t: Trace | None = None,
        trace_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        """Take open traces, or read those of a folder."""
        if t is None and trace_dir is None:
            raise UsageError("LabeledTrace needs traces: pass t=, a Trace, or trace_dir=, a folder")
        self.label = label or "trace"
        self.t = t if t is not None else Trace(trace_dir=trace_dir)
        if t is None:
            self.t.parse_traces()

    def ranks(self) -> list[int]:
        """The numbers of the ranks."""
        return self.t.get_ranks()

    def iterations(self) -> list[int]:
        """The numbers of the profiler's steps, of any rank."""
        return sorted({step for rank in self.ranks() for step in self.t.get_iterations(rank)})

    def extract_ops(
        self,
        rank: Numbers | None = None,
        iteration: Numbers | None = None,
        device_type: DeviceType = DeviceType.ALL,
    ) -> pd.DataFrame:
        """The events of some ranks, steps and devices, in the form of ``t.get_trace``.

        By default those of the first rank and the first step; a trace without steps counts as one.
        """
        pandas = need("pandas", "gpuscope.hta")

        parts = {}
        for number in _chosen(rank, self.ranks(), f"{self.label}: rank"):
            kept = self._compared(number, iteration, device_type)
            parts[number] = self.t.get_trace(number).loc[kept.index]
        return (
            next(iter(parts.values()))
            if len(parts) == 1
            else pandas.concat(parts, names=["rank", "idx"]).reset_index()
        )

    def get_ops_summary(self, ops: pd.DataFrame) -> pd.DataFrame:
        """How often each name of each category occurs among events, and how long that took (us)."""
        groups = ops.groupby(["cat", "name"])["dur"].agg(counts="count", total_duration="sum").reset_index()
        summary = groups.rename(columns={"cat": "cat_id", "name": "name_id"})
        summary["cat"] = self.t.symbol_table.decode(summary["cat_id"])
        summary["name"] = self.t.symbol_table.decode(summary["name_id"])
        summary["short_name"] = summary["name"].map(shorten_name)
        return summary[["cat", "name", "short_name", "counts", "total_duration", "cat_id", "name_id"]]

    def totals(
        self, rank: Numbers | None, iteration: Numbers | None, device_type: DeviceType, use_short_name: bool
    ) -> pd.DataFrame:
        """``counts`` and ``total_duration`` (us) by name. Added up in nanoseconds, so that sums are exact."""
        pandas = need("pandas", "gpuscope.hta")

        numbers = _chosen(rank, self.ranks(), f"{self.label}: rank")
        kept = pandas.concat([self._compared(number, iteration, device_type) for number in numbers])
        names = kept["name"].astype(str)
        key = names.map(shorten_name).rename("short_name") if use_short_name else names.rename("name")
        totals = kept["dur_ns"].groupby(key).agg(counts="count", total_duration="sum")
        return totals.assign(total_duration=totals["total_duration"] / 1000)

    def _compared(self, rank: int, iteration: Numbers | None, device_type: DeviceType) -> pd.DataFrame:
        """Work of the GPU and events of the host, without synchronisation and annotations of the GPU."""
        events = self.t.events(rank)
        wanted = events["is_gpu"] if device_type is DeviceType.GPU else ~events["cat"].isin(NOT_COMPARED)
        if device_type is DeviceType.CPU:
            wanted &= ~events["is_gpu"]
        if self.iterations() or iteration is not None:
            steps = _chosen(iteration, self.iterations(), f"{self.label}: iteration")
            wanted &= events["step"].isin(steps) & events["step"].ne(NONE)
        return events[wanted]


def _chosen(asked: Numbers | None, known: list[int], what: str) -> list[int]:
    if asked is None:
        return known[:1]
    numbers = [asked] if isinstance(asked, int) else list(asked)
    for number in numbers:
        if number not in known:
            raise UsageError(
                f"{what} {number}: there is none; there are {', '.join(map(str, known)) or 'none'}"
            )
    return numbers


def _labeled(traces: LabeledTrace | Trace | str | os.PathLike[str], label: str) -> LabeledTrace:
    if isinstance(traces, LabeledTrace):
        return traces
    if isinstance(traces, Trace):
        return LabeledTrace(label, t=traces)
    return LabeledTrace(label, trace_dir=Path(traces))


class TraceDiff:
    """Two sets of traces beside each other: the control group and the test group."""

    @classmethod
    def compare_traces(
        cls,
        control: LabeledTrace | Trace | str | os.PathLike[str],
        test: LabeledTrace | Trace | str | os.PathLike[str],
        control_rank: Numbers | None = None,
        test_rank: Numbers | None = None,
        control_iteration: Numbers | None = None,
        test_iteration: Numbers | None = None,
        device_type: DeviceType = DeviceType.ALL,
        use_short_name: bool = False,
    ) -> pd.DataFrame:
        """How often each operator and kernel occurs in either, how long that took, and what differs.

        Args:
            control: a folder with traces, a :class:`~gpuscope.hta.Trace` or a :class:`LabeledTrace`.
            test: the same for the other side.
            control_rank: a rank or several; the first by default.
            test_rank: the same for the other side.
            control_iteration: a profiler step or several; the first by default.
            test_iteration: the same for the other side.
            device_type: events of the host, of the GPU, or both.
            use_short_name: leave out what distinguishes names of templates and functions in brackets.

        Returns:
            By ``name`` or ``short_name``: ``<control>_counts``, ``<control>_total_duration`` (us), the same
            of the test, ``diff_counts``, ``diff_duration`` (test less control) and
            ``counts_change_categories``, which is ``+``, ``-`` or ``=``.
        """
        pandas = need("pandas", "gpuscope.hta")

        first, second = _labeled(control, "Control"), _labeled(test, "Test")
        a, b = _labels(first, second)
        sides = {
            a: first.totals(control_rank, control_iteration, device_type, use_short_name),
            b: second.totals(test_rank, test_iteration, device_type, use_short_name),
        }
        both = pandas.concat(sides, axis=1, join="outer").fillna(0).sort_index()
        both.columns = [f"{label}_{column}" for label, column in both.columns]
        for column in (f"{a}_counts", f"{b}_counts"):
            both[column] = both[column].astype("int64")
        both["diff_counts"] = both[f"{b}_counts"] - both[f"{a}_counts"]
        both["diff_duration"] = (both[f"{b}_total_duration"] - both[f"{a}_total_duration"]).round(3)
        signs = {1: "+", 0: "=", -1: "-"}
        both["counts_change_categories"] = [
            signs[(change > 0) - (change < 0)] for change in both["diff_counts"]
        ]
        return both

    @classmethod
    def ops_diff(
        cls,
        control: LabeledTrace | Trace | str | os.PathLike[str],
        test: LabeledTrace | Trace | str | os.PathLike[str],
        control_rank: Numbers | None = None,
        test_rank: Numbers | None = None,
        control_iteration: Numbers | None = None,
        test_iteration: Numbers | None = None,
        device_type: DeviceType = DeviceType.ALL,
    ) -> dict[str, list[str]]:
        """The names that are new, gone, more often, less often and as often as before.

        Arguments are those of :meth:`compare_traces`; keys are ``added``, ``deleted``, ``increased``,
        ``decreased`` and ``unchanged``.
        """
        first, second = _labeled(control, "Control"), _labeled(test, "Test")
        ranks = (control_rank, test_rank)
        iterations = (control_iteration, test_iteration)
        frame = cls.compare_traces(first, second, *ranks, *iterations, device_type)
        before, after = (frame[f"{label}_counts"] for label in _labels(first, second))
        groups = {
            "added": before.eq(0) & after.gt(0),
            "deleted": before.gt(0) & after.eq(0),
            "increased": before.gt(0) & after.gt(before),
            "decreased": after.gt(0) & after.lt(before),
            "unchanged": after.gt(0) & after.eq(before),
        }
        return {group: frame.index[members].tolist() for group, members in groups.items()}

    @classmethod
    def visualize_counts_diff(
        cls, df: pd.DataFrame, show_image: bool = True, export_image_path: str | None = None
    ) -> None:
        """Show how often each name of :meth:`compare_traces` occurs, or save the figure to a file."""
        cls._visualize(df, "counts", "diff_counts", "Ops Count Comparison", show_image, export_image_path)

    @classmethod
    def visualize_duration_diff(
        cls, df: pd.DataFrame, show_image: bool = True, export_image_path: str | None = None
    ) -> None:
        """Show how long each name of :meth:`compare_traces` took, or save the figure to a file."""
        title = "Ops Duration Comparison"
        cls._visualize(df, "total_duration", "diff_duration", title, show_image, export_image_path)

    @staticmethod
    def _visualize(
        df: pd.DataFrame, quantity: str, change: str, title: str, show_image: bool, path: str | None
    ) -> None:
        if change not in df or sum(column.endswith(f"_{quantity}") for column in df.columns) < 2:
            raise UsageError("this is not a table that TraceDiff.compare_traces returned")
        if show_image:
            _figures.show(lambda: [_figures.differences(df, quantity, change, title)])
        if path is not None:
            figure = _figures.differences(df, quantity, change, title)
            if path.endswith(".html"):
                write_text(Path(path), figure.to_html())
            else:
                write_bytes(Path(path), figure.to_image(Path(path).suffix.lstrip(".") or None))


def _labels(control: LabeledTrace, test: LabeledTrace) -> tuple[str, str]:
    """The names of both; equal ones are told apart."""
    same = control.label == test.label
    return control.label, f"{test.label}_test" if same else test.label
