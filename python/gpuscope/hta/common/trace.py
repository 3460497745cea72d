"""The traces of a job: which ranks there are, and their events as data frames in HTA's form."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpuscope.errors import InputError, UsageError

from .. import _events
from .._derived import read_json, write_json
from .._inputs import open_traces
from ..utils.utils import shorten_name
from .trace_symbol_table import TraceSymbolTable

if TYPE_CHECKING:
    import pandas as pd

    from gpuscope import Answer, Rank, Run

    from .._inputs import StrPath, TraceFiles


class Trace:
    """The traces of a job, one per rank.

    Data frames are made when they are first asked for; analyses do not need them, they ask gpuscope.
    """

    def __init__(
        self,
        trace_files: TraceFiles | None = None,
        trace_dir: StrPath | None = None,
        parser_config: object = None,
    ) -> None:
        """Open the traces of a folder, of a list of files, or of files by rank.

        ``parser_config`` is there for HTA's sake: everything that is needed is read anyway.
        """
        del parser_config
        self.run: Run
        self._ranks: dict[int, Rank]
        self.run, self._ranks = open_traces(trace_files, trace_dir)
        self.trace_files = {n: str(Path(self._ranks[n].path).absolute()) for n in self.get_ranks()}
        folders = [str(Path(file).parent) for file in self.trace_files.values()]
        self.trace_path = os.path.commonpath(folders) if folders else ""
        self.symbol_table = TraceSymbolTable()
        self.is_parsed = False
        self._drop_last_step = False
        self._all_events: dict[int, pd.DataFrame] = {}
        self._events: dict[int, pd.DataFrame] = {}
        self._traces: dict[int, pd.DataFrame] = {}
        self._steps: dict[int, list[int]] = {}

    def load_traces(self, include_last_profiler_step: bool | None = False, **_: object) -> None:
        """Decide whether what the last profiler step launched counts. Reading has been done already."""
        self._drop_last_step = not include_last_profiler_step
        self._events.clear()
        self._traces.clear()
        self.is_parsed = True

    def parse_traces(self, **_: object) -> None:
        """Keep all steps. Reading has been done already."""
        self.load_traces(include_last_profiler_step=True)

    def align_and_filter_trace(self, include_last_profiler_step: bool | None = False) -> None:
        """The same as :meth:`load_traces`; times of all ranks count from one start anyway."""
        self.load_traces(include_last_profiler_step)

    def get_ranks(self) -> list[int]:
        """The numbers of the ranks."""
        return sorted(self._ranks)

    def rank(self, number: int) -> Rank:
        """One rank as gpuscope has it."""
        try:
            return self._ranks[number]
        except KeyError:
            known = ", ".join(map(str, self.get_ranks()))
            raise UsageError(f"rank {number}: there is no trace of it; there are ranks {known}") from None

    def asked(self, ranks: Iterable[int] | int | None) -> list[int]:
        """The ranks that were asked for; all without any."""
        if isinstance(ranks, int):
            ranks = [ranks]
        numbers = list(ranks) if ranks is not None else []
        for number in numbers:
            self.rank(number)
        return numbers or self.get_ranks()

    def ask(self, number: int, analysis: str, **options: Any) -> Answer:
        """What gpuscope answers about one rank, with the last step left out if it is to be."""
        options = {"drop_last_step": self.drops_last_step(number)} | options
        return cast("Answer", getattr(self.rank(number), analysis)(**options))

    def profiler_steps(self, number: int) -> list[int]:
        """The profiler's steps in the file of a rank, the last one included."""
        if number not in self._steps:
            self._steps[number] = list(self.rank(number).info().data["ranks"][0]["steps"])
        return self._steps[number]

    def drops_last_step(self, number: int) -> bool:
        """Whether the last step of this rank is left out: never if it is the only one."""
        return self._drop_last_step and len(self.profiler_steps(number)) >= 2

    def all_events(self, number: int) -> pd.DataFrame:
        """The events of a rank in nanoseconds, those of the last step included."""
        if number not in self._all_events:
            self._all_events[number] = _events.load(self.rank(number))
        return self._all_events[number]

    def events(self, number: int) -> pd.DataFrame:
        """The events of a rank in nanoseconds, without the last step if that is left out."""
        if number not in self._events:
            events = self.all_events(number)
            drops = self.drops_last_step(number)
            self._events[number] = _events.without_last_step(events) if drops else events
        return self._events[number]

    @property
    def min_ts(self) -> float:
        """When the first event of any rank began, in the microseconds of the files."""
        return self.start_ns / 1000

    @cached_property
    def start_ns(self) -> int:
        """When the first event of any rank began; times of data frames count from here."""
        return min((first for first in map(self._first_ns, self.get_ranks()) if first is not None), default=0)

    def _first_ns(self, number: int) -> int | None:
        # One rank after another, so that a job of many ranks is not held in memory for this alone.
        known = self._all_events.get(number)
        events = _events.load(self.rank(number)) if known is None else known
        # The profiler's own span begins before anything was recorded.
        times = events.loc[events["cat"].ne("Trace"), "ts_ns"]
        return int(times.min()) if len(times) else None

    @property
    def traces(self) -> dict[int, pd.DataFrame]:
        """The data frames of all ranks."""
        return self.get_all_traces()

    def get_trace(self, rank: int) -> pd.DataFrame:
        """The events of a rank with HTA's columns: times in microseconds since the job's first event."""
        if rank not in self._traces:
            from .._frames import trace_frame

            events = _events.load(self.rank(rank), args=True)
            kept = events.loc[self.events(rank).index]
            self._traces[rank] = trace_frame(kept, self.start_ns, self.symbol_table)
        return self._traces[rank]

    def get_all_traces(self) -> dict[int, pd.DataFrame]:
        """The data frame of each rank."""
        return {rank: self.get_trace(rank) for rank in self.get_ranks()}

    def get_iterations(self, rank: int | None = None) -> list[int]:
        """The profiler steps of a rank, by default of the first, without the last one if that is left out."""
        number = rank if rank is not None else next(iter(self.get_ranks()), None)
        if number is None or number not in self._ranks:
            return []
        steps = self.profiler_steps(number)
        return sorted(steps[:-1] if self.drops_last_step(number) else steps)

    def get_trace_duration(self, rank: int | None = None) -> float:
        """Microseconds from the start of a rank's first event to the end of its last."""
        number = rank if rank is not None else self.get_ranks()[0]
        events = self.events(number)
        events = events[events["cat"].ne("Trace")]
        return float(events["end_ns"].max() - events["ts_ns"].min()) / 1000 if len(events) else 0.0

    def get_trace_start_unixtime_ns(self, rank: int) -> int:
        """When the first event of a rank began, in nanoseconds since 1970."""
        about = self.rank(rank).info().data["ranks"][0]
        return (self._first_ns(rank) or 0) + (about["base_time_ns"] or 0)

    def get_raw_trace_for_one_rank(self, rank: int = 0) -> dict[str, Any]:
        """The file of a rank as it is. A bare array of events becomes the value of ``traceEvents``."""
        path = self.rank(rank).path
        try:
            document = read_json(path)
        except ValueError as error:
            raise InputError(f"{path}: {error}; only JSON traces can be read as they are") from error
        return cast("dict[str, Any]", document) if isinstance(document, dict) else {"traceEvents": document}

    def write_raw_trace(self, output_file: StrPath, trace_contents: dict[str, Any]) -> None:
        """Write a trace, compressed if its name ends in ``.gz``."""
        write_json(Path(output_file).expanduser(), trace_contents)

    def decode_symbol_ids(self, use_shorten_name: bool = True) -> None:
        """Add the columns ``s_name`` and ``s_cat``, which hold names, to the data frames."""
        for frame in self.get_all_traces().values():
            names = self.symbol_table.decode(frame["name"])
            frame["s_name"] = names.map(shorten_name) if use_shorten_name else names
            frame["s_cat"] = self.symbol_table.decode(frame["cat"])
