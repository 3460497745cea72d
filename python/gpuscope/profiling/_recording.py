"""The verbs that run a program: ``profile`` and ``memory``."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TypeVar

from gpuscope._files import new_file
from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling._program import Outcome, once_torch_is_imported, run_program
from gpuscope.profiling._saving import check_place, print_or_save_json, save_answer
from gpuscope.profiling.memory import MemoryProfiler
from gpuscope.profiling.profiler import UnifiedProfiler
from gpuscope.profiling.session import ProfileSession

DEFAULT_FOLDER = "profiles"

_NOTHING = "the program did not import torch in its main thread, so there is nothing to report"

Recorded = TypeVar("Recorded")


def profile_program(
    argv: Sequence[str], output: Path | None = None, as_json: bool = False, with_stack: bool = False
) -> Outcome:
    """Run a program under the profiler, then write its trace, its flame graph and a summary.

    ``output`` is a folder for them, or a file: ``.json`` and ``.json.gz`` for the trace, ``.html`` for the
    report.
    """
    output = _for_good(output)
    is_file = output is not None and (as_json or output.name.endswith((".json", ".json.gz", ".html")))
    folder = Path(DEFAULT_FOLDER).absolute() if output is None or is_file else output
    check_place(folder / "trace.json")
    profiler = UnifiedProfiler(folder, with_stack=with_stack)
    session, outcome = _record(argv, lambda: profiler.profile(Path(argv[0]).stem))
    if session is not None:
        _report(lambda: write_session(session, output if is_file else None, as_json))
    return outcome


def _for_good(output: Path | None) -> Path | None:
    """Where to write, checked before the program runs and whatever folder it moves to."""
    if output is None:
        return None
    check_place(output)
    return output.absolute()


def write_session(session: ProfileSession, file: Path | None, as_json: bool) -> None:
    """Write a summary to standard error, and the numbers as JSON, the trace or the report where wished."""
    print(session.summary(), file=sys.stderr)
    if as_json:
        print_or_save_json(session.to_dict(), file, private=True)
    elif file is None:
        return
    elif file.suffix == ".html":
        save_answer(session.open().analyze(), file, ".html", private=True)
    elif session.trace_path is not None:
        _write_trace(session.trace_path, file)


def _write_trace(trace: Path, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with trace.open("rb") as plain, new_file(file, private=True) as out:
        if file.suffix == ".gz":
            import gzip

            with gzip.GzipFile(trace.name, "wb", fileobj=out) as packed:
                shutil.copyfileobj(plain, packed)
        else:
            shutil.copyfileobj(plain, out)


def track_program(
    argv: Sequence[str], output: Path | None = None, as_json: bool = False, sample_interval_ms: float = 1.0
) -> Outcome:
    """Run a program while its memory is followed, then write the timeline and a summary."""
    if output is not None and not as_json and not output.name.endswith((".json", ".csv", ".html")):
        raise UsageError(f"{output}: memory is written as .json, .csv or .html")
    output = _for_good(output)
    profiler = MemoryProfiler(sample_interval_ms)
    tracked, outcome = _record(argv, lambda: profiler.track(Path(argv[0]).stem))
    if tracked is not None:
        _report(lambda: _write_memory(tracked, output, as_json))
    return outcome


def _write_memory(profiler: MemoryProfiler, output: Path | None, as_json: bool) -> None:
    peak = profiler.get_peak_analysis()
    print(
        f"{peak['peak_label']}: peak {peak['peak_allocated_mb']:.1f} MB at {peak['peak_time_ms']:.1f} ms on "
        f"{peak['device']}, {peak['growth_mb']:+.1f} MB from start to end\n  {peak['source']}",
        file=sys.stderr,
    )
    if as_json:
        print_or_save_json(profiler.to_dict(), output, private=True)
    elif output is not None:
        profiler.export(output)


def _record(
    argv: Sequence[str], collect: Callable[[], AbstractContextManager[Recorded]]
) -> tuple[Recorded | None, Outcome]:
    recorded: list[Recorded] = []
    refused: list[GpuscopeError] = []
    process = os.getpid()
    with ExitStack() as collectors:

        def begin() -> None:
            # Torch's profiler belongs to a thread; in any other than the main one it would miss the program.
            if threading.current_thread() is threading.main_thread():
                # This runs within the program's `import torch`, which must not fail because of us.
                try:
                    recorded.append(collectors.enter_context(collect()))
                except GpuscopeError as error:
                    refused.append(error)
                    print(f"gpuscope: nothing is recorded: {error}", file=sys.stderr)

        with once_torch_is_imported(begin):
            outcome = run_program(argv)
        if os.getpid() != process:
            # A fork of the program that came back: only the process that began may report.
            outcome.leave_fork()
    if not recorded:
        if not refused:
            print(f"gpuscope: {_NOTHING}", file=sys.stderr)
        return None, outcome
    if outcome.failure:
        print(f"gpuscope: {outcome.failure}; what was recorded until then:", file=sys.stderr)
    return recorded[0], outcome


def _report(write: Callable[[], None]) -> None:
    # The program is done and its exit code is what counts; trouble with the report is told, no more.
    try:
        sys.stdout.flush()
        write()
    except (GpuscopeError, OSError) as error:
        print(f"gpuscope: {error}", file=sys.stderr)
