"""Reads a trace file into plain Python objects."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpuscope.errors import InputError
from gpuscope.run import open as open_traces
from gpuscope.tracelens import _exact

_GZIP = b"\x1f\x8b"


class DataLoader:
    """Reads trace files."""

    @staticmethod
    def load_data(filename_path: str | os.PathLike[str]) -> dict[str, Any]:
        """The trace as ``json.load`` would give it, with its events under ``traceEvents``.

        Takes plain, gzip and zstd files, recognised by what is in them. A file that breaks off is read up to
        its last whole event. Floats remember the text they were read from, so that no analysis loses digits.
        """
        path = Path(filename_path)
        try:
            trace = _exact.loads(_text(path))
        except (ValueError, zlib.error, EOFError):
            trace = None
        if not _is_trace(trace):
            # gpuscope's own reader knows more containers, mends broken ends and says what is wrong where.
            trace = _mended(path)
        return trace if isinstance(trace, dict) else {"traceEvents": trace}


def _is_trace(parsed: Any) -> bool:
    return isinstance(parsed.get("traceEvents") if isinstance(parsed, dict) else parsed, list)


def _text(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def _mended(path: Path) -> Any:
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "trace.json"
        open_traces(path).convert(whole)
        return _exact.loads(whole.read_bytes())
