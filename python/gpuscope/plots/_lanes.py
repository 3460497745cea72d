"""What was busy when: stretches of time in lanes, one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpuscope.plots import _style
from gpuscope.plots._thin import Stretch, joined
from gpuscope.plots._units import TIMES, Unit, in_words, unit_for

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Span:
    """The time that a figure shows, and the unit it is shown in."""

    def __init__(self, ends: Iterable[tuple[float, float]]) -> None:
        """From the first start to the last end."""
        starts, stops = zip(*ends, strict=True)
        self.start_ns: float = min(starts)
        self.length_ns: float = max(max(stops) - self.start_ns, 1.0)
        self.unit: Unit = unit_for(self.length_ns, TIMES)

    def at(self, time_ns: float) -> float:
        """Where an instant is on the axis."""
        return (time_ns - self.start_ns) / self.unit.divisor

    def show_on(self, figure: go.Figure) -> None:
        """Lets all axes of time show this time, and the lowest one say what it is."""
        length = self.length_ns / self.unit.divisor
        for row in (1, 2):
            # A panel without any data would have no axis.
            figure.add_scatter(
                x=[0, length], y=[None, None], showlegend=False, hoverinfo="skip", row=row, col=1
            )
        figure.update_xaxes(range=[0, length])
        figure.update_xaxes(title=self.unit.heading("time"), row=2, col=1)


def add_lane(
    figure: go.Figure,
    lane: str,
    stretches: Sequence[Stretch],
    span: Span,
    colors: Sequence[str],
    name: str | None = None,
) -> None:
    """Draws stretches in one lane below, in colours that take turns; a name goes into the legend."""
    drawn = joined(stretches, span.length_ns)
    fills = [colors[place % len(colors)] for place in range(len(drawn))]
    figure.add_bar(
        name=name or lane,
        legendgroup=name,
        showlegend=name is not None and not any(trace.name == name for trace in figure.data),
        orientation="h",
        y=[lane] * len(drawn),
        base=[span.at(stretch.start_ns) for stretch in drawn],
        x=[(stretch.end_ns - stretch.start_ns) / span.unit.divisor for stretch in drawn],
        # The outline lets the shortest be seen.
        marker={"color": fills, "line": {"color": fills, "width": 0.6}},
        hovertext=[_hover(stretch, span) for stretch in drawn],
        hoverinfo="text",
        row=2,
        col=1,
    )


def arrange(figure: go.Figure, lanes: Sequence[str]) -> None:
    """Puts the first lane on top."""
    figure.update_layout(barmode="overlay", bargap=0.3)
    _style.show_names(figure, list(lanes), row=2, col=1)


def are_apart(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> bool:
    """Whether two courses have no time in common, so that they cannot be of one run.

    >>> are_apart([(0, 5), (8, 9)], [(6, 7)]), are_apart([(0, 5)], [(6, 7)])
    (False, True)
    """
    (start, end), (other_start, other_end) = (
        (min(start for start, _ in course), max(end for _, end in course)) for course in (one, other)
    )
    return end < other_start or other_end < start


def _hover(stretch: Stretch, span: Span) -> str:
    others = f"<br>and {stretch.events - 1} more" if stretch.events > 1 else ""
    length = in_words(stretch.end_ns - stretch.start_ns, TIMES)
    since = in_words(stretch.start_ns - span.start_ns, TIMES)
    return f"{_style.whole(stretch.name)}{others}<br>{length}, from {since}"
