"""Where is the program in its Python code while kernels run?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpuscope.cupti.stacktrace import DepthPoint
from gpuscope.plots import _style
from gpuscope.plots._kernels import COLORS, Launch, launches
from gpuscope.plots._lanes import Span, add_lane, are_apart, arrange
from gpuscope.plots._stacks import depths
from gpuscope.plots._thin import Stretch, thinned

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME = "plot_stacktrace_with_kernels"
_TITLE = "Where is the program in Python while kernels run?"
_FILL = "rgba(204, 121, 167, 0.25)"
_MOST_LANES = 12


def plot_stacktrace_with_kernels(
    stacktrace_collector: Any, kernel_collector: Any, figsize: _style.Figsize = None, show: bool = False
) -> go.Figure:
    """How deep the program was in Python calls over time, and on the same time the kernels of each stream.

    The mouse shows the innermost function and the names of kernels. Of very many kernels, those are drawn as
    one between which no gap could be seen.

    Args:
        stacktrace_collector: a ``StacktraceCollector``, whatever has ``depth_over_time()`` or ``calls``, a
            ``Run``, a ``Rank``, a ``ProfileSession`` or the path of a trace.
        kernel_collector: as for ``plot_bottleneck_analysis``.
        figsize: width and height in inches.
        show: whether to open it at once.
    """
    points = depths(stacktrace_collector)
    found = launches(kernel_collector)
    if not points and not found:
        why = (
            "There are neither calls nor kernels: `with StacktraceCollector() as collector:` or sys.settrace "
            "goes around the work, setup_cupti_kernels(collector) before it."
        )
        return _style.nothing(_NAME, _TITLE, why, figsize, show)
    lanes = _lanes(found)
    calls = [(point.time_ns, point.time_ns) for point in points]
    kernels = [(stretch.start_ns, stretch.end_ns) for _, _, stretch in found]
    span = Span([*calls, *kernels])
    figure = _style.panels(
        _NAME,
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.1,
        row_heights=[0.62, 0.38] if len(lanes) < 4 else [0.5, 0.5],
        subplot_titles=("Depth of Python calls", "Kernels"),
    )
    _add_depth(figure, points, span)
    for (lane, kind), stretches in lanes.items():
        add_lane(figure, lane, stretches, span, [COLORS[kind]], name=kind)
    names = list(dict.fromkeys(lane for lane, _ in lanes))
    arrange(figure, names)
    span.show_on(figure)
    note = ""
    if not points or not found:
        note = "there are no kernels" if points else "there are no Python calls"
    elif are_apart(calls, kernels):
        note = "calls and kernels have no time in common: are they of one run and one clock?"
    return _style.finish(figure, _TITLE, 400 + 22 * len(names), figsize, show, note)


def _add_depth(figure: go.Figure, points: list[DepthPoint], span: Span) -> None:
    course = thinned(points)
    figure.add_scatter(
        name="depth of calls",
        showlegend=False,
        x=[span.at(point.time_ns) for point in course],
        y=[point.depth for point in course],
        mode="lines",
        line={"color": _style.HOST, "width": 1.2, "shape": "hv"},
        fill="tozeroy",
        fillcolor=_FILL,
        hovertext=[f"{_style.whole(point.name)}<br>depth {point.depth}" for point in course],
        hoverinfo="text",
        row=1,
        col=1,
    )
    figure.update_yaxes(title="calls", rangemode="tozero", row=1, col=1)


def _lanes(found: list[Launch]) -> dict[tuple[str, str], list[Stretch]]:
    """Kernels by stream and kind, of the streams with most kernels."""
    counts: dict[str, int] = {}
    for launch in found:
        counts[launch.lane] = counts.get(launch.lane, 0) + 1
    kept = set(sorted(counts, key=lambda lane: -counts[lane])[:_MOST_LANES])
    lanes: dict[tuple[str, str], list[Stretch]] = {}
    for launch in found:
        if launch.lane in kept:
            lanes.setdefault((launch.lane, launch.kind), []).append(launch.stretch)
    return dict(sorted(lanes.items(), key=lambda item: _by_number(item[0])))


def _by_number(key: tuple[str, str]) -> list[tuple[int, str]]:
    """Stream 7 before stream 13.

    >>> _by_number(("stream 7", "")) < _by_number(("stream 13", ""))
    True
    """
    parts = re.split(r"(\d+)", "".join(key))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
