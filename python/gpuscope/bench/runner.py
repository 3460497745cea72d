"""Running a benchmark: every case of its matrix, each written down as soon as it is finished.

Whatever ends a run - Ctrl-C, a configuration that fails, a signal that cannot be caught - costs what was not
finished, and nothing else: the file of results is replaced as a whole after each configuration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

from gpuscope.bench import environment
from gpuscope.bench._commands import History
from gpuscope.bench._files import write_json
from gpuscope.bench.clocks import Clock
from gpuscope.bench.limits import LimitOptions
from gpuscope.bench.memory import PeakMemory
from gpuscope.bench.progress import Progress
from gpuscope.bench.spec import Sizes, Spec, load_spec, modules_from
from gpuscope.bench.targets import Case, Prepared, ProgramTarget
from gpuscope.bench.timing import Measurement, measure_together
from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling._torch import need_torch

__all__ = ["Results", "entry_of", "run", "run_spec"]


def run(
    source: str | os.PathLike[str] | Spec | Callable[..., Any],
    *,
    output: str | os.PathLike[str] | None = None,
    configs: Iterable[str] | None = None,
    batch: Sizes | None = None,
    seq_len: Sizes | None = None,
    trace: bool | None = None,
    history: bool = False,
    db: str | os.PathLike[str] | None = None,
    label: str | None = None,
    flags: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
    **limits: Unpack[LimitOptions],
) -> dict[str, Any]:
    """Run a benchmark, and give its results as they stand in profiling_data.json.

    Args:
        source: A function with ``@benchmark``, any function, a ``Spec``, or what ``load_spec`` takes.
        output: The file that is written after each configuration; none unless told.
        configs: Only these configurations.
        batch: Other batch sizes.
        seq_len: Other sequence lengths.
        trace: Whether each configuration is recorded with torch's profiler, too.
        history: Whether the results are added to the history; ``db`` says the same, and where it is.
        db: The database of the history.
        label: What this run is called.
        flags: Whatever else is worth knowing about this run, by name.
        clock: What to time with, as for ``measure``.
        progress: Where to say how far it is; nowhere unless told.
        **limits: As for ``measure``.
    """
    spec = load_spec(source).but(configs=configs, batch=batch, seq_len=seq_len, trace=trace, **limits)
    adds = history or db is not None
    if output is None and (adds or spec.trace):
        raise UsageError("name a file, output=: the history and traces need one")
    path = None if output is None else Path(output)
    results = Results(path, History(db) if adds else None, label=label, flags=flags)
    return run_spec(spec, results, progress or Progress(quiet=True), clock).data


class Results:
    """What is finished so far, in memory and on disk."""

    def __init__(
        self,
        path: Path | None,
        history: History | None = None,
        *,
        label: str | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep results in a file, and add them to the history, if there are such."""
        self.path = path
        self.history = history
        self._label = label
        self._flags = flags
        self._begin = datetime.now()
        self.data: dict[str, Any] = {"metadata": {}, "benchmarks": {}}

    @property
    def failures(self) -> list[dict[str, str]]:
        """What could not be measured, and why."""
        failures: list[dict[str, str]] = self.data.get("failures", [])
        return failures

    def describe(self, spec: Spec) -> None:
        """Find out where this runs; once, when the first case has loaded what it needs."""
        if self.data["metadata"]:
            return
        programs = isinstance(spec.target, ProgramTarget)
        found = environment.describe(spec.folder, flags=self._flags, programs=programs)
        found["timestamp"] = self._begin.isoformat(timespec="microseconds")
        found["benchmark"] = spec.name
        if self._label is not None:
            found["label"] = self._label
        for name, sizes in (("batch_size", spec.batch), ("seq_len", spec.seq_len)):
            if len(sizes) == 1:
                found[name] = sizes[0]
        self.data["metadata"] = found

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Write down a finished case."""
        self.data["benchmarks"][key] = entry
        self.write()

    def fail(self, key: str, error: str) -> None:
        """Write down a case that could not be measured."""
        self.data.setdefault("failures", []).append({"key": key, "error": error})
        self.write()

    def write(self) -> None:
        """Write everything so far, and add it to the history."""
        if self.path is None:
            return
        write_json(self.data, self.path)
        # A failure alone has nothing that a history could hold.
        if self.history is not None and self.data["benchmarks"]:
            self.history.add(self.path)


def run_spec(spec: Spec, results: Results, progress: Progress, clock: Clock | None = None) -> Results:
    """Measure every case; one that fails is noted, and the others go on."""
    cases = spec.cases()
    if spec.trace:
        if isinstance(spec.target, ProgramTarget):
            raise UsageError(
                "trace: only functions can be traced, not programs; use `gpuscope profile` for those"
            )
        need_torch("a trace of each configuration")
    for case in cases:
        spec.target.check(case)
    try:
        with modules_from(spec.folder):
            for number, case in enumerate(cases, 1):
                progress.begin(number, len(cases), case.key)
                _run_case(spec, case, results, progress, clock)
    finally:
        progress.close()
    return results


def _run_case(spec: Spec, case: Case, results: Results, progress: Progress, clock: Clock | None) -> None:
    try:
        entry, measured = _measured(spec, case, results, progress, clock)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        progress.failed(reason)
        results.describe(spec)
        results.fail(case.key, reason)
        return
    results.describe(spec)
    results.add(case.key, entry)
    progress.done(measured)


def _measured(
    spec: Spec, case: Case, results: Results, progress: Progress, clock: Clock | None
) -> tuple[dict[str, Any], Measurement]:
    memory = PeakMemory()
    prepared = spec.target.prepare(case)
    measured = measure_together([prepared.work], spec.limits, clock=clock, watcher=progress.update)[0]
    peak = prepared.peak() if prepared.peak is not None else memory.read()
    entry = entry_of(case, measured, spec.tokens_of(case))
    entry["peak_memory_bytes"], entry["memory_source"] = peak.size, peak.source
    if spec.trace and results.path is not None:
        _add_trace(entry, prepared, case, results.path.parent, progress)
    if prepared.bytes_moved is not None and measured.mean_ms > 0:
        entry["bandwidth_bytes_per_s"] = prepared.bytes_moved / (measured.mean_ms / 1e3)
    if prepared.parameters is not None:
        entry["parameters"] = prepared.parameters
    return entry, measured


def entry_of(case: Case, measured: Measurement, tokens: int | None) -> dict[str, Any]:
    """What stands under the key of a case."""
    said = measured.to_dict()
    entry: dict[str, Any] = {"config": dict(case.config), "timing": said.pop("timing")}
    if tokens is not None and measured.mean_ms > 0:
        entry["throughput_tokens_per_sec"] = tokens / (measured.mean_ms / 1e3)
    if case.batch is not None:
        entry["batch_size"] = case.batch
    if case.seq_len is not None:
        entry["seq_len"] = case.seq_len
    return {**entry, **said}


def _add_trace(
    entry: dict[str, Any], prepared: Prepared, case: Case, folder: Path, progress: Progress
) -> None:
    from gpuscope.bench._tracing import record_trace

    # The times are taken; a trace that cannot be had is no reason to lose them.
    try:
        entry["trace"] = record_trace(prepared.work, case.key, folder)
    except (GpuscopeError, OSError, RuntimeError) as error:
        progress.note(f"no trace: {error}")
