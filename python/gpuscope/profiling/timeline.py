"""Timelines of host and GPU side by side: how busy each was, and how much they worked at the same time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope._files import write_bytes
from gpuscope.errors import InputError, UsageError
from gpuscope.profiling._saving import save_answer, save_text
from gpuscope.profiling._torch import ChromeTraceExporter, trace_of

if TYPE_CHECKING:
    from gpuscope import Run

_GZIP_MAGIC = b"\x1f\x8b"
_PYTHON_CATEGORIES = frozenset({"python_function", "python"})
_FLOW_PHASES = frozenset("stf")

Event = dict[str, Any]


@dataclass
class TimelineData:
    """How long a trace is, and how much of that time the host and the GPU were active.

    The four times speak of the whole trace (summed over its ranks), also of events that are too short to be
    shown: a GPU that runs many short kernels is no idle one. ``events`` are those that the generator shows.
    """

    total_time_us: float
    cpu_active_time_us: float
    gpu_active_time_us: float
    overlap_time_us: float
    ranks: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    min_duration_us: float = 0.0
    include_python_events: bool = True
    run: Run | None = field(default=None, repr=False, compare=False)
    source: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The trace as a Chrome trace document, with only those events that are shown."""
        document = self.source()
        shown = shown_events(
            document.get("traceEvents", []), self.min_duration_us, self.include_python_events
        )
        return {**document, "traceEvents": shown}

    @property
    def events(self) -> list[Event]:
        """The events that are shown, as Chrome trace events."""
        events: list[Event] = self.document["traceEvents"]
        return events

    @property
    def hides_events(self) -> bool:
        """Whether anything may be left out."""
        return self.min_duration_us > 0 or not self.include_python_events

    def summary(self) -> str:
        """The four times in a few lines for the terminal.

        >>> print(TimelineData(2000.0, 1500.0, 1000.0, 500.0).summary())
        total       2.00 ms
        CPU active  1.50 ms  75.0 %
        GPU active  1.00 ms  50.0 %
        overlap     0.50 ms  25.0 %
        """
        shares = (
            ("CPU active", self.cpu_active_time_us),
            ("GPU active", self.gpu_active_time_us),
            ("overlap", self.overlap_time_us),
        )
        width = len(f"{self.total_time_us / 1000:.2f}")
        lines = [f"{'total':<10}  {self.total_time_us / 1000:.2f} ms"]
        for what, time_us in shares:
            share = 100 * time_us / self.total_time_us if self.total_time_us else 0.0
            lines.append(f"{what:<10}  {time_us / 1000:{width}.2f} ms {share:5.1f} %")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values that ``json.dumps`` takes."""
        return {
            "total_time_us": self.total_time_us,
            "cpu_active_time_us": self.cpu_active_time_us,
            "gpu_active_time_us": self.gpu_active_time_us,
            "overlap_time_us": self.overlap_time_us,
            "ranks": self.ranks,
            "notes": self.notes,
        }


class TimelineGenerator:
    """Makes timelines that show no event below ``min_duration_us`` and, if so wished, no Python functions."""

    def __init__(self, min_duration_us: float = 0.0, include_python_events: bool = True) -> None:
        """Set what is shown."""
        if min_duration_us < 0:
            raise UsageError(f"min_duration_us is {min_duration_us}, but durations are not negative")
        self.min_duration_us = min_duration_us
        self.include_python_events = include_python_events

    def from_profiler(self, prof: ChromeTraceExporter) -> TimelineData:
        """The timeline of what a ``torch.profiler.profile`` recorded."""
        path = trace_of(prof)
        # The file goes away with the profiler, so what may be asked for later is read now.
        content = path.read_bytes()
        return self._timeline(path, lambda: _document(lambda: content, path))

    def from_chrome_trace(self, path: str | Path) -> TimelineData:
        """The timeline of a trace file."""
        path = Path(path)
        return self._timeline(path, lambda: _document(path.read_bytes, path))

    def export_chrome_trace(self, timeline: TimelineData, path: str | Path) -> Path:
        """Write the events that are shown as a Chrome trace, for Perfetto and others; ``.gz`` compresses."""
        path = Path(path)
        text = json.dumps(timeline.document, ensure_ascii=False)
        if path.suffix != ".gz":
            return save_text(text, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, gzip.compress(text.encode()))
        return path

    def generate_html_viewer(self, timeline: TimelineData, path: str | Path) -> Path:
        """Write a page that shows every event to zoom, to search and to click on; it needs no network."""
        import gpuscope

        run = timeline.run
        if run is None or timeline.hides_events:
            run = gpuscope.open_events(timeline.document)
        return save_answer(run.timeline(), Path(path), ".html")

    def _timeline(self, path: Path, source: Callable[[], dict[str, Any]]) -> TimelineData:
        import gpuscope

        run = gpuscope.open(path)
        answer = run.timeline()
        ranks = answer.data["ranks"]

        def total_us(key: str) -> float:
            return float(sum(rank[key] for rank in ranks)) / 1000

        return TimelineData(
            total_time_us=total_us("total_ns"),
            cpu_active_time_us=total_us("cpu_active_ns"),
            gpu_active_time_us=total_us("gpu_active_ns"),
            overlap_time_us=total_us("overlap_ns"),
            ranks=ranks,
            notes=[entry["message"] for entry in answer.quality if entry["severity"] != "info"],
            min_duration_us=self.min_duration_us,
            include_python_events=self.include_python_events,
            run=run,
            source=source,
        )


def shown_events(events: Iterable[Event], min_duration_us: float, include_python_events: bool) -> list[Event]:
    """The events that are long enough and of the kinds wanted, without arrows from or to those that are not.

    >>> events = [{"ph": "X", "name": name, "ts": 0, "dur": us} for name, us in [("short", 1), ("long", 9)]]
    >>> [event["name"] for event in shown_events(events, 5.0, True)]
    ['long']
    """
    kept: list[Event] = []
    hidden_places = set()
    for event in events:
        if _is_shown(event, min_duration_us, include_python_events):
            kept.append(event)
        else:
            hidden_places.add(_place(event))
    if not hidden_places:
        return kept
    # An arrow begins and ends exactly where the slices begin that it joins; slices still shown there keep it.
    hidden_places -= {_place(event) for event in kept if event.get("ph") == "X"}
    loose = {
        _arrow(event) for event in kept if event.get("ph") in _FLOW_PHASES and _place(event) in hidden_places
    }
    return [event for event in kept if event.get("ph") not in _FLOW_PHASES or _arrow(event) not in loose]


def _is_shown(event: Event, min_duration_us: float, include_python_events: bool) -> bool:
    if event.get("ph") != "X":
        return True
    if not include_python_events and str(event.get("cat", "")).lower() in _PYTHON_CATEGORIES:
        return False
    duration = event.get("dur", 0)
    return not isinstance(duration, int | float) or duration >= min_duration_us


def _place(event: Event) -> tuple[Any, Any, Any]:
    return (event.get("pid"), event.get("tid"), event.get("ts"))


def _arrow(event: Event) -> tuple[Any, Any]:
    return (event.get("cat"), event.get("id"))


def _document(read: Callable[[], bytes], path: Path) -> dict[str, Any]:
    try:
        content = read()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        document = json.loads(content)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be shown event by event, it is no whole Chrome trace in JSON or gzip ({error}); "
            f"`gpuscope convert {path} -o whole.json` makes one of what can be read"
        ) from error
    return {"traceEvents": document} if isinstance(document, list) else dict(document)
