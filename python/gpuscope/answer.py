"""What a question answered: tables, figures, JSON and files of one and the same answer."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gpuscope import _native
from gpuscope._lazy import need
from gpuscope.errors import NoSuchName, UsageError
from gpuscope.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    import plotly.graph_objects
    import polars
    import pyarrow

__all__ = ["Answer"]

_ids = itertools.count(1)


class Answer:
    """The answer of one command to one run.

    It is worked out when it is asked for, and figures, JSON and text when they are looked at: traces stay in memory,
    so that asking again costs little.
    """

    def __init__(
        self, traces: _native.Traces, arguments: Sequence[str], others: Sequence[_native.Traces] = ()
    ) -> None:
        """Put the command to the traces."""
        self._traces = traces
        self._arguments = list(arguments)
        self._others = list(others)
        self._answered = traces.ask(self._arguments, "tables", self._others)

    @property
    def command(self) -> str:
        """The command of the command line that gives this answer."""
        return self._arguments[0]

    @property
    def found(self) -> bool:
        """Whether a check or gate found something: the command would end with exit code 1."""
        return self._answered.exit == 1

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The files it rests on."""
        inputs: list[dict[str, Any]] = _loads(self._answered.inputs)
        return inputs

    @cached_property
    def quality(self) -> list[dict[str, Any]]:
        """What is wrong with the data, the most severe first."""
        quality: list[dict[str, Any]] = _loads(self._answered.quality)
        return quality

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """All tables by name, the most important first."""
        return MappingProxyType({native.name: Table(native) for native in self._answered.tables})

    @property
    def table(self) -> Table:
        """The first table."""
        return self[None]

    def __getitem__(self, name: str | None) -> Table:
        """Give one table by name."""
        if not self.tables:
            raise UsageError(f"{self.command} has no tables here; .data has the whole answer")
        if name is None:
            return next(iter(self.tables.values()))
        if name not in self.tables:
            raise NoSuchName(f"{self.command} has no table {name!r}; it has {', '.join(self.tables)}")
        return self.tables[name]

    def __iter__(self) -> Iterator[Table]:
        """Go through the tables."""
        return iter(self.tables.values())

    @cached_property
    def data(self) -> dict[str, Any]:
        """The answer as `--json` has it under `data`: whole numbers of nanoseconds, nothing rounded."""
        data: dict[str, Any] = _loads(self._text("--json"))["data"]
        return data

    def to_json(self) -> str:
        """The whole envelope as `--json` prints it."""
        return self._text("--json")

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """One table (the first unless named) as a pandas frame."""
        return self[table].to_pandas()

    def to_polars(self, table: str | None = None) -> polars.DataFrame:
        """One table (the first unless named) as a polars frame."""
        return self[table].to_polars()

    def to_arrow(self, table: str | None = None) -> pyarrow.Table:
        """One table (the first unless named) as a pyarrow table."""
        return self[table].to_arrow()

    def __arrow_c_schema__(self) -> object:
        """Give the schema of the first table to any Arrow library."""
        return self.table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows of the first table to any Arrow library; nothing is copied."""
        return self.table.__arrow_c_stream__(requested_schema)

    @cached_property
    def _charts(self) -> list[_native.Chart]:
        return self._traces.ask(self._arguments, "figures", self._others).charts

    def figures(self) -> list[plotly.graph_objects.Figure]:
        """The answer's charts as plotly figures; none where there is nothing to draw."""
        return figures_of(self._charts)

    def show(self, renderer: str | None = None) -> None:
        """Show the charts with plotly."""
        for figure in self.figures():
            figure.show(renderer=renderer)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the answer to a file: .html .json .csv .parquet .xlsx .md .pdf, and .svg .png where it can be drawn.

        A folder gets one file per table.
        """
        from pathlib import Path

        path = Path(path)
        folder = os.fspath(path) + ("/" if path.is_dir() else "")
        self._text("--output", folder)
        return path

    def to_text(self, width: int = 100) -> str:
        """The answer as a terminal of this width shows it."""
        text, _ = self._traces.text(self._arguments, width, False, self._others)
        return text

    def _text(self, *flags: str) -> str:
        text, _ = self._traces.text([*self._arguments, *flags], 100, False, self._others)
        return text

    def __str__(self) -> str:
        """Show the answer as a terminal does."""
        return self.to_text()

    def __repr__(self) -> str:
        """Say what it is, and what it holds."""
        tables = ", ".join(f"{table.name} ({len(table)})" for table in self)
        return f"<gpuscope.Answer {self.command!r}: {tables or 'no tables'}>"

    def _repr_html_(self) -> str:
        import html

        parts = [table._repr_html_() for table in self if len(table)]
        parts += [_chart(chart) for chart in self._charts]
        notes = "".join(f"<li>{html.escape(str(note['message']))}</li>" for note in self.quality)
        if notes:
            parts.append(
                f"<details><summary>{len(self.quality)} notes on the data</summary><ul>{notes}</ul></details>"
            )
        return "".join(parts) or f"<pre>{html.escape(str(self))}</pre>"


def _loads(text: str) -> Any:
    # Importing it costs as much as the rest of this package.
    import json

    return json.loads(text)


def figures_of(charts: Sequence[_native.Chart]) -> list[plotly.graph_objects.Figure]:
    """Charts as plotly figures."""
    objects = need("plotly.graph_objects", "figures()")
    figures = []
    for chart in charts:
        figure = objects.Figure(_loads(chart.plotly()), skip_invalid=True)
        # On pages the title stands above the chart; here the chart stands alone.
        figure.update_layout(title={"text": chart.title}, margin={"t": 60})
        figures.append(figure)
    return figures


#: Whether this process has put plotly.js into a notebook.
_has_plotly = False


def _chart(chart: _native.Chart) -> str:
    """A picture that needs nothing, and that becomes a live plotly chart of the same size where scripts may run."""
    import html
    import re

    picture = chart.svg()
    size = re.search(r'<svg[^>]*?\bheight="([0-9.]+)"', picture)
    height = f"{float(size[1]) if size else 360:.0f}px"
    place = f"gpuscope-{os.getpid()}-{next(_ids)}"
    figure = chart.plotly().replace("</", "<\\/")
    live = (
        f"if(window.Plotly){{const e=document.getElementById('{place}');e.replaceChildren();const f={figure};"
    )
    live += "f.layout.margin={...f.layout.margin,t:36};"
    live += "Plotly.newPlot(e,f.data,f.layout,{responsive:true,displaylogo:false});}"
    title = f"<p style='margin:1em 0 0'><b>{html.escape(chart.title)}</b></p>"
    frame = f"<div id='{place}' style='height:{height};max-width:960px;overflow:hidden'>{picture}</div>"
    return f"{_library()}{title}{frame}<script>{live}</script>"


def _library() -> str:
    """plotly.js, once for each process, if plotly is installed."""
    global _has_plotly
    if _has_plotly:
        return ""
    try:
        library = need("plotly.offline", "charts").get_plotlyjs()
    except ImportError:
        return ""
    _has_plotly = True
    # Notebooks that have an AMD loader would hide it from us.
    return f"<script>(function(define,module,exports){{{library}}}).call(window)</script>"
