"""What all figures have in common: colours with a meaning, letters, sizes, and names that fit."""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    import plotly.graph_objects as go

COMPUTE = "#0072B2"
COMMUNICATION = "#E69F00"
COPY = "#009E73"
MEMSET = "#56B4E9"
IDLE = "#B8BEC8"
HOST = "#CC79A7"
CRITICAL = "#D55E00"

FORWARD = "#4C78A8"
BACKWARD = "#F2A541"
RECOMPUTE = "#B279A2"
TURNS = (FORWARD, BACKWARD, "#54A24B", RECOMPUTE, "#72B7B2", "#E4575B", "#9D755D", "#8A8F98")
"""For what has no colour with a meaning, in turn."""

_TEXT = "#1F2328"
_MUTED = "#59636E"
_GRID = "rgba(128, 128, 128, 0.22)"
_LETTERS = "DejaVu Sans, Verdana, Arial, sans-serif"
_PIXELS_PER_INCH = 100
_HOVER_WIDTH = 80

Figsize = tuple[float, float] | None
"""Width and height in inches of 100 pixels, as matplotlib has it; None fits the window."""


def graph_objects(wanted_by: str) -> Any:
    """``plotly.graph_objects``, or an error that says how to install it."""
    return need("plotly.graph_objects", wanted_by)


def panels(wanted_by: str, **arguments: Any) -> go.Figure:
    """An empty figure of several panels."""
    graph_objects(wanted_by)
    figure = need("plotly.subplots", wanted_by).make_subplots(**arguments)
    axes = list(figure.select_xaxes())
    for axis, heading in zip(axes, figure.layout.annotations, strict=True):
        heading.update(x=axis.domain[0], xanchor="left")
    return figure


def room_for(labels: list[str]) -> float:
    """The share of a figure's usual width that names beside a panel take."""
    return 0.03 + 0.0062 * max(map(len, labels), default=0)


def short(name: str, most: int = 36) -> str:
    """A name that fits, with its beginning and its end.

    >>> short("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>", 30)
    'at::native::vector…AddFunctor>'
    >>> short("gemm")
    'gemm'
    """
    name = name.removeprefix("void ")
    if len(name) <= most:
        return name
    end = (most - 1) * 2 // 5
    return f"{name[: most - 1 - end]}…{name[-end:]}"


def plain(text: str) -> str:
    """Text that plotly takes as it is: names of kernels have angle brackets, which it takes for markup.

    >>> plain("reduce<br>")
    'reduce&lt;br>'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;")


def show_names(figure: go.Figure, names: list[str], row: int, col: int) -> None:
    """Gives a panel rows with these names, the first on top."""
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=names[::-1],
        tickmode="array",
        tickvals=names,
        ticktext=[plain(name) for name in names],
        showgrid=False,
        row=row,
        col=col,
    )


def whole(name: str) -> str:
    """A whole name for a hover box: in lines, and never markup."""
    lines = textwrap.wrap(name, _HOVER_WIDTH, break_on_hyphens=False) or [""]
    return "<br>".join(html.escape(line) for line in lines)


def apart(names: list[str], most: int = 36) -> list[str]:
    """Short names, no two of which are the same.

    >>> apart(["layer", "layer", "norm"])
    ['layer', 'layer (2)', 'norm']
    """
    seen: dict[str, int] = {}
    found = []
    for name in names:
        label = short(name, most)
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def finish(
    figure: go.Figure, title: str, height: int, figsize: Figsize, show: bool, note: str = ""
) -> go.Figure:
    """Gives a figure its title, letters, grid and size, and shows it if that is wanted."""
    text = f"<b>{html.escape(title)}</b>"
    if note:
        text += f'<br><span style="font-size:12px;color:{_MUTED}">{html.escape(note)}</span>'
    width, height = _pixels(figsize, height)
    figure.update_layout(
        title={
            "text": text,
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "top",
            "pad": {"l": 16, "t": 14},
            "font": {"size": 16},
        },
        font={"family": _LETTERS, "size": 12, "color": _TEXT},
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 16, "r": 24, "t": 104 if note else 88, "b": 48},
        legend={
            "orientation": "h",
            "x": 0.013,
            "xref": "container",
            "xanchor": "left",
            "y": 1 - (56 if note else 38) / height,
            "yref": "container",
            "yanchor": "top",
        },
        hoverlabel={"align": "left", "font": {"family": _LETTERS}},
        hovermode="closest",
        width=width,
        height=height,
    )
    grid = {"gridcolor": _GRID, "zeroline": False, "linecolor": _GRID, "automargin": True}
    figure.update_xaxes(**grid)
    figure.update_yaxes(**grid)
    for annotation in figure.layout.annotations:
        annotation.font = {"size": 12, "color": _MUTED}
    if show:
        figure.show()
    return figure


def nothing(wanted_by: str, title: str, why: str, figsize: Figsize, show: bool) -> go.Figure:
    """A figure that says why there is nothing to draw, so that a script goes on to its other figures."""
    figure = graph_objects(wanted_by).Figure()
    text = "<br>".join(textwrap.wrap(why, 90))
    figure.add_annotation(
        text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, name="nothing to draw"
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return finish(figure, title, 240, figsize, show)


def _pixels(figsize: Figsize, height: int) -> tuple[int | None, int]:
    if figsize is None:
        return None, height
    try:
        wide, high = (float(length) for length in figsize)
    except (TypeError, ValueError):
        raise UsageError(
            f"figsize is a width and a height in inches, like (12, 8), not {figsize!r}"
        ) from None
    if not (wide > 0 and high > 0):
        raise UsageError(f"figsize must be more than 0 in both directions, not {figsize!r}")
    return round(wide * _PIXELS_PER_INCH), round(high * _PIXELS_PER_INCH)
