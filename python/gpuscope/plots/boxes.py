"""How long does each layer take, and how fast does it compute? Box plots, forward and backward apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuscope.plots import _phases, _style
from gpuscope.plots._layers import Box, Boxes, rates, times
from gpuscope.plots._units import RATES, TIMES, Unit, in_words, unit_for

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLORS = {
    _phases.FORWARD: _style.FORWARD,
    _phases.BACKWARD: _style.BACKWARD,
    _phases.RECOMPUTE: _style.RECOMPUTE,
}
_MOST_LAYERS = 24
_LETTERS = 30
_WIDE = 100
"""Where the most is so many times the least, the axis is logarithmic: both are to be seen."""


def plot_layer_runtime_stats(
    profile: Any,
    forward_markers: _phases.Markers = None,
    figsize: _style.Figsize = None,
    show: bool = False,
) -> go.Figure:
    """Box plots of how long single calls of layers take, forward and backward side by side.

    Boxes reach from one quartile to the other with a line at the median and a dashed one at the mean;
    whiskers reach from the least to the most. Of many layers, those with most time are shown, in the order of
    the model.

    Args:
        profile: an ``ExtractModel``, whatever has ``layers`` (``{name: {"time_ns": [...], "flops": ...}}``),
            a ``Run``, a ``Rank``, a ``ProfileSession`` or the path of a trace.
        forward_markers: where the profile does not say what is forward: layers whose name contains one of
            these are. Without them the first half of the layers is taken for forward, and the figure says so.
        figsize: width and height in inches.
        show: whether to open it at once.
    """
    found = times(profile, forward_markers)
    name, title = "plot_layer_runtime_stats", "How long does a call of each layer take?"
    if not found.boxes:
        why = (
            "There are no times of layers: run the model after ExtractModel(model), or record a trace with "
            "with_stack=True or with_modules=True."
        )
        return _style.nothing(name, title, why, figsize, show)
    unit = unit_for(max(box.most for box in found.boxes), TIMES)
    return _draw(name, title, "time of a call", found, unit, TIMES, figsize, show)


def plot_throughput_analysis(
    profile: Any,
    forward_markers: _phases.Markers = None,
    figsize: _style.Figsize = None,
    show: bool = False,
) -> go.Figure:
    """Box plots of the operations per second of single calls of layers, in TFLOP/s, forward and backward.

    Layers whose operations are not known are left out. Rates of small models are in smaller units. The
    arguments are those of ``plot_layer_runtime_stats``.
    """
    found = rates(profile, forward_markers)
    name, title = "plot_throughput_analysis", "How fast does each layer compute?"
    if not found.boxes:
        why = (
            "No layer's operations are known: ExtractModel(model) counts those of matrix products, "
            "convolutions and attention; traces need record_shapes=True and with_stack=True."
        )
        return _style.nothing(name, title, why, figsize, show)
    # Thousandths of the usual unit are still read with ease.
    unit = unit_for(max(box.most for box in found.boxes) * 1e3, RATES)
    return _draw(name, title, "throughput", found, unit, RATES, figsize, show)


def _draw(
    wanted_by: str,
    title: str,
    label: str,
    found: Boxes,
    unit: Unit,
    units: tuple[Unit, ...],
    figsize: _style.Figsize,
    show: bool,
) -> go.Figure:
    phases = [phase for phase in _phases.ALL if any(box.phase == phase for box in found.boxes)]
    shown = {phase: _heaviest([box for box in found.boxes if box.phase == phase]) for phase in phases}
    labels = [_style.apart([box.layer for box in boxes], _LETTERS) for boxes in shown.values()]
    figure = _style.panels(
        wanted_by,
        rows=1,
        cols=len(phases),
        horizontal_spacing=_style.room_for([label for panel in labels[1:] for label in panel]),
        subplot_titles=[p.capitalize() for p in phases],
    )
    rows = max(map(len, shown.values()))
    least = min(box.least for boxes in shown.values() for box in boxes)
    most = max(box.most for boxes in shown.values() for box in boxes)
    for place, phase in enumerate(phases, start=1):
        _add_boxes(figure, place, phase, labels[place - 1], shown[phase], rows, unit, units)
        figure.update_xaxes(title=unit.heading(label), row=1, col=place)
        if least > 0 and most / least >= _WIDE:
            figure.update_xaxes(type="log", dtick=1, exponentformat="none", row=1, col=place)
        else:
            figure.update_xaxes(rangemode="tozero", row=1, col=place)
    left_out = len(found.boxes) - sum(map(len, shown.values()))
    notes = [
        _phases.GUESSED if found.guessed else "",
        "times of the host: the trace has no GPU work" if found.on_host else "",
        f"those with most time; {left_out} are not shown" if left_out else "",
    ]
    guessed = " (guessed)" if found.guessed else ""
    note = "; ".join(note for note in notes if note)
    figure.update_xaxes(matches="x")
    figure.update_layout(showlegend=False)
    return _style.finish(figure, title + guessed, max(340, 150 + 26 * rows), figsize, show, note)


def _add_boxes(
    figure: go.Figure,
    place: int,
    phase: str,
    labels: list[str],
    boxes: list[Box],
    rows: int,
    unit: Unit,
    units: tuple[Unit, ...],
) -> None:
    color = _COLORS[phase]

    def scaled(part: str) -> list[float]:
        return [getattr(box, part) / unit.divisor for box in boxes]

    figure.add_box(
        name=phase,
        orientation="h",
        y=labels,
        q1=scaled("first_quartile"),
        median=scaled("median"),
        q3=scaled("third_quartile"),
        lowerfence=scaled("least"),
        upperfence=scaled("most"),
        mean=scaled("mean"),
        boxmean=True,
        line={"color": color, "width": 1.5},
        hoverinfo="skip",
        row=1,
        col=place,
    )
    # Boxes have a label for each of their lines; one with all of them is easier to read.
    figure.add_scatter(
        name=phase,
        mode="markers",
        y=labels,
        x=scaled("median"),
        marker={"color": color, "size": 6},
        hovertext=[_hover(box, units) for box in boxes],
        hoverinfo="text",
        row=1,
        col=place,
    )
    _style.show_names(figure, labels, row=1, col=place)
    # Panels have rows of one height, from the top.
    figure.update_yaxes(range=[len(labels) - rows - 0.5, len(labels) - 0.5], row=1, col=place)


def _hover(box: Box, units: tuple[Unit, ...]) -> str:
    parts = (
        ("mean", box.mean),
        ("median", box.median),
        ("least", box.least),
        ("quartile", box.first_quartile),
        ("quartile", box.third_quartile),
        ("most", box.most),
    )
    lines = [f"{label} {in_words(value, units)}" for label, value in parts]
    calls = "1 call" if box.calls == 1 else f"{box.calls} calls"
    return f"{_style.whole(box.layer)}<br>{calls}<br>" + "<br>".join(lines)


def _heaviest(boxes: list[Box]) -> list[Box]:
    """Those with most time, in the order in which they came."""
    kept = sorted(boxes, key=lambda box: -box.time_ns)[:_MOST_LAYERS]
    return [box for box in boxes if box in kept]
