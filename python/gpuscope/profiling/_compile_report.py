"""What became of a model under torch.compile: the numbers, and their texts and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from gpuscope.profiling import _page


@dataclass(frozen=True)
class CompileBreak:
    """A line of the program that torch.compile could not follow, so that it ended a graph there.

    >>> CompileBreak("Data-dependent branching", "Use torch.cond.", file="model.py", line=7).location
    'model.py:7'
    """

    reason: str
    suggestion: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    explanation: str | None = None
    user_stack: list[str] = field(default_factory=list)
    """The program's own lines that led there, outermost first."""
    count: int = 1
    """How many compilations ended a graph there."""

    @property
    def location(self) -> str | None:
        """The file and the line, ``None`` where torch does not say."""
        if self.file is None:
            return None
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CompileBreak:
        """From a row of the table ``breaks``."""
        return cls(**{each.name: row[each.name] for each in fields(cls) if each.name in row})


@dataclass(frozen=True)
class Recompile:
    """A frame that was compiled again because something was not as before."""

    function: str | None
    reason: str | None
    change: str
    suggestion: str
    compile_time_ms: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Recompile:
        """From a row of the table ``recompiles``."""
        return cls(row["function"], row["reason"], row["change"], row["suggestion"], row["compile_ns"] / 1e6)


@dataclass
class CompileReport:
    """A model eager and compiled: how much faster, for which price, and what stood in the way.

    ``speedup`` is the eager time over the compiled time. ``compile_time_ms`` is the time that torch spent on
    compiling, without running anything. ``fusion_ratio`` is ``ops_before_fusion / ops_after_fusion``:
    operators in the graphs that inductor was given (views, which launch nothing, left out) over launches in
    the code that it wrote; NaN where that is not known. ``notes`` says what to bear in mind when reading the
    numbers, and ``error`` why there are none.
    """

    speedup: float = math.nan
    compile_time_ms: float = math.nan
    graph_breaks: list[CompileBreak] = field(default_factory=list)
    fusion_ratio: float = math.nan
    ops_before_fusion: int = 0
    ops_after_fusion: int = 0
    recommendations: list[str] = field(default_factory=list)
    backend: str = "inductor"
    mode: str = "default"
    device: str = "cpu"
    torch_version: str = ""
    eager_time_ms: float = math.nan
    compiled_time_ms: float = math.nan
    first_call_ms: float = math.nan
    """The first compiled call with everything that it waited for."""
    recompiles: list[Recompile] = field(default_factory=list)
    frames: int = 0
    """Compilations of frames; a graph break makes two of one."""
    phases_ms: dict[str, float] = field(default_factory=dict)
    """The compile time by phase."""
    cache_hits: int = 0
    cache_misses: int = 0
    outputs_match: bool | None = None
    max_difference: float = math.nan
    notes: list[str] = field(default_factory=list)
    error: str | None = None

    @property
    def total_graph_breaks(self) -> int:
        """Places in the program where graphs break."""
        return len(self.graph_breaks)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that ``json.dumps`` takes; what is not known is ``None``."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return {**plain, "total_graph_breaks": self.total_graph_breaks}

    def to_markdown(self) -> str:
        """The report in Markdown."""
        lines = [f"# {self._title}", "", "| | |", "|---|---:|"]
        lines += [f"| {name} | {value} |" for name, value in self._numbers()]
        if self.phases_ms:
            lines += ["", "## Compile time by phase", "", "| phase | ms |", "|---|---:|"]
            lines += [f"| {phase} | {ms:.1f} |" for phase, ms in self.phases_ms.items()]
        for each in self.graph_breaks:
            lines += ["", f"## Graph break at {each.location or 'an unknown place'}", "", f"{each.reason}."]
            lines += ["", each.suggestion]
        for title, texts in self._lists():
            if texts:
                lines += ["", f"## {title}", "", *(f"- {text}" for text in texts)]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """The report as a page that needs no network."""
        breaks = [
            (each.location or "?", each.reason, each.suggestion, each.count) for each in self.graph_breaks
        ]
        again = [
            (each.function or "?", each.change, each.reason or "?", each.compile_time_ms)
            for each in self.recompiles
        ]
        return _page.page(
            self._title,
            _page.table(["", ""], self._numbers()),
            _page.section("Recommendations", _page.bullets(self.recommendations)),
            _page.section("Graph breaks", _page.table(["where", "why", "what to do", "times"], breaks)),
            _page.section("Recompilations", _page.table(["function", "change", "guard", "ms"], again)),
            _page.section(
                "Compile time by phase", _page.table(["phase", "ms"], list(self.phases_ms.items()))
            ),
            _page.section("Notes", _page.bullets(self.notes)),
        )

    @property
    def _title(self) -> str:
        return f"torch.compile: backend {self.backend}, mode {self.mode}"

    def _numbers(self) -> list[tuple[str, str]]:
        rows = [
            ("speedup", _number(self.speedup, "×", 2)),
            ("eager", _number(self.eager_time_ms, " ms", 3)),
            ("compiled", _number(self.compiled_time_ms, " ms", 3)),
            ("compile time", _number(self.compile_time_ms / 1e3, " s", 2)),
            ("graph breaks", str(self.total_graph_breaks)),
            ("recompilations", str(len(self.recompiles))),
            ("operators before fusion", str(self.ops_before_fusion)),
            ("kernels after fusion", str(self.ops_after_fusion)),
            ("fusion ratio", _number(self.fusion_ratio, "×", 2)),
            ("outputs agree", {True: "yes", False: "no", None: "not known"}[self.outputs_match]),
            ("device", self.device),
            ("torch", self.torch_version or "?"),
        ]
        return rows if self.error is None else [("error", self.error), *rows]

    def _lists(self) -> list[tuple[str, list[str]]]:
        again = [
            f"{each.function or '?'} ({each.change}): {each.reason or 'no reason given'}"
            for each in self.recompiles
        ]
        return [("Recompilations", again), ("Recommendations", self.recommendations), ("Notes", self.notes)]


def _number(value: float, unit: str, digits: int) -> str:
    return "not known" if math.isnan(value) else f"{value:.{digits}f}{unit}"


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
