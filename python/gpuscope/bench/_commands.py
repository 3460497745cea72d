"""The commands of the command line that benchmarks use: reports, comparisons and the history."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from gpuscope.answer import Answer
from gpuscope.errors import GpuscopeError
from gpuscope.tools import _command


def print_answer(answer: Answer) -> None:
    """Show an answer as wide as the terminal is."""
    print(answer.to_text(shutil.get_terminal_size((100, 24)).columns), end="")


class History:
    """The database that results are added to; trouble with it is told once and ends no measurement."""

    def __init__(self, db: str | os.PathLike[str] | None = None) -> None:
        """Use this database, or the usual one."""
        self._place = [] if db is None else ["--db", os.fspath(db)]
        self.error: GpuscopeError | None = None

    def add(self, file: Path) -> None:
        """Add a file of results; what is in the history already is not added again."""
        try:
            _command(["history", "add", os.fspath(file), *self._place])
        except GpuscopeError as error:
            if self.error is None:
                print(f"gpuscope: {file}: not added to the history: {error}", file=sys.stderr)
            self.error = error
