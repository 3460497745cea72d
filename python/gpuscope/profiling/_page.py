"""A plain page that needs no network: sentences, tables and a line chart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td:first-child { white-space: nowrap; }
td, th { padding: .2rem .8rem; text-align: left; vertical-align: top; }
tr + tr { border-top: 1px solid #8884; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } .line { fill: none; stroke: #2f7ed8; stroke-width: 1.5; }
"""
_WIDTH, _HEIGHT = 900, 200
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


def line_chart(times: Sequence[float], name: str, values: Sequence[float], time_unit: str, unit: str) -> str:
    """One line over time as SVG, from zero on; its name and its highest value stand above it."""
    if not times:
        return ""
    first, last = times[0], times[-1]
    span, top = (last - first) or 1.0, max(values) or 1.0
    points = " ".join(
        f"{_MARGIN + (times[at] - first) / span * (_WIDTH - 2 * _MARGIN):.1f},"
        f"{_HEIGHT - _MARGIN - values[at] / top * (_HEIGHT - 3 * _MARGIN):.1f}"
        for at in _kept(values, max(1, len(times) // _MAX_POINTS))
    )
    bottom, right = _HEIGHT - _MARGIN, _WIDTH - _MARGIN
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" font-size="12" fill="currentColor">'
        f'<text x="{_MARGIN}" y="14">{escape(name)}, up to {max(values):,.1f} {escape(unit)}</text>'
        f'<line x1="{_MARGIN}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="currentColor"/>'
        f'<polyline class="line" points="{points}"/>'
        f'<text x="{_MARGIN}" y="{_HEIGHT - 4}">{first:,.1f} {escape(time_unit)}</text>'
        f'<text x="{right}" y="{_HEIGHT - 4}" text-anchor="end">{last:,.1f} {escape(time_unit)}</text></svg>'
    )


def _kept(values: Sequence[float], every: int) -> list[int]:
    # Of each group of points the highest stays, so that no peak is lost.
    return [
        max(range(at, min(at + every, len(values))), key=values.__getitem__)
        for at in range(0, len(values), every)
    ]
