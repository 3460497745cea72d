"""Traces that were written from others: marked, so that a folder is not analysed with its own results.

HTA writes such files beside their input and takes them for recorded traces the next time. Ours carry a mark
as the first key of the file, which is found without reading more than its beginning.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from gpuscope import _native
from gpuscope._files import new_file, write_bytes

StrPath = str | os.PathLike[str]

_KEY = "gpuscopeDerivedFrom"
_MARK = f'{{"{_KEY}":'.encode()
_BLOCK = 1 << 20
_TRACE_ENDINGS = (".json", ".json.gz", ".json.zst")


def is_derived(path: Path) -> bool:
    """Whether a file was written by :func:`mark`."""
    try:
        with _reading(path) as text:
            return text.read(len(_MARK)) == _MARK
    except (OSError, EOFError):
        # Whatever is wrong with it, the reader of traces says it better.
        return False


def mark(path: Path, source: str) -> None:
    """Write into a trace what it was made from. The file is replaced only when the new one is whole."""
    with new_file(path) as out:
        if _is_gzip(path):
            # No time and no name in the header: equal traces are equal files.
            with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
                _copy_marked(path, source, packed)
        else:
            _copy_marked(path, source, out)


def marked(document: dict[str, Any], source: StrPath) -> dict[str, Any]:
    """A trace that says what it was made from, before anything else."""
    return {_KEY: Path(source).name} | document


def recorded_traces(folder: Path) -> list[Path] | None:
    """The files of a folder without those that were made from others; ``None`` if there are none of these."""
    files = sorted(
        path for path in folder.rglob("*") if path.name.endswith(_TRACE_ENDINGS) and path.is_file()
    )
    recorded = [path for path in files if not is_derived(path)]
    return None if len(recorded) == len(files) else recorded


def derived_name(source: StrPath, suffix: str = "", prefix: str = "") -> str:
    """The name of a file made from another one, with the same compression where Python can write it.

    >>> derived_name("traces/rank0.json.gz", suffix="_with_counters")
    'rank0_with_counters.json.gz'
    >>> derived_name("rank.json.0.json", prefix="overlaid_")
    'overlaid_rank.json.0.json'
    """
    name = Path(source).name
    stem, ending = name, ".json.gz"
    for known in (".json.gz", ".json.zst", ".json", ".gz", ".zst"):
        if name.endswith(known):
            stem = name[: -len(known)]
            ending = ".json" if known == ".json" else ".json.gz"
            break
    return f"{prefix}{stem}{suffix}{ending}"


def read_json(path: StrPath) -> object:
    """A JSON file, compressed with gzip or not."""
    with _reading(Path(path)) as text:
        return json.load(text)


def write_json(path: Path, document: object) -> None:
    """A compact JSON file, compressed if its name ends so."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    write_bytes(path, gzip.compress(text, 6, mtime=0) if path.name.endswith(".gz") else text)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _reading(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if _is_gzip(path) else path.open("rb")


def _copy_marked(path: Path, source: str, target: _native.NewFile | gzip.GzipFile) -> None:
    head = _MARK + json.dumps(source).encode() + b","
    blocks = _blocks(path)
    first = next(blocks, b"").lstrip()
    if first.startswith(b"{"):
        target.write(head + first[1:])
        end = b""
    else:
        # A bare array of events has no place for a mark: it becomes the array of an object.
        target.write(head + b'"traceEvents":' + first)
        end = b"}"
    for block in blocks:
        target.write(block)
    target.write(end)


def _blocks(path: Path) -> Iterator[bytes]:
    with _reading(path) as text:
        while block := text.read(_BLOCK):
            yield block
