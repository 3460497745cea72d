"""Running somebody's program as Python itself would, with something started as soon as it imports torch."""

from __future__ import annotations

import atexit
import importlib.machinery
import io
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gpuscope.errors import UsageError

_KINETO_LOG_LEVEL = "KINETO_LOG_LEVEL"
_SILENT = "99"


@dataclass(frozen=True)
class Outcome:
    """How a program ended: by itself, or with an exception."""

    error: BaseException | None = None

    @property
    def failure(self) -> str | None:
        """What went wrong in a few words; ``None`` if nothing did."""
        if self.error is None or (isinstance(self.error, SystemExit) and self.error.code in (None, 0)):
            return None
        if isinstance(self.error, SystemExit):
            return f"the program ended with sys.exit({self.error.code!r})"
        return f"the program ended with {type(self.error).__name__}: {self.error}"

    def leave(self) -> NoReturn:
        """End this process the way Python would have ended the program's."""
        if self.error is None:
            sys.exit(0)
        # Python itself shall end: it knows what each exception means for exit code, signals and handlers at
        # exit. Only the traceback is the program's alone, without the frames from here to the top.
        error, traceback, show = self.error, self.error.__traceback__, sys.excepthook
        sys.excepthook = lambda *_: show(type(error), error.with_traceback(traceback), traceback)
        raise error

    def leave_fork(self) -> NoReturn:
        """End a fork of the process that records, without the profiler it inherited.

        Torch waits for ever when an interpreter ends in a fork of a process that was being profiled.
        """
        code = 0
        if isinstance(self.error, SystemExit):
            code = self.error.code if isinstance(self.error.code, int) else int(self.error.code is not None)
        elif self.error is not None:
            sys.excepthook(type(self.error), self.error, self.error.__traceback__)
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_program(argv: Sequence[str]) -> Outcome:
    """Run the script ``argv[0]`` as ``__main__``, with ``sys.argv`` and ``sys.path[0]`` as Python sets them.

    The program's module stays ``__main__`` afterwards, for what it does when the interpreter ends.
    """
    script = Path(argv[0])
    try:
        with io.open_code(str(script.absolute())) as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"{script}: the program cannot be read: {error.strerror or error}") from error
    module = _main_module(script)
    sys.modules["__main__"] = module
    sys.argv[:] = argv
    if not sys.flags.safe_path:
        sys.path[0] = str(script.resolve().parent)
    try:
        code = compile(source, str(script.absolute()), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return Outcome(error.with_traceback(None))
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        # The first entry of the traceback is this function, which is none of the program's business.
        trace = error.__traceback__
        return Outcome(error.with_traceback(trace.tb_next if trace else None))
    return Outcome()


def _main_module(script: Path) -> types.ModuleType:
    module = types.ModuleType("__main__")
    path = str(script.absolute())
    vars(module).update(
        __file__=path,
        __builtins__=sys.modules["builtins"],
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        __cached__=None,
    )
    return module


@contextmanager
def once_torch_is_imported(then: Callable[[], None]) -> Iterator[None]:
    """Call ``then`` right after torch was imported within the block, or at once if it is there already.

    Importing torch for a program would be too early: what it sets in the environment first would no longer
    count.
    """
    if "torch" in sys.modules:
        then()
        yield
        return
    finder = _TorchFinder(then)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


class _TorchFinder:
    """Finds torch as Python would, and has its loader report when it is done."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Part of the import system's protocol."""
        if fullname != "torch":
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    self._report_when_done(spec.loader)
                return spec
        return None

    def _report_when_done(self, loader: Any) -> None:
        load = loader.exec_module

        def load_and_report(module: types.ModuleType) -> None:
            del loader.exec_module
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            with _quiet_kineto():
                load(module)
                self._then()

        loader.exec_module = load_and_report


@contextmanager
def _quiet_kineto() -> Iterator[None]:
    # Kineto reports on standard error, among others that it found no GPU; that is no word of the program's.
    if _KINETO_LOG_LEVEL in os.environ:
        yield
        return
    os.environ[_KINETO_LOG_LEVEL] = _SILENT
    try:
        yield
    finally:
        os.environ.pop(_KINETO_LOG_LEVEL, None)
