"""Flame graphs of traces and of live profilers: which call path took the time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpuscope.errors import UsageError
from gpuscope.profiling._saving import format_of, save_answer, save_json
from gpuscope.profiling._torch import ChromeTraceExporter, trace_of

if TYPE_CHECKING:
    from gpuscope import Answer, Run

_SUFFIXES = {
    "html": ".html",
    "json": ".json",
    "svg": ".svg",
    "png": ".png",
    "pdf": ".pdf",
    "folded": ".folded",
    "speedscope": ".speedscope.json",
}
_SMALL_KERNELS_US = 10.0


class FlameGraphData(dict[str, Any]):
    """A flame graph as a tree of plain dictionaries, ready for ``json.dumps`` and for d3-flame-graph.

    Each box has ``name``, ``value`` (microseconds, with all that is above it), ``own``, ``count``, ``kind``
    and ``children``. The outermost one also has ``by``: ``"gpu"``, or ``"host"`` where no GPU took part.
    """

    answer: Answer | None = None
    """The answer that the tree was made from, which draws the pictures; a tree read from a file has none."""

    @property
    def total_us(self) -> float:
        """The time of the whole graph in microseconds."""
        return float(self["value"])


class FlameGraphGenerator:
    """Makes flame graphs.

    Boxes below ``min_duration_us`` microseconds in all, and those deeper than ``max_depth``, become part of
    the box they belong to. ``group_small_kernels`` joins the kernels of one call that take fewer than 10 µs
    in all into one box.
    """

    def __init__(
        self,
        min_duration_us: float = 0.0,
        max_depth: int | None = None,
        group_small_kernels: bool = True,
    ) -> None:
        """Set what is joined."""
        if min_duration_us < 0:
            raise UsageError(f"min_duration_us is {min_duration_us}, but durations are not negative")
        if max_depth is not None and max_depth < 1:
            raise UsageError(f"max_depth is {max_depth}, but a flame graph has at least one level")
        self.min_duration_us = min_duration_us
        self.max_depth = max_depth
        self.group_small_kernels = group_small_kernels

    def from_profiler(self, prof: ChromeTraceExporter) -> FlameGraphData:
        """The flame graph of what a ``torch.profiler.profile`` recorded."""
        return self.from_chrome_trace(trace_of(prof))

    def from_chrome_trace(self, path: str | Path) -> FlameGraphData:
        """The flame graph of a trace file, or of a folder of them."""
        import gpuscope

        return self.from_run(gpuscope.open(path))

    def from_run(self, run: Run) -> FlameGraphData:
        """The flame graph of traces that are open already, by GPU time; by host time if no GPU took part."""
        answer = self._ask(run, "gpu")
        if answer.data["total_ns"] == 0:
            answer = self._ask(run, "host")
        return _tree(answer)

    def export(self, data: dict[str, Any], path: str | Path, format: str | None = None) -> Path:
        """Write a flame graph as ``html``, ``json``, ``svg``, ``png``, ``pdf``, ``folded`` or ``speedscope``.

        Without ``format`` the ending of ``path`` decides. JSON is the tree itself.
        """
        return self._export(data, Path(path), format, private=False)

    def export_recorded(self, data: dict[str, Any], path: Path) -> Path:
        """Write the flame graph of what this program recorded of itself, for its user alone."""
        return self._export(data, path, None, private=True)

    def _export(self, data: dict[str, Any], path: Path, format: str | None, *, private: bool) -> Path:
        chosen = format_of(path, format, _SUFFIXES)
        if chosen == "json":
            return save_json(data, path, private=private)
        answer = data.answer if isinstance(data, FlameGraphData) else None
        if answer is None:
            raise UsageError(
                f"{path}: a flame graph read back from JSON can only be written as json; "
                "make it anew with from_chrome_trace() or from_profiler()"
            )
        return save_answer(answer, path, _SUFFIXES[chosen], private=private)

    def _ask(self, run: Run, by: Literal["gpu", "host"]) -> Answer:
        return run.flame(
            by=by,
            min_duration_us=self.min_duration_us,
            max_depth=self.max_depth,
            small_kernels_us=_SMALL_KERNELS_US if self.group_small_kernels else 0.0,
        )


def _tree(answer: Answer) -> FlameGraphData:
    boxes: list[dict[str, Any]] = []
    root = FlameGraphData(
        name="all",
        value=answer.data["total_ns"] / 1000,
        own=answer.data["own_ns"] / 1000,
        unit="us",
        by=answer.data["by"],
        children=[],
    )
    root.answer = answer
    # Parents come before their children, so one pass is enough.
    for node in answer.data["nodes"]:
        box: dict[str, Any] = {
            "name": node["name"],
            "value": node["total_ns"] / 1000,
            "own": node["own_ns"] / 1000,
            "count": node["count"],
            "kind": node["kind"],
            "children": [],
        }
        parent = root if node["parent"] is None else boxes[node["parent"]]
        parent["children"].append(box)
        boxes.append(box)
    return root
