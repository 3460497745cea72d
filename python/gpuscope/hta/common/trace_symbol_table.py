"""Names as numbers: data frames of traces hold these in their columns ``name`` and ``cat``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class TraceSymbolTable:
    """Every name and category of a job's traces, each under a number.

    Numbers are given in order of appearance, so that they are the same each time a trace is read.

    >>> table = TraceSymbolTable()
    >>> table.add_symbols(["kernel", "aten::mm", "kernel"])
    >>> table.get_sym_table(), table.get_sym_id_map()
    (['kernel', 'aten::mm'], {'kernel': 0, 'aten::mm': 1})
    """

    def __init__(self) -> None:
        """Begin without names."""
        self.sym_table: list[str] = []
        self.sym_index: dict[str, int] = {}

    def is_empty(self) -> bool:
        """Whether there are no names yet."""
        return not self.sym_table

    def add_symbols(self, symbols: Iterable[str]) -> None:
        """Give each name that is new a number."""
        for symbol in symbols:
            if symbol not in self.sym_index:
                self.sym_index[symbol] = len(self.sym_table)
                self.sym_table.append(symbol)

    def get_sym_table(self) -> list[str]:
        """The names, each at the place of its number."""
        return self.sym_table

    def get_sym_id_map(self) -> dict[str, int]:
        """The number of each name."""
        return self.sym_index

    def find_matched_symbols(self, patterns: Iterable[str]) -> list[str]:
        """The names that begin with a match of one of these regular expressions."""
        expressions = [re.compile(pattern) for pattern in patterns]
        return [name for name in self.sym_table if any(e.match(name) for e in expressions)]

    def find_matches(self, patterns: Iterable[str]) -> list[int]:
        """The numbers of the names that begin with a match of one of these regular expressions."""
        return [self.sym_index[name] for name in self.find_matched_symbols(patterns)]

    def encode(self, names: pd.Series) -> pd.Series:
        """Names as numbers; new ones are added."""
        uniques = names.unique().tolist()
        self.add_symbols(uniques)
        return names.map({name: self.sym_index[name] for name in uniques}).astype("int64")

    def decode(self, ids: pd.Series) -> pd.Series:
        """Numbers as names."""
        return ids.map(dict(enumerate(self.sym_table)))
