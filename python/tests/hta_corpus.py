"""Right answers on the corpus, for the tests of ``gpuscope.hta``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Formats that gpuscope does not read.
UNREAD = {"jax_conv_08.xplane.pb", "rocprof_908_results.json.gz"}

_FLAGS = {"--drop-last-step", "--exclude-memory", "--gpu", "--cpu"}
_VALUES = {
    "--num-kernels",
    "--duration-ratio",
    "--consecutive-kernel-delay-us",
    "--runtime-cutoff-us",
    "--launch-delay-cutoff-us",
}


@dataclass(frozen=True)
class Case:
    """One question to traces of the corpus, and the rows of its right answer."""

    name: str
    files: tuple[str, ...]
    options: dict[str, Any]
    checks: tuple[dict[str, Any], ...]

    def rows(self, at: str) -> list[dict[str, Any]]:
        return [row for check in self.checks if check["at"] == at for row in check.get("rows", [])]

    def count(self, at: str) -> int:
        return next(check["count"] for check in self.checks if check["at"] == at)

    def __str__(self) -> str:
        return self.name


def folder() -> Path | None:
    """The folder of the corpus' traces."""
    named = os.environ.get("GPUSCOPE_CORPUS")
    return Path(named) / "traces" if named else None


def cases(command: str) -> Iterator[Case]:
    """The cases of a command whose options ``gpuscope.hta`` has too."""
    traces = folder()
    if traces is None:
        return
    for path in sorted((traces.parent / "oracle").glob(f"*/{command}*.json")):
        case = json.loads(path.read_text())
        options = _options(case["argv"][1:])
        files = case.get("files", [])
        if case["argv"][0] != command or options is None or not files or "-" in files or case.get("exit"):
            continue
        if UNREAD & set(files) or not all((traces / file).exists() for file in files):
            continue
        yield Case(f"{path.parent.name}-{path.stem}", tuple(files), options, tuple(case["checks"]))


def _options(words: list[str]) -> dict[str, Any] | None:
    """The options of a command line; ``None`` if there are others than those known here."""
    options: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word in _FLAGS:
            options[word] = True
        elif word in _VALUES:
            options[word] = float(next(rest))
        else:
            return None
    return options
