"""What to benchmark: a matrix of configurations, batch sizes and sequence lengths, and how long to measure each.

A spec is a TOML file, ``module:function``, ``gpt`` (the built-in family), or a function with ``@benchmark``:

>>> from gpuscope.bench import benchmark
>>> @benchmark(configs={"small": {"n": 10}, "large": {"n": 1000}}, batch=(1, 4), max_repeats=50)
... def sums(n: int, batch: int) -> int:
...     return sum(range(n * batch))
>>> [case.key for case in sums.spec.cases()]
['small_b1', 'small_b4', 'large_b1', 'large_b4']
>>> sums(3, 1)
3
"""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from gpuscope.bench.limits import LimitOptions, Limits, nearest
from gpuscope.bench.targets import Case, FunctionTarget, Target, call_with
from gpuscope.errors import GpuscopeError, UsageError

__all__ = ["Benchmarked", "Spec", "benchmark", "load_spec"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

Config = Mapping[str, Any]
Sizes = int | Sequence[int]
#: A number of tokens for each repeat, or a function that tells it from the case.
Tokens = int | Callable[..., int]


@dataclass(frozen=True)
class Spec:
    """A benchmark: what runs, with which values, and for how long."""

    name: str
    target: Target
    configs: Mapping[str, Config] = field(default_factory=dict)
    """By the key of their results; without any there is one, called as the benchmark."""
    batch: tuple[int, ...] = ()
    seq_len: tuple[int, ...] = ()
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)
    trace: bool = False
    folder: Path = field(default_factory=Path.cwd)
    """Where modules and programs are found."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of configurations, and the keys they stand for."""

    def cases(self) -> list[Case]:
        """All combinations; their sizes are part of the key only where there are several."""
        several = len(self.batch) > 1 or len(self.seq_len) > 1
        configs = self.configs or {self.name: {}}
        sizes = itertools.product(configs, self.batch or (None,), self.seq_len or (None,))
        return [
            Case(_key(name, batch, seq_len) if several else name, configs[name], batch, seq_len)
            for name, batch, seq_len in sizes
        ]

    def tokens_of(self, case: Case) -> int | None:
        """How many tokens one repeat takes in; ``None`` where nobody says."""
        if callable(self.tokens):
            return int(call_with(self.tokens, case)())
        if self.tokens is not None:
            return self.tokens
        if case.batch is None or case.seq_len is None:
            return None
        return case.batch * case.seq_len

    def but(
        self,
        *,
        configs: Iterable[str] | None = None,
        batch: Sizes | None = None,
        seq_len: Sizes | None = None,
        trace: bool | None = None,
        **limits: Unpack[LimitOptions],
    ) -> Spec:
        """The same with fewer configurations, other sizes or other limits."""
        return replace(
            self,
            configs=self.configs if configs is None else self._chosen(configs),
            batch=self.batch if batch is None else sizes_of("batch", batch),
            seq_len=self.seq_len if seq_len is None else sizes_of("seq_len", seq_len),
            trace=self.trace if trace is None else trace,
            limits=self.limits.but(limits),
        )

    def _chosen(self, names: Iterable[str]) -> dict[str, Config]:
        configs = self.configs or {self.name: {}}
        chosen = {}
        for name in names:
            key = self.aliases.get(name, name)
            if key not in configs:
                known = [*self.aliases, *(key for key in configs if key not in self.aliases.values())]
                raise UsageError(f"{self.name} has no configuration {name!r}{nearest(name, known)}")
            chosen[key] = configs[key]
        return chosen


def _key(name: str, batch: int | None, seq_len: int | None) -> str:
    return name + ("" if batch is None else f"_b{batch}") + ("" if seq_len is None else f"_s{seq_len}")


