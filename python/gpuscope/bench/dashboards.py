"""Dashboards: measure, keep the numbers as JSON, and draw them as a page that needs nothing else.

>>> from gpuscope.bench import PerformanceDashboard
>>> PerformanceDashboard("results").output_dir.name
'results'
"""

from __future__ import annotations

import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Unpack

from gpuscope.answer import Answer
from gpuscope.bench import _commands, answers
from gpuscope.bench._files import read_results, write_json
from gpuscope.bench.family import GPT_CONFIGS, key_of, name_of
from gpuscope.bench.limits import LimitOptions, Limits, nearest
from gpuscope.bench.progress import Progress
from gpuscope.errors import InputError, UsageError

__all__ = ["ComparisonDashboard", "PerformanceDashboard"]

PathName = str | os.PathLike[str]


class _Dashboard(ABC):
    """What both dashboards do with their data, once they have it."""

    data_name: str
    page_name: str
    parts: tuple[str, ...]

    def __init__(self, output_dir: PathName = "profiling_results") -> None:
        """Write into this folder, which is made when there is something to write."""
        self.output_dir = Path(output_dir)
        self.data: dict[str, Any] = {}
        self._loaded: Path | None = None

    @property
    def data_file(self) -> Path:
        """Where the data goes unless told."""
        return self.output_dir / self.data_name

    def load_data(self, path: PathName | None = None) -> dict[str, Any]:
        """Read data from an earlier run; from the output folder unless told."""
        file = self.data_file if path is None else Path(path)
        self.data = read_results(file, self.parts)
        self._loaded = file
        return self.data

    def save_data(self, path: PathName | None = None) -> Path:
        """Write the data; into the output folder unless told."""
        self._need_data()
        self._loaded = write_json(self.data, self.data_file if path is None else Path(path))
        return self._loaded

    def create_dashboard(self, path: PathName | None = None) -> Path:
        """Draw the data as a page, or whatever the ending of the path says; gives the path.

        Data that is in no file yet is saved first.
        """
        self._need_data()
        target = self.output_dir / self.page_name if path is None else Path(path)
        if self._loaded is None:
            self.save_data()
        with tempfile.TemporaryDirectory(prefix="gpuscope-") as folder:
            answer = self._answer(self._file_with_data(Path(folder)))
            target.parent.mkdir(parents=True, exist_ok=True)
            answer.save(target)
        return target

    def print_summary(self) -> None:
        """Print what the data says."""
        self._need_data()
        with tempfile.TemporaryDirectory(prefix="gpuscope-") as folder:
            _commands.print_answer(self._answer(self._file_with_data(Path(folder))))

    def _file_with_data(self, folder: Path) -> Path:
        """The file that the data came from, unless the data has changed since: then a file in the folder."""
        if self._loaded is not None and self._loaded.exists():
            try:
                if read_results(self._loaded, self.parts) == self.data:
                    return self._loaded
            except InputError:
                pass
        return write_json(self.data, folder / self.data_name)

    def _need_data(self) -> None:
        if not self.data:
            raise UsageError("there is no data yet: run the benchmark, or load_data(path)")

    @abstractmethod
    def _answer(self, file: Path) -> Answer:
        """What the data says."""


class PerformanceDashboard(_Dashboard):
    """Latency, throughput, percentiles, size and efficiency of the GPT family, or of any benchmark's results."""

    data_name = "profiling_data.json"
    page_name = "performance_dashboard.html"
    parts = ("benchmarks",)

    def run_profiling(
        self,
        configs: Iterable[str] | None = None,
        batch_size: int = 4,
        seq_len: int = 64,
        *,
        trace: bool = False,
        history: bool = False,
        db: PathName | None = None,
        progress: Progress | None = None,
        **options: Unpack[LimitOptions],
    ) -> dict[str, Any]:
        """Measure members of the GPT family, all unless told; the data is saved after each of them."""
        from gpuscope.bench.runner import run

        self.data = run(
            "gpt",
            output=self.data_file,
            configs=None if configs is None else [key_of(name_of(name)) for name in configs],
            batch=batch_size,
            seq_len=seq_len,
            trace=trace,
            history=history,
            db=db,
            progress=progress or Progress(),
            **options,
        )
        self._loaded = self.data_file
        return self.data

    def _answer(self, file: Path) -> Answer:
        return answers.report(file)


class ComparisonDashboard(_Dashboard):
    """AS-IS beside TO-BE: the same models step by step, and with fused kernels."""

    data_name = "comparison_data.json"
    page_name = "comparison_dashboard.html"
    parts = ("as_is", "to_be")

    def run_benchmark(
        self,
        models: Sequence[str] = tuple(GPT_CONFIGS),
        batch_size: int = 4,
        seq_len: int = 64,
        *,
        compile: bool = True,
        quiet: bool = False,
        **options: Unpack[LimitOptions],
    ) -> dict[str, Any]:
        """Measure models in both forms, which take turns; the data is saved after each model.

        Both forms have the same weights, and their outputs are checked to be the same before the clock runs.
        Where torch.compile does not work, the fused form runs without it, and says so.
        """
        from gpuscope.bench.comparing import compare_models

        if not models:
            raise UsageError("name at least one model to compare")

        def note(text: str) -> None:
            if not quiet:
                print(text, file=sys.stderr, flush=True)

        limits = Limits().but(options)
        for data in compare_models(models, batch_size, seq_len, limits, compile=compile, note=note):
            self.data = data
            self.save_data(self.data_file)
        return self.data

    def only(self, models: Iterable[str]) -> dict[str, Any]:
        """Leave only these models in the data, by name or key; files stay as they are."""
        self._need_data()
        there = self.data["as_is"].get("benchmarks", {})
        wanted = []
        for model in models:
            key = model if model in there else key_of(name_of(model))
            if key not in there:
                raise UsageError(f"{self._loaded or 'the data'} has no {model}{nearest(key, there)}")
            wanted.append(key)
        for part in (self.data["as_is"], self.data["to_be"]):
            part["benchmarks"] = {key: part["benchmarks"][key] for key in wanted if key in part["benchmarks"]}
        compared = self.data.get("comparison", {})
        self.data["comparison"] = {key: compared[key] for key in wanted if key in compared}
        return self.data

    def _answer(self, file: Path) -> Answer:
        return answers.compare(file)
