"""From HTA's ways to name traces to an open run: a folder, a list of files, or files by rank."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuscope.errors import InputError, UsageError

from ._derived import recorded_traces

if TYPE_CHECKING:
    from gpuscope import Rank, Run

    StrPath = str | os.PathLike[str]
    TraceFiles = Sequence[StrPath] | Mapping[int, StrPath]


def open_traces(trace_files: TraceFiles | None, trace_dir: StrPath | None) -> tuple[Run, dict[int, Rank]]:
    """The run, and its ranks under the numbers they are asked for by."""
    import gpuscope

    if trace_files is None:
        run = gpuscope.open(_folder(trace_dir))
        return run, {rank.number: rank for rank in run.ranks}
    if isinstance(trace_files, Mapping):
        paths = {int(number): _file(path, trace_dir) for number, path in trace_files.items()}
        run = gpuscope.open(list(paths.values()))
        return run, _numbered(run, paths)
    if isinstance(trace_files, (str, os.PathLike)):
        trace_files = [trace_files]
    run = gpuscope.open([_file(path, trace_dir) for path in trace_files])
    return run, {rank.number: rank for rank in run.ranks}


def _folder(trace_dir: StrPath | None) -> str | list[str]:
    if trace_dir is None:
        raise UsageError("no traces are named: pass trace_dir=, a folder, or trace_files=, a list or a dict")
    folder = Path(trace_dir).expanduser()
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder")
    recorded = recorded_traces(folder) if folder.is_dir() else None
    if recorded == []:
        raise InputError(f"{folder}: all traces here were made from others; name the recorded ones")
    return str(folder) if recorded is None else [str(path) for path in recorded]


def _file(path: StrPath, trace_dir: StrPath | None) -> str:
    file = Path(path).expanduser()
    if trace_dir is not None and not file.is_absolute():
        inside = Path(trace_dir).expanduser() / file
        file = inside if inside.exists() or not file.exists() else file
    return str(file)


def _numbered(run: Run, paths: Mapping[int, str]) -> dict[int, Rank]:
    """The ranks by the numbers that the caller gave their files, whatever the files say themselves."""
    import gpuscope

    own = {os.path.realpath(entry["path"]): int(entry["rank"]) for entry in run.inputs}
    told_apart = len(set(own.values())) == len(paths)
    ranks: dict[int, Rank] = {}
    for number, path in sorted(paths.items()):
        file = os.path.realpath(path)
        if file not in own:
            raise InputError(f"{path}: nothing was read from this file")
        # Files that claim to be one and the same rank can only be asked about one by one.
        ranks[number] = run.rank(own[file]) if told_apart else gpuscope.open(path).ranks[0]
    return ranks