def sizes_of(name: str, value: Any) -> tuple[int, ...]:
    """One size or several, each a whole number above 0 and none twice.

    >>> sizes_of("batch", 4), sizes_of("batch", [1, 4])
    ((4,), (1, 4))
    """
    sizes = (value,) if isinstance(value, int) else value
    good = isinstance(sizes, (list, tuple)) and all(
        isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    if not good or len(set(sizes)) != len(sizes):
        raise UsageError(f"{name} = {value!r}: use whole numbers above 0, each once, such as [1, 4]")
    return tuple(sizes)


class Benchmarked(Generic[Arguments, Result]):
    """A function that knows how it is benchmarked; called, it is the function."""

    def __init__(self, function: Callable[Arguments, Result], spec: Spec) -> None:
        """Wrap the function."""
        functools.update_wrapper(self, function)
        self._function = function
        self.spec = spec

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Call the function."""
        return self._function(*args, **kwargs)


def benchmark(
    configs: Mapping[str, Config] | None = None,
    batch: Sizes = (),
    seq_len: Sizes = (),
    tokens: Tokens | None = None,
    *,
    name: str | None = None,
    trace: bool = False,
    **limits: Unpack[LimitOptions],
) -> Callable[[Callable[Arguments, Result]], Benchmarked[Arguments, Result]]:
    """Say how a function is benchmarked; ``gpuscope bench run module:function`` and ``bench.run`` do it.

    Args:
        configs: Values by name of the configuration.
        batch: Batch sizes, which the function takes as ``batch``.
        seq_len: Sequence lengths, which the function takes as ``seq_len``.
        tokens: How many tokens one repeat takes in, or a function that says so; batch times sequence length
            unless told.
        name: What the benchmark is called; as the function unless told.
        trace: Whether each configuration is recorded with torch's profiler, too.
        **limits: As for ``measure``.
    """

    def decorate(function: Callable[Arguments, Result]) -> Benchmarked[Arguments, Result]:
        spec = Spec(
            name or _name_of(function),
            FunctionTarget(function),
            dict(configs or {}),
            sizes_of("batch", batch),
            sizes_of("seq_len", seq_len),
            tokens,
            Limits().but(limits),
            trace,
        )
        return Benchmarked(function, spec)

    return decorate


def load_spec(source: str | os.PathLike[str] | Spec | Callable[..., Any]) -> Spec:
    """The spec that is meant: a TOML file, ``module:function``, ``file.py:function``, ``gpt``, or a function."""
    if isinstance(source, Spec):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _named(os.fspath(source))
    if callable(source):
        return spec_of_function(source, Path.cwd())
    raise UsageError(f"{source!r} is no benchmark: {_WAYS}")


_WAYS = "use a .toml file, module:function, or gpt for the built-in family"


def _named(text: str) -> Spec:
    if text == "gpt":
        from gpuscope.bench.gpt import spec

        return spec()
    if text.endswith(".toml"):
        from gpuscope.bench._toml import read_spec

        return read_spec(Path(text))
    if ":" not in text:
        raise UsageError(f"{text}: this is no benchmark; {_WAYS}")
    module = text.rpartition(":")[0]
    folder = Path(module).absolute().parent if module.endswith(".py") else Path.cwd()
    return spec_of_function(load_function(text, folder), folder)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "benchmark"))


def spec_of_function(function: Callable[..., Any], folder: Path) -> Spec:
    """The spec that a function carries from ``@benchmark``, or the plain one of the function itself."""
    carried = getattr(function, "spec", None)
    if isinstance(carried, Spec):
        return replace(carried, folder=folder)
    return Spec(_name_of(function), FunctionTarget(function), folder=folder)


def load_function(target: str, folder: Path) -> Callable[..., Any]:
    """The function that ``module:function`` names; modules beside the spec and in the current folder are found."""
    module_name, _, function_name = target.rpartition(":")
    if not module_name or not function_name:
        raise UsageError(f"{target}: use module:function")
    if module_name.endswith(".py"):
        module_name = Path(module_name).stem
    with modules_from(folder):
        module = _imported(module_name, folder)
    found: Any = module
    for part in function_name.split("."):
        if not hasattr(found, part):
            names = (name for name, value in vars(module).items() if callable(value) and name[0] != "_")
            raise UsageError(
                f"{module_name} has no function {function_name!r}{nearest(function_name, names)}"
            )
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target}: this is no function, but {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


def _imported(name: str, folder: Path) -> Any:
    try:
        return importlib.import_module(name)
    except GpuscopeError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or (name != error.name and not name.startswith(error.name + ".")):
            raise UsageError(f"{name}: importing it failed: {error}") from error
        raise UsageError(f"{name}: there is no such module, neither in {folder} nor installed") from error
    except Exception as error:
        raise UsageError(f"{name}: importing it failed with {type(error).__name__}: {error}") from error


@contextmanager
def modules_from(folder: Path) -> Iterator[None]:
    """Find modules in a folder and in the current one while the block runs."""
    added = [str(folder), str(Path.cwd())]
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            # A module may have changed the path itself.
            if path in sys.path:
                sys.path.remove(path)
