"""Benchmarks inside of tests: the fixture ``gpuscope_bench``, and the results of a session as a file.

    def test_forward(gpuscope_bench):
        result = gpuscope_bench(model, tokens, max_repeats=100)
        assert result.mean_ms < 5

``pytest --gpuscope-bench-json FILE`` writes all results in the shape of profiling_data.json after each test
that has some, and ``--gpuscope-db DB`` adds them to a history. pytest loads this module in every session, so
that nothing else is imported before the fixture is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from gpuscope._lazy import need

if TYPE_CHECKING:
    from gpuscope.bench.limits import LimitOptions
    from gpuscope.bench.runner import Results
    from gpuscope.bench.timing import Measurement

__all__ = ["Bench", "gpuscope_bench"]

# Only pytest itself loads this module; type checkers need not know it.
pytest: Any = need("pytest", "gpuscope.bench.pytest_plugin")

_SESSION = pytest.StashKey()


def pytest_addoption(parser: Any) -> None:
    """Part of pytest's protocol."""
    group = parser.getgroup("gpuscope", "benchmarks with gpuscope")
    group.addoption(
        "--gpuscope-bench-json",
        metavar="FILE",
        type=Path,
        help="write what gpuscope_bench measured, in the shape of profiling_data.json",
    )
    group.addoption(
        "--gpuscope-db", metavar="DB", type=Path, help="add what gpuscope_bench measured to this history"
    )


def _bench_of_a_test(request: Any) -> Iterator[Bench]:
    """``gpuscope_bench(fn, *args, name=None, **options)`` measures a call, and gives a ``Measurement``."""
    session = _session_of(request.config)
    yield Bench(_name_of(request), session)
    session.write()


gpuscope_bench = pytest.fixture(_bench_of_a_test, name="gpuscope_bench")


def _name_of(request: Any) -> str:
    # As pytest names tests, without the folder: charts have little room.
    return str(request.node.nodeid).rpartition("/")[2]


def _session_of(config: Any) -> _Session:
    if _SESSION not in config.stash:
        config.stash[_SESSION] = _Session(config)
    session: _Session = config.stash[_SESSION]
    return session


class Bench:
    """What the fixture gives to one test."""

    def __init__(self, test: str, session: _Session) -> None:
        """Name results after this test."""
        self._test = test
        self._session = session

    def __call__(
        self,
        work: Callable[..., object],
        /,
        *args: Any,
        name: str | None = None,
        **options: Unpack[LimitOptions],
    ) -> Measurement:
        """Measure ``work(*args)``; what the work takes by name is given with a lambda.

        The result is called as the test unless it has a ``name``; ``options`` are those of ``measure``.
        """
        return self._session.measure(name or self._test, functools.partial(work, *args), options)


class _Session:
    """The results of one session."""

    def __init__(self, config: Any) -> None:
        # Tests may change the current folder.
        folder = config.invocation_params.dir
        file, db = config.getoption("--gpuscope-bench-json"), config.getoption("--gpuscope-db")
        worker = getattr(config, "workerinput", {}).get("workerid")
        if file is not None and worker:
            # Each worker of pytest-xdist has a session of its own.
            file = file.with_name(f"{file.stem}.{worker}{file.suffix}")
        self._file: Path | None = None if file is None else folder / file
        self._db: Path | None = None if db is None else folder / db
        self.measured: dict[str, Measurement] = {}
        self._results: Results | None = None
        self._changed = False

    def measure(self, key: str, work: Callable[[], object], options: LimitOptions) -> Measurement:
        from gpuscope.bench.limits import Limits
        from gpuscope.bench.memory import PeakMemory
        from gpuscope.bench.runner import entry_of
        from gpuscope.bench.targets import Case
        from gpuscope.bench.timing import measure_together
        from gpuscope.errors import UsageError

        if key in self.measured:
            raise UsageError(
                f"gpuscope_bench: there is a result {key!r} already; give this one another name="
            )
        memory = PeakMemory()
        measured = measure_together([work], Limits().but(options))[0]
        peak = memory.read()
        self.measured[key] = measured
        entry = entry_of(Case(key, {}), measured, None)
        entry["peak_memory_bytes"], entry["memory_source"] = peak.size, peak.source
        self._kept().data["benchmarks"][key] = entry
        self._changed = True
        return measured

    def _kept(self) -> Results:
        if self._results is None:
            from gpuscope.bench import environment
            from gpuscope.bench._commands import History
            from gpuscope.bench.runner import Results

            self._results = Results(self._place(), None if self._db is None else History(self._db))
            self._results.data["metadata"] = {**environment.describe(), "benchmark": "pytest"}
        return self._results

    def _place(self) -> Path | None:
        if self._file is not None or self._db is None:
            return self._file
        # The history takes a file; nobody asked for one that stays.
        import atexit
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix="gpuscope-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder) / "profiling_data.json"

    @property
    def trouble(self) -> str | None:
        """Why the history has not got the results, if it has not."""
        history = None if self._results is None else self._results.history
        return None if history is None or history.error is None else str(history.error)

    def write(self) -> None:
        """Write the results down if there are new ones."""
        if self._results is not None and self._changed:
            self._results.write()
            self._changed = False


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Part of pytest's protocol: one line for each result, nothing if there are none."""
    session = config.stash.get(_SESSION, None)
    if session is None or not session.measured:
        return
    terminalreporter.section("gpuscope benchmarks")
    width = max(map(len, session.measured))
    for key, measured in session.measured.items():
        terminalreporter.write_line(f"{key:{width}}  {measured}")
    if session.trouble is not None:
        # What is printed while a test runs is seen only if it fails.
        terminalreporter.write_line(f"not added to the history: {session.trouble}", red=True)
