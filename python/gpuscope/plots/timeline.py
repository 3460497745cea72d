"""What is copied when, and which layers work meanwhile?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpuscope.cupti.copies import MEMCPY_KIND_STR as _KINDS
from gpuscope.plots import _phases, _style
from gpuscope.plots._copies import Copy, copies, in_all, under_way
from gpuscope.plots._lanes import Span, add_lane, are_apart, arrange
from gpuscope.plots._layers import spans
from gpuscope.plots._thin import Stretch, thinned
from gpuscope.plots._units import BYTES, in_words, unit_for

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME = "plot_timeline_memcpy_and_passes"
_TITLE = "What is copied when, and which layers work meanwhile?"
_PHASE_COLORS = {
    _phases.FORWARD: _style.FORWARD,
    _phases.BACKWARD: _style.BACKWARD,
    _phases.RECOMPUTE: _style.RECOMPUTE,
}


def plot_timeline_memcpy_and_passes(
    memcpy_info: Any,
    profile: Any,
    MEMCPY_KIND_STR: Mapping[int, str] = _KINDS,
    forward_markers: _phases.Markers = None,
    figsize: _style.Figsize = None,
    show: bool = False,
) -> go.Figure:
    """Bytes being copied over time by kind, and the sum of all; below, forward and backward passes by layer.

    Args:
        memcpy_info: a ``MemoryCopy``, a list of ``(time_ns, bytes, copy_kind)`` with negative bytes where a
            copy ends, a ``Run``, a ``Rank``, a ``ProfileSession`` or the path of a trace.
        profile: an ``ExtractModel``, whatever has a list ``timeline`` of ``(start_ns, end_ns, flops,
            layer)``, a ``Run``, a ``Rank``, a ``ProfileSession`` or the path of a trace.
        MEMCPY_KIND_STR: what kinds of copies are called.
        forward_markers: where the profile does not say what is forward: layers whose name contains one of
            these are. Without them the first half of the timeline is taken for forward, and the figure says
            so.
        figsize: width and height in inches.
        show: whether to open it at once.
    """
    found = copies(memcpy_info, MEMCPY_KIND_STR)
    passes, guessed = spans(profile, forward_markers)
    if not found and not passes:
        why = (
            "There are neither copies nor layers: setup_cupti_memcpy(copies) and ExtractModel(model) go "
            "before the work."
        )
        return _style.nothing(_NAME, _TITLE, why, figsize, show)
    copied = [(copy.start_ns, copy.end_ns) for copy in found]
    worked = [(each.start_ns, each.end_ns) for each in passes]
    span = Span([*copied, *worked])
    figure = _style.panels(
        _NAME,
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.1,
        row_heights=[0.64, 0.36],
        specs=[[{"secondary_y": True}], [{}]],
        subplot_titles=("Copies", "Passes, by layer"),
    )
    _add_copies(figure, found, span)
    phases = [phase for phase in _phases.ALL if any(each.phase == phase for each in passes)]
    for phase in phases:
        stretches = [
            Stretch(each.start_ns, each.end_ns, each.layer) for each in passes if each.phase == phase
        ]
        # In turn, so that a layer can be told from the next.
        add_lane(figure, phase, stretches, span, [_PHASE_COLORS[phase], _style.IDLE])
    arrange(figure, phases)
    span.show_on(figure)
    notes = [_phases.GUESSED] if guessed else []
    if not found or not passes:
        notes.append("there are no layers" if found else "there are no copies")
    elif are_apart(copied, worked):
        notes.append("copies and layers have no time in common: are they of one run and one clock?")
    title = f"{_TITLE} (guessed)" if guessed else _TITLE
    return _style.finish(figure, title, 480, figsize, show, "; ".join(notes))


def _add_copies(figure: go.Figure, found: list[Copy], span: Span) -> None:
    kinds = list(dict.fromkeys(copy.kind for copy in found))
    courses = {kind: under_way([copy for copy in found if copy.kind == kind]) for kind in kinds}
    unit = unit_for(max((size for course in courses.values() for _, size in course), default=0), BYTES)
    for number, kind in enumerate(kinds):
        course = thinned([(courses[kind][0][0], 0), *courses[kind]])
        figure.add_scatter(
            name=_style.plain(kind),
            x=[span.at(time) for time, _ in course],
            y=[size / unit.divisor for _, size in course],
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": _style.TURNS[number % len(_style.TURNS)]},
            fill="tozeroy",
            hovertext=[f"{_style.plain(kind)}: {in_words(size, BYTES)} under way" for _, size in course],
            hoverinfo="text",
            row=1,
            col=1,
        )
    figure.update_yaxes(title=unit.heading("under way"), rangemode="tozero", row=1, col=1, secondary_y=False)
    if found:
        _add_total(figure, found, span)


def _add_total(figure: go.Figure, found: list[Copy], span: Span) -> None:
    ends = in_all(found)
    total = ends[-1][1]
    course = thinned([(span.start_ns, 0), *ends, (span.start_ns + span.length_ns, total)])
    unit = unit_for(total, BYTES)
    figure.add_scatter(
        name="copied in all",
        x=[span.at(time) for time, _ in course],
        y=[size / unit.divisor for _, size in course],
        mode="lines",
        line={"shape": "hv", "width": 1.5, "color": _style.CRITICAL, "dash": "dot"},
        hovertext=[f"{in_words(size, BYTES)} copied until now" for _, size in course],
        hoverinfo="text",
        row=1,
        col=1,
        secondary_y=True,
    )
    heading = unit.heading("copied in all")
    figure.update_yaxes(
        title=heading, rangemode="tozero", tickmode="auto", showgrid=False, row=1, col=1, secondary_y=True
    )
