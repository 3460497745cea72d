"""Merges the traces of several ranks into one file, to look at them side by side in Perfetto."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from gpuscope._files import new_file
from gpuscope.errors import InputError, UsageError
from gpuscope.run import Run
from gpuscope.tracelens._exact import DecimalFloat, event_json, to_ns
from gpuscope.tracelens._kinds import arguments, gpu_kind
from gpuscope.tracelens._source import Event
from gpuscope.tracelens.data_loader import DataLoader

_LINKS = ("correlation", "External id")


class TraceFuse:
    """One trace of many: each rank's processes are told apart and its launch arrows stay its own.

    One file is in memory at a time. The result is for looking at; analyses take the files as they are.
    """

    def __init__(
        self,
        profile_filepaths_list_or_dict: Sequence[str | os.PathLike[str]]
        | Mapping[int, str | os.PathLike[str]]
        | Run,
        use_multiprocessing: bool = False,
        max_workers: int | None = None,
    ) -> None:
        """Takes files in the order of their ranks, ``{rank: file}``, or traces that gpuscope has opened.

        ``use_multiprocessing`` and ``max_workers`` are accepted for the sake of existing programs.
        """
        self.rank2filepath = _by_rank(profile_filepaths_list_or_dict)
        if not self.rank2filepath:
            raise UsageError("there is nothing to merge: pass the trace files, a list or {rank: file}")

    def merge(
        self, filter_fn: Callable[[Event], bool] | None = None, include_pyfunc: bool = False
    ) -> list[dict[str, Any]]:
        """The events of all ranks. For more than a few, :meth:`merge_and_save` takes less memory."""
        return list(self._merged(filter_fn, include_pyfunc))

    def merge_and_save(
        self,
        output_file: str | os.PathLike[str] = "merged_trace.json",
        filter_fn: Callable[[Event], bool] | None = None,
        include_pyfunc: bool = False,
    ) -> str:
        """Writes the merged trace, compressed, and returns where: the given name, with ``.gz`` at its end.

        ``filter_fn`` says which events are kept. Without it all are, but for Python frames, which are many;
        ``include_pyfunc`` keeps those too.
        """
        path = Path(output_file)
        if path.suffix != ".gz":
            path = path.with_name(path.name + ".gz")
        with _written(path) as file:
            file.write('{"displayTimeUnit":"ms","traceEvents":[')
            for at, event in enumerate(self._merged(filter_fn, include_pyfunc)):
                file.write(("," if at else "") + "\n" + event_json(event))
            file.write("\n]}\n")
        return str(path)

    def _merged(
        self, filter_fn: Callable[[Event], bool] | None, include_pyfunc: bool
    ) -> Iterator[dict[str, Any]]:
        wanted = filter_fn or (
            lambda event: (
                event.get("cat") != "Trace" and (include_pyfunc or event.get("cat") != "python_function")
            )
        )
        first_base_ns: int | None = None
        for place, (rank, path) in enumerate(self.rank2filepath.items()):
            trace = DataLoader.load_data(path)
            base_ns = _base_ns(trace)
            first_base_ns = base_ns if first_base_ns is None else first_base_ns
            one = _OneRank(rank, place, len(self.rank2filepath), base_ns - first_base_ns)
            yield from one.events(
                [event for event in trace["traceEvents"] if isinstance(event, dict)], wanted
            )


class _OneRank:
    """A rank's events under numbers that no other rank has."""

    def __init__(self, rank: int, place: int, ranks: int, shift_ns: int) -> None:
        self._rank, self._place, self._ranks, self._shift_ns = rank, place, ranks, shift_ns

    def events(
        self, trace: list[dict[str, Any]], wanted: Callable[[Event], bool]
    ) -> Iterator[dict[str, Any]]:
        used: dict[Any, bool] = {}  # processes that have events, and whether any is a GPU's
        for event in trace:
            if event.get("ph") != "M" and wanted(event):
                is_gpu = gpu_kind(event) is not None or event.get("cat") == "gpu_user_annotation"
                used[event.get("pid")] = used.get(event.get("pid"), False) or is_gpu
                yield self._own(event)
        for event in trace:
            # Processes get names that say the rank; threads keep theirs.
            names_process = str(event.get("name", "")).startswith("process_")
            if event.get("ph") == "M" and event.get("pid") in used and not names_process:
                yield self._own(event)
        yield from self._process_names(used)

    def _own(self, event: dict[str, Any]) -> dict[str, Any]:
        args = dict(arguments(event)) | {"rank": self._rank}
        own = {**event, "args": args}
        for key in ("pid", "id"):
            if key in event:
                args[f"{key}_raw"], own[key] = event[key], self._number(event[key])
        for key in _LINKS:
            if isinstance(args.get(key), int):
                args[f"{key}_raw"], args[key] = args[key], self._number(args[key])
        if self._shift_ns and event.get("ts") is not None:
            own["ts"] = DecimalFloat.from_ns(to_ns(event["ts"]) + self._shift_ns)
        return own

    def _number(self, number: Any) -> Any:
        """Numbers of different ranks never meet, however large those of one are."""
        return (
            number * self._ranks + self._place
            if isinstance(number, int)
            else f"{number} of rank {self._rank}"
        )

    def _process_names(self, used: Mapping[Any, bool]) -> Iterator[dict[str, Any]]:
        gpus = sorted((pid for pid, is_gpu in used.items() if is_gpu), key=str)
        for pid, is_gpu in used.items():
            which = f"GPU {pid}" if is_gpu and len(gpus) > 1 else "GPU" if is_gpu else "CPU"
            metadata = {"ph": "M", "pid": self._number(pid), "tid": 0, "ts": 0}
            yield {**metadata, "name": "process_name", "args": {"name": f"RANK {self._rank} - {which}"}}
            order = 2 * self._place + is_gpu
            yield {**metadata, "name": "process_sort_index", "args": {"sort_index": order}}


def _by_rank(given: Any) -> dict[int, str | os.PathLike[str]]:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, (str, os.PathLike)):
        return {0: given}
    if isinstance(given, Run):
        return {rank.number: rank.path for rank in given.ranks}
    return dict(enumerate(given))


def _base_ns(trace: Mapping[str, Any]) -> int:
    """The instant from which a file counts its times, which need not be the same in all."""
    base = trace.get("baseTimeNanoseconds", 0)
    return base if isinstance(base, int) else 0


@contextmanager
def _written(path: Path) -> Iterator[IO[str]]:
    """A file to write to, there only once it is whole."""
    try:
        with (
            new_file(path) as out,
            gzip.GzipFile(path.name, "wb", 6, out) as packed,
            TextIOWrapper(packed, encoding="utf-8") as file,
        ):
            yield file
    except OSError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: {error.strerror or error}; check that the folder is there and writable"
        ) from error
