"""Files are never half written: the one way in which this package writes them.

A file appears under its name when it is whole and on the disk; until then, and if anything goes wrong, what was there
before stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuscope import _native


@contextmanager
def new_file(path: Path, *, private: bool = False) -> Iterator[_native.NewFile]:
    """Write bytes to what becomes the file at the end of the block, unless the block fails.

    ``private`` is for what a program records of itself: if the file is new, only its user may read it.
    """
    file = _native.NewFile(path, private)
    try:
        yield file
    except BaseException:
        file.discard()
        raise
    file.finish()


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a whole file."""
    with new_file(path, private=private) as file:
        file.write(content)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a whole file as UTF-8."""
    write_bytes(path, text.encode("utf-8"), private=private)
