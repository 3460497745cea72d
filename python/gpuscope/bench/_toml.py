"""A benchmark written down in a TOML file.

``name``, ``target`` or ``command``, ``batch``, ``seq_len``, ``trace``, the limits of ``measure``, and one table
``[configs.NAME]`` for each configuration.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from gpuscope.bench.limits import LimitOptions, Limits, nearest
from gpuscope.bench.spec import Spec, load_function, sizes_of, spec_of_function
from gpuscope.bench.targets import ProgramTarget
from gpuscope.errors import InputError, UsageError

_LIMITS = tuple(field.name for field in fields(Limits))
_KEYS = ("name", "target", "command", "batch", "seq_len", "trace", "configs", *_LIMITS)
#: A program takes longer than a call, and brings its own warm-up.
_PROGRAM_LIMITS = Limits(warmup=1, min_repeats=5, max_repeats=50)


def read_spec(path: Path) -> Spec:
    """Read a spec; what is wrong in it is said with the file and the key."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this is no TOML: {error}") from error
    try:
        return _spec(values, path)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _spec(values: dict[str, Any], path: Path) -> Spec:
    for key in values:
        if key not in _KEYS:
            raise UsageError(f"{key}: there is no such key{nearest(key, _KEYS)}")
    base = _base(values, path.absolute().parent)
    return replace(
        base,
        name=_typed(values, "name", str, path.stem, "a text"),
        configs=_configs(values.get("configs", base.configs)),
        batch=sizes_of("batch", values.get("batch", base.batch)),
        seq_len=sizes_of("seq_len", values.get("seq_len", base.seq_len)),
        trace=_trace(values, base.trace),
        limits=base.limits.but(_limits(values)),
    )


def _base(values: dict[str, Any], folder: Path) -> Spec:
    """What runs, with the matrix that the function itself may carry."""
    if ("target" in values) == ("command" in values):
        raise UsageError('name what to run: either target = "module:function" or command = ["program", ...]')
    if "target" in values:
        target = _typed(values, "target", str, "", '"module:function"')
        return spec_of_function(load_function(target, folder), folder)
    command = values["command"]
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise UsageError(f'command = {command!r}: use a list of texts, such as ["python", "train.py"]')
    return Spec("", ProgramTarget(command, folder), limits=_PROGRAM_LIMITS, folder=folder)


def _typed(values: dict[str, Any], key: str, kind: type, default: Any, use: str) -> Any:
    value = values.get(key, default)
    if not isinstance(value, kind):
        raise UsageError(f"{key} = {value!r}: use {use}")
    return value


def _trace(values: dict[str, Any], default: bool) -> bool:
    wanted = bool(_typed(values, "trace", bool, default, "true or false"))
    if wanted and "command" in values:
        raise UsageError("trace = true: only functions can be traced here, so it needs target, not command")
    return wanted


def _configs(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise UsageError(f"configs = {value!r}: use a table [configs.NAME] for each configuration")
    for name, config in value.items():
        if not isinstance(config, dict):
            raise UsageError(f"configs.{name} = {config!r}: use a table [configs.{name}] with its values")
    return value


def _limits(values: dict[str, Any]) -> LimitOptions:
    limits: Any = {key: values[key] for key in _LIMITS if key in values}
    options: LimitOptions = limits
    return options
