"""Which kernels take the time?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpuscope.errors import UsageError
from gpuscope.plots import _style
from gpuscope.plots._kernels import COLORS, HOST, KernelSum, sums
from gpuscope.plots._units import TIMES, in_words, unit_for

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME = "plot_bottleneck_analysis"
_TITLE = "Which kernels take the time?"
_FEWEST_ROWS = 8
_LARGEST_POINT = 34
_SMALLEST_POINT = 5


def plot_bottleneck_analysis(
    kernel_collector: Any, top_n: int = 20, figsize: _style.Figsize = None, show: bool = False
) -> go.Figure:
    """Total time of each kernel as bars, and mean duration against launches as points.

    Areas of points are total times. Names are cut to fit; the mouse shows them whole.

    Args:
        kernel_collector: a ``KernelDataCollector``, whatever has a list ``kernels`` (of objects or
            dictionaries with ``name``, ``start`` and ``end``), a ``Run``, a ``Rank``, a ``ProfileSession`` or
            a trace's path.
        top_n: how many kernels the bars show; the points show all.
        figsize: width and height in inches.
        show: whether to open it at once; notebooks show what a cell ends with anyway.
    """
    if top_n < 1:
        raise UsageError(f"top_n must be at least 1, not {top_n}")
    found = sums(kernel_collector)
    if not found:
        why = (
            "There are no kernels: setup_cupti_kernels(collector) goes before the work, "
            "finalize_cupti_kernels() after it."
        )
        return _style.nothing(_NAME, _TITLE, why, figsize, show)
    top = found[:top_n]
    figure = _style.panels(
        _NAME,
        rows=1,
        cols=2,
        column_widths=[0.58, 0.42],
        horizontal_spacing=0.09,
        subplot_titles=("Total time", "Mean duration against launches"),
    )
    labels = _style.apart([kernel.name for kernel in top])
    whole = sum(kernel.total_ns for kernel in found)
    for kind in COLORS:
        _add_bars(figure, kind, list(zip(labels, top, strict=True)), whole)
        _add_points(figure, kind, found, whole)
    figure.update_layout(barmode="overlay", bargap=0.25)
    _style.show_names(figure, labels, row=1, col=1)
    # A single bar need not fill the figure.
    rows = max(len(top), _FEWEST_ROWS)
    figure.update_yaxes(range=[len(top) - rows - 0.5, len(top) - 0.5], row=1, col=1)
    figure.update_xaxes(
        title=_total_unit(top).heading("time in all launches"), rangemode="tozero", row=1, col=1
    )
    figure.update_xaxes(title="launches", type="log", dtick=1, row=1, col=2)
    figure.update_yaxes(title=_mean_unit(found).heading("mean duration"), type="log", dtick=1, row=1, col=2)
    share = 100 * sum(kernel.total_ns for kernel in top) / whole if whole else 100.0
    what = "operators of the host, as there is no GPU work" if found[0].kind == HOST else "kernels"
    note = f"{len(top)} of {len(found)} {what}, {share:.3g} % of {in_words(whole, TIMES)}"
    return _style.finish(figure, _TITLE, max(420, 150 + 24 * len(top)), figsize, show, note)


def _add_bars(figure: go.Figure, kind: str, top: list[tuple[str, KernelSum]], whole: float) -> None:
    of_kind = [(label, kernel) for label, kernel in top if kernel.kind == kind]
    if not of_kind:
        return
    unit = _total_unit([kernel for _, kernel in top])
    figure.add_bar(
        name=kind,
        legendgroup=kind,
        orientation="h",
        y=[label for label, _ in of_kind],
        x=[kernel.total_ns / unit.divisor for _, kernel in of_kind],
        marker_color=COLORS[kind],
        hovertext=[_hover(kernel, whole) for _, kernel in of_kind],
        hoverinfo="text",
        row=1,
        col=1,
    )


def _add_points(figure: go.Figure, kind: str, found: list[KernelSum], whole: float) -> None:
    of_kind = [kernel for kernel in found if kernel.kind == kind]
    if not of_kind:
        return
    unit = _mean_unit(found)
    largest = max(kernel.total_ns for kernel in found) or 1.0
    figure.add_scatter(
        name=kind,
        legendgroup=kind,
        showlegend=not any(trace.name == kind for trace in figure.data),
        mode="markers",
        x=[kernel.launches for kernel in of_kind],
        y=[kernel.mean_ns / unit.divisor for kernel in of_kind],
        marker={
            "color": COLORS[kind],
            "opacity": 0.75,
            "size": [max(_SMALLEST_POINT, _LARGEST_POINT * math.sqrt(k.total_ns / largest)) for k in of_kind],
            "line": {"width": 1, "color": "white"},
        },
        hovertext=[_hover(kernel, whole) for kernel in of_kind],
        hoverinfo="text",
        row=1,
        col=2,
    )


def _hover(kernel: KernelSum, whole: float) -> str:
    share = 100 * kernel.total_ns / whole if whole else 0.0
    total, mean = in_words(kernel.total_ns, TIMES), in_words(kernel.mean_ns, TIMES)
    numbers = f"{total} in all, {share:.3g} %<br>{kernel.launches} launches, mean {mean}"
    return f"{_style.whole(kernel.name)}<br>{numbers}"


def _total_unit(found: list[KernelSum]) -> Any:
    return unit_for(max(kernel.total_ns for kernel in found), TIMES)


def _mean_unit(found: list[KernelSum]) -> Any:
    return unit_for(max(kernel.mean_ns for kernel in found), TIMES)
