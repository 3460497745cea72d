"""What a benchmark runs for one case of its matrix: a function of a module, or a whole program."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gpuscope.bench.clocks import Work
from gpuscope.bench.memory import Peak, max_resident_bytes
from gpuscope.errors import GpuscopeError, UsageError

__all__ = ["Case", "FunctionTarget", "Prepared", "ProgramTarget", "Target", "call_with"]

PROGRAMS_PEAK = "peak resident memory of the program"
_KEPT_OF_ERRORS = 2000


@dataclass(frozen=True)
class Case:
    """One configuration at one batch size and one sequence length."""

    key: str
    """What its result is called."""
    config: Mapping[str, Any]
    batch: int | None = None
    seq_len: int | None = None

    def offers(self) -> dict[str, Any]:
        """Everything that a function may take by name, or a command by ``{name}``."""
        sizes = {"batch": self.batch, "seq_len": self.seq_len}
        known = {name: size for name, size in sizes.items() if size is not None}
        return {**self.config, "config": dict(self.config), **known}


@dataclass(frozen=True)
class Prepared:
    """Work that is ready to be timed."""

    work: Work
    parameters: int | None = None
    """How many numbers the model has learned, if it says so."""
    bytes_moved: int | None = None
    """How much memory one call reads and writes, if it says so."""
    peak: Callable[[], Peak] | None = None
    """The peak of the memory, where the work knows it better than this process does."""


class Target(Protocol):
    """What is run."""

    def check(self, case: Case) -> None:
        """Refuse a case that cannot be set up, before anything runs."""
        ...

    def prepare(self, case: Case) -> Prepared:
        """Set the case up, outside of the clock."""
        ...


def call_with(function: Callable[..., Any], case: Case) -> Callable[[], Any]:
    """The call of a function with those of the case's values that it has parameters for.

    >>> call_with(lambda config, batch: (config["n"], batch), Case("x", {"n": 3}, batch=4, seq_len=64))()
    (3, 4)
    """
    offers = case.offers()
    given: dict[str, Any] = {}
    name = getattr(function, "__name__", None) or repr(function)
    for parameter in _parameters(function):
        if parameter.kind is parameter.VAR_KEYWORD:
            given = {**offers, **given}
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            if parameter.name in offers:
                given[parameter.name] = offers[parameter.name]
            elif parameter.default is parameter.empty:
                raise _missing(name, parameter.name, offers)
        elif parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
            raise UsageError(f"{name}(): its parameter {parameter.name} takes no name; leave the / out")
    return lambda: function(**given)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # What is written in C says nothing; it is called as it is.
        return []


def _missing(function: str, parameter: str, offers: Mapping[str, Any]) -> UsageError:
    if parameter in ("batch", "seq_len"):
        return UsageError(
            f"{function}() takes {parameter}, and the benchmark has none: add {parameter} = [...]"
        )
    return UsageError(
        f"{function}() takes {parameter}, which no benchmark gives it; there are {', '.join(sorted(offers))}: "
        "add it to the configuration, or give it a default"
    )


@dataclass(frozen=True)
class FunctionTarget:
    """A function that does the work, or that sets it up and gives it back as something to call."""

    function: Callable[..., Any]

    def check(self, case: Case) -> None:
        """Refuse a function that asks for what the case has not got."""
        call_with(self.function, case)

    def prepare(self, case: Case) -> Prepared:
        """Call the function; if it gives something to call, that is the work, else the call itself is."""
        call = call_with(self.function, case)
        result = call()
        if not callable(result):
            return Prepared(call)
        return Prepared(result, _number(result, "parameters"), _number(result, "bytes_moved"))


def _number(work: Any, name: str) -> int | None:
    """What the work says of itself; methods of that name say something else."""
    value = getattr(work, name, None)
    return value if isinstance(value, int) else None


@dataclass
class ProgramTarget:
    """A whole program, timed from its start to its end."""

    command: Sequence[str]
    folder: Path
    """Where it runs: the folder of the spec, so that names in it mean the same wherever one stands."""
    _peak: int = field(default=0, init=False)

    def check(self, case: Case) -> None:
        """Refuse a command that asks for what the case has not got."""
        self._words(case)

    def prepare(self, case: Case) -> Prepared:
        """Fill the values of the case into the command."""
        words = self._words(case)
        self._peak = 0
        return Prepared(lambda: self._run(words), peak=lambda: Peak(self._peak or None, PROGRAMS_PEAK))

    def _words(self, case: Case) -> list[str]:
        words = [self._filled(word, case) for word in self.command]
        if words[0] in ("python", "python3"):
            # The environment that gpuscope runs in is the one that is meant.
            words[0] = sys.executable
        return words

    def _filled(self, word: str, case: Case) -> str:
        offers = case.offers()
        try:
            return word.format_map(offers)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise UsageError(
                f"command: {word!r} cannot be filled in ({type(error).__name__}: {error}); "
                f"there are {', '.join('{' + name + '}' for name in sorted(offers))}, "
                "and braces themselves are written twice"
            ) from error

    def _run(self, words: Sequence[str]) -> None:
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
                )
            except OSError as error:
                raise UsageError(f"command: {words[0]}: cannot be run: {error.strerror or error}") from error
            try:
                code = self._wait(process)
            except BaseException:
                process.kill()
                process.wait()
                raise
            if code != 0:
                raise ProgramFailed(words, code, _end_of(errors))

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        if not hasattr(os, "wait4"):
            return process.wait()
        # The system's account of this very child; that of all children knows only the largest of them.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self._peak = max(self._peak, max_resident_bytes(usage))
        return process.returncode


class ProgramFailed(GpuscopeError, RuntimeError):
    """A program that was to be timed did not end well."""

    def __init__(self, words: Sequence[str], code: int, errors: str) -> None:
        """Say how it ended, and what it said last."""
        last = errors.strip().splitlines()[-1:] or ["it wrote nothing to standard error"]
        super().__init__(f"{' '.join(words)}: ended with exit code {code}: {last[0]}")


def _end_of(errors: Any) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _KEPT_OF_ERRORS))
    return str(errors.read().decode(errors="replace"))
