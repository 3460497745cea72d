"""Writing traces with something on top, where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpuscope.errors import UsageError

from ._derived import derived_name, mark

#: What can be added to a trace.
Counter = Literal["queue", "bandwidth"]

if TYPE_CHECKING:
    from ._inputs import StrPath
    from .common.trace import Trace


def folder_for(output_dir: StrPath) -> Path:
    """The folder to write to, which is made if it is not there."""
    folder = Path(output_dir).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"output_dir={folder}: this is a file, not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_counters(
    t: Trace, rank: int, add: Sequence[Counter], suffix: str, output_dir: StrPath | None
) -> Path:
    """Write a rank's trace with counters, and answer where."""
    source = Path(t.trace_files[rank])
    folder = source.parent if output_dir is None else folder_for(output_dir)
    target = folder / derived_name(source, suffix=suffix)
    t.rank(rank).convert(target, add=add)
    mark(target, source.name)
    return target
