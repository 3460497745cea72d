"""How far a run is: one line on a terminal that is written over, or lines for those who ask for them."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from gpuscope.bench.timing import Measurement

__all__ = ["Progress"]

_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Tells people about a run on standard error, so that results can go elsewhere."""

    def __init__(self, stream: TextIO | None = None, *, verbose: bool = False, quiet: bool = False) -> None:
        """Write to a stream: on a terminal live, elsewhere a line for each configuration if ``verbose``."""
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and not quiet
        self._verbose = verbose and not quiet
        self._title = ""

    def begin(self, number: int, total: int, key: str) -> None:
        """A configuration begins."""
        self._title = f"[{number}/{total}] {key}"
        self._show(f"{self._title}: warming up")

    def update(self, so_far: Measurement) -> None:
        """A batch of repeats is done."""
        self._show(f"{self._title}: {so_far}")

    def done(self, result: Measurement) -> None:
        """The configuration is measured."""
        self._clear()
        if self._verbose:
            print(f"{self._title}: {result}, stopped: {result.stopped}", file=self._stream, flush=True)

    def failed(self, error: str) -> None:
        """The configuration could not be measured; said even to those who want it quiet."""
        self._clear()
        # What an error says may hold anything; it cannot steer the terminal.
        said = "".join(c if c.isprintable() else " " for c in error)
        print(f"{self._title}: failed: {said}", file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """Something that is worth a line of its own."""
        self._clear()
        print(f"{self._title}: {text}", file=self._stream, flush=True)

    def close(self) -> None:
        """Leave no half line behind."""
        self._clear()

    def _show(self, text: str) -> None:
        if self._live:
            # A line that is wrapped could not be written over.
            width = shutil.get_terminal_size((80, 24)).columns - 1
            self._stream.write(_CLEAR_LINE + text[:width])
            self._stream.flush()

    def _clear(self) -> None:
        if self._live:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
