"""Rows with typed columns: Arrow inside, handed to pandas, polars and pyarrow without copying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuscope import _native
from gpuscope._lazy import need
from gpuscope.errors import NoSuchName

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Column", "Table"]

#: Rows that a notebook shows of a table.
_SHOWN = 20


class Column(NamedTuple):
    """What a column is called, what its numbers measure, and what they mean."""

    name: str
    unit: str
    doc: str


class Table:
    """One table of an answer. Any library that speaks the Arrow PyCapsule interface takes it as it is."""

    def __init__(self, native: _native.Table) -> None:
        """Wrap a table of the native module."""
        self._native = native

    @property
    def name(self) -> str:
        """As `--table` and `answer[...]` know it."""
        return self._native.name

    @property
    def title(self) -> str:
        """As pages and terminals head it."""
        return self._native.title

    @property
    def columns(self) -> list[Column]:
        """Names, units and meanings."""
        return [Column(*column) for column in self._native.columns]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._native)

    def __arrow_c_schema__(self) -> object:
        """Give the schema to any Arrow library."""
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows to any Arrow library; nothing is copied."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table; units and meanings are in the metadata of its fields."""
        return need("pyarrow", "to_arrow()").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas frame."""
        pandas = need("pandas", "to_pandas()")
        try:
            pyarrow = need("pyarrow", "to_pandas()")
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        return pyarrow.table(self).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """As a polars frame."""
        return need("polars", "to_polars()").DataFrame(self)

    def to_dict(self) -> dict[str, list[Any]]:
        """Each column as a list; needs no other library."""
        names = (name for name, _, _ in self._native.columns)
        return dict(zip(names, self._native.to_lists(), strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dictionary; needs no other library."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows as dictionaries."""
        columns = self.to_dict()
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def __getitem__(self, column: str) -> list[Any]:
        """Give the values of one column."""
        columns = self.to_dict()
        if column not in columns:
            raise NoSuchName(f"{self.name} has no column {column!r}; it has {', '.join(columns)}")
        return columns[column]

    def __repr__(self) -> str:
        """Say what it is, not what it holds."""
        return f"<gpuscope.Table {self.name!r}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        import html

        columns = self.columns
        heads = "".join(
            f'<th title="{html.escape(column.doc, quote=True)}" style="text-align:{_side(values)}">'
            f"{html.escape(column.name)}</th>"
            for column, values in zip(columns, self.to_dict().values(), strict=True)
        )
        lines = []
        for number, row in enumerate(self):
            if number == _SHOWN:
                break
            cells = "".join(_cell(value) for value in row.values())
            lines.append(f"<tr>{cells}</tr>")
        more = f"<p>{len(self) - _SHOWN} more rows</p>" if len(self) > _SHOWN else ""
        title = f"<caption style='text-align:left'><b>{html.escape(self.title)}</b></caption>"
        style = "font-variant-numeric:tabular-nums;border-spacing:1em 0"
        body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
        return f"<div style='overflow-x:auto;margin-top:1em'><table style='{style}'>{title}{body}</table></div>{more}"


def _cell(value: object) -> str:
    """Names may be longer than any screen: they are cut, and whole where the mouse is."""
    import html

    shown = html.escape(_shown(value), quote=True)
    if _side([value]) == "right":
        return f'<td style="text-align:right">{shown}</td>'
    cut = "text-align:left;max-width:28em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
    return f'<td style="{cut}" title="{shown}">{shown}</td>'


def _side(values: list[Any]) -> str:
    """Numbers stand below one another by their last digit."""
    return "right" if any(isinstance(value, int | float) for value in values) else "left"


def _shown(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
