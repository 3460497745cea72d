"""A plain page that needs no network: sentences, tables and a line chart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: left; vertical-align: top; }
tr + tr { border-top: 1px solid #8884; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } .line { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
"""
_COLOURS = ("#2f7ed8", "#d8792f", "#3aa655")
_WIDTH, _HEIGHT = 900, 240
_MARGIN = 20
_MAX_POINTS = 4000


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A part of the page under its own title; nothing if it would be empty."""
    body = "\n".join(part for part in parts if part)
    return f"<h2>{escape(title)}</h2>\n{body}" if body else ""


def bullets(texts: Sequence[str]) -> str:
    """Sentences one below the other."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers stand at the right.

    >>> table(["ms"], [[1.25]])
    '<table><tr><th>ms</th></tr><tr><td class="number">1.25</td></tr></table>'
    """
    if not rows:
        return ""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    return (
        f"<table><tr>{head}</tr>"
        + "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
        + "</table>"
    )


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        text = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
        return f'<td class="number">{text}</td>'
    return f"<td>{escape(str(value))}</td>"


def line_chart(
    times: Sequence[float], series: Sequence[tuple[str, Sequence[float]]], time_unit: str, unit: str
) -> str:
    """Lines over time as SVG, from zero on; a legend says which is which and how high each goes."""
    if not times:
        return ""
    first, last = times[0], times[-1]
    top = max((max(values) for _, values in series), default=0.0) or 1.0
    span = (last - first) or 1.0
    every = max(1, len(times) // _MAX_POINTS)
    lines = []
    for index, (name, values) in enumerate(series):
        colour = _COLOURS[index % len(_COLOURS)]
        points = " ".join(
            f"{_MARGIN + (times[at] - first) / span * (_WIDTH - 2 * _MARGIN):.1f},"
            f"{_HEIGHT - _MARGIN - values[at] / top * (_HEIGHT - 3 * _MARGIN):.1f}"
            for at in _kept(values, every)
        )
        lines.append(f'<polyline class="line" stroke="{colour}" points="{points}"/>')
        lines.append(
            f'<text x="{_MARGIN + index * 280}" y="14" font-size="12" fill="{colour}">'
            f"{escape(name)}: up to {max(values):.1f} {escape(unit)}</text>"
        )
    label = f'y="{_HEIGHT - 4}" font-size="11" fill="currentColor"'
    axis = (
        f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{_HEIGHT - _MARGIN}" y2="{_HEIGHT - _MARGIN}" '
        'stroke="currentColor" stroke-opacity=".4"/>'
        f'<text x="{_MARGIN}" {label}>{first:.1f} {time_unit}</text>'
        f'<text x="{_WIDTH - _MARGIN}" {label} text-anchor="end">'
        f"{last:.1f} {time_unit}</text>"
    )
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{axis}{"".join(lines)}</svg>'


def _kept(values: Sequence[float], every: int) -> list[int]:
    # Of each group of points the highest stays, so that no peak is lost.
    return [
        max(range(at, min(at + every, len(values))), key=values.__getitem__)
        for at in range(0, len(values), every)
    ]
