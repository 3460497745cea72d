"""Memory over time: how much was taken while a block ran, when it was most, and by whom."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpuscope.errors import UsageError
from gpuscope.profiling import _page
from gpuscope.profiling._allocations import Level
from gpuscope.profiling._memory_sources import Course, MemorySource, Taken, memory_source
from gpuscope.profiling._saving import format_of, save_json, save_text
from gpuscope.profiling._torch import BYTES_PER_MB, need_torch

_SUFFIXES = {"json": ".json", "csv": ".csv", "html": ".html"}


@dataclass(frozen=True)
class MemorySnapshot:
    """How much memory was taken at one moment, counted from the start of the first tracked block."""

    time_ms: float
    allocated_mb: float
    reserved_mb: float
    label: str = ""


@dataclass
class _Track:
    """One tracked block."""

    label: str
    snapshots: list[MemorySnapshot]
    course: Course
    device: str
    source: str


@dataclass
class _Sampler:
    """Asks a source again and again in a thread of its own."""

    source: MemorySource
    interval_s: float
    samples: list[tuple[int, Taken]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpuscope-memory", daemon=True)

    def __enter__(self) -> _Sampler:
        self.take()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.take()

    def take(self) -> None:
        """Take one sample now."""
        taken = self.source.sample()
        self.samples.append((time.time_ns(), taken))

    def _run(self) -> None:
        while not self._stop.wait(self.interval_s):
            self.take()


class MemoryProfiler:
    """Follows memory while blocks of code run.

    On a GPU the numbers are those of torch's allocator there. Without one they are those of CPU tensors,
    which torch.profiler records (``record_history=True``), or the resident memory of the process;
    ``get_peak_analysis()`` says which under ``source``. ``sample_interval_ms`` is how often a thread looks;
    ``record_history`` also records every single allocation, so that no peak between two looks is missed and
    its origin is known.
    """

    def __init__(self, sample_interval_ms: float = 1.0, record_history: bool = True) -> None:
        """Set how closely to look."""
        if not sample_interval_ms > 0:
            raise UsageError(f"sample_interval_ms is {sample_interval_ms}, but it has to be above 0")
        self.sample_interval_ms = sample_interval_ms
        self.record_history = record_history
        self._tracks: list[_Track] = []
        self._first_ns: int | None = None
        self._tracking = False

    @contextmanager
    def track(self, name: str = "block") -> Iterator[MemoryProfiler]:
        """Follow memory while the block runs; blocks one after the other continue the same timeline."""
        if self._tracking:
            raise UsageError("memory is being tracked already; leave the outer track() first")
        torch = need_torch("MemoryProfiler.track")
        source = memory_source(torch, self.record_history)
        source.start()
        self._tracking = True
        sampler = _Sampler(source, self.sample_interval_ms / 1000)
        try:
            with sampler:
                yield self
        finally:
            self._tracking = False
            self._add(name, source, sampler.samples, source.stop())

    def reset(self) -> None:
        """Forget what was tracked so far."""
        self._tracks.clear()
        self._first_ns = None

    @property
    def snapshots(self) -> list[MemorySnapshot]:
        """All points of the timeline."""
        return [snapshot for track in self._tracks for snapshot in track.snapshots]

    def get_timeline(self) -> list[dict[str, Any]]:
        """The points as dictionaries with ``time_ms``, ``allocated_mb``, ``reserved_mb`` and ``label``."""
        return [asdict(snapshot) for snapshot in self.snapshots]

    def get_peak_analysis(self) -> dict[str, Any]:
        """When most was taken, how much, in which block, by whom, and how much more there was at the end."""
        if not self._tracks:
            raise UsageError(
                "nothing was tracked yet; run the code in a `with profiler.track(name):` block first"
            )
        track = max(self._tracks, key=lambda each: (_peak_mb(each), -self._tracks.index(each)))
        highest = max(track.snapshots, key=lambda snapshot: snapshot.allocated_mb)
        snapshots = self.snapshots
        first, last = snapshots[0], snapshots[-1]
        return {
            "peak_allocated_mb": _peak_mb(track),
            "peak_time_ms": highest.time_ms,
            "peak_label": track.label,
            "peak_reserved_mb": max(snapshot.reserved_mb for snapshot in snapshots),
            "start_allocated_mb": first.allocated_mb,
            "end_allocated_mb": last.allocated_mb,
            "growth_mb": last.allocated_mb - first.allocated_mb,
            "duration_ms": last.time_ms,
            "num_samples": len(snapshots),
            "device": track.device,
            "source": track.source,
            **track.course.culprits,
            "notes": [note for each in self._tracks for note in each.course.notes],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that ``json.dumps`` takes."""
        return {
            "sample_interval_ms": self.sample_interval_ms,
            "record_history": self.record_history,
            "peak": self.get_peak_analysis(),
            "tracks": [
                {
                    "label": track.label,
                    "start_ms": track.snapshots[0].time_ms,
                    "end_ms": track.snapshots[-1].time_ms,
                    "peak_allocated_mb": _peak_mb(track),
                    "allocator_changes": len(track.course.levels),
                }
                for track in self._tracks
            ],
            "timeline": self.get_timeline(),
        }

    def export(self, path: str | Path, format: str | None = None) -> Path:
        """Write everything as ``.json``, the timeline as ``.csv``, or a page with a chart as ``.html``."""
        path = Path(path)
        chosen = format_of(path, format, _SUFFIXES)
        if chosen == "json":
            return save_json(self.to_dict(), path, private=True)
        return save_text(self._csv() if chosen == "csv" else self._page(), path, private=True)

    def _add(
        self, label: str, source: MemorySource, samples: Sequence[tuple[int, Taken]], course: Course
    ) -> None:
        if self._first_ns is None:
            self._first_ns = samples[0][0]
        snapshots = merged(samples, course.levels, self._first_ns, label)
        self._tracks.append(_Track(label, snapshots, course, source.device, source.description))

    def _csv(self) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(
            text, ["time_ms", "allocated_mb", "reserved_mb", "label"], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(self.get_timeline())
        return text.getvalue()

    def _page(self) -> str:
        snapshots = self.snapshots
        peak = self.get_peak_analysis()
        times = [snapshot.time_ms for snapshot in snapshots]
        # Each has a scale of its own: a process may hold a thousand times of what its tensors take.
        charts = [
            _page.line_chart(
                times, "allocated", [snapshot.allocated_mb for snapshot in snapshots], "ms", "MB"
            ),
            _page.line_chart(times, "reserved", [snapshot.reserved_mb for snapshot in snapshots], "ms", "MB"),
        ]
        operators = [[row["operator"], row["count"], row["mb"]] for row in peak.get("largest_operators", [])]
        return _page.page(
            f"Memory: {peak['peak_allocated_mb']:.1f} MB at {peak['peak_time_ms']:.1f} ms",
            *charts,
            _page.section("Numbers", _page.table(["what", "how much"], _labelled(peak))),
            _page.section(
                "Alive at the peak, by operator", _page.table(["operator", "count", "MB"], operators)
            ),
            _page.section("Stack at the peak", _page.bullets(peak.get("peak_stack", []))),
            _page.section("Notes", _page.bullets(peak["notes"])),
        )


def _labelled(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Single values with their units, as people say them.

    >>> _labelled({"peak_allocated_mb": 1.25, "device": "cpu", "notes": []})
    [('peak allocated', '1.25 MB'), ('device', 'cpu')]
    """
    rows = []
    for key, value in values.items():
        unit = next((unit for unit in ("MB", "ms") if key.endswith(f"_{unit.lower()}")), "")
        label = key.removesuffix(f"_{unit.lower()}").replace("_", " ")
        if isinstance(value, float):
            rows.append((label, f"{value:,.2f} {unit}".rstrip()))
        elif isinstance(value, str | int):
            rows.append((label, str(value)))
    return rows


def _peak_mb(track: _Track) -> float:
    sampled = max(snapshot.allocated_mb for snapshot in track.snapshots)
    counted = track.course.peak_bytes
    return sampled if counted is None else max(sampled, counted / BYTES_PER_MB)


def merged(
    samples: Sequence[tuple[int, Taken]], levels: Sequence[Level], first_ns: int, label: str
) -> list[MemorySnapshot]:
    """One point per sample, and between two samples the highest level if it is higher than both.

    So the timeline stays short however much is allocated, and still no peak is missing.
    """
    points: list[MemorySnapshot] = []
    level = levels[0].allocated_bytes if levels else 0
    reserved = samples[0][1].reserved_bytes
    upcoming = iter(levels)
    following = next(upcoming, None)

    def add(time_ns: int, allocated_bytes: int) -> None:
        points.append(
            MemorySnapshot(
                (time_ns - first_ns) / 1e6, allocated_bytes / BYTES_PER_MB, reserved / BYTES_PER_MB, label
            )
        )

    for time_ns, taken in samples:
        before, highest = level, None
        while following is not None and following.time_ns <= time_ns:
            level = following.allocated_bytes
            if highest is None or level > highest.allocated_bytes:
                highest = following
            following = next(upcoming, None)
        if taken.allocated_bytes is not None:
            level = taken.allocated_bytes
        if highest is not None and highest.allocated_bytes > max(before, level):
            add(highest.time_ns, highest.allocated_bytes)
        reserved = taken.reserved_bytes
        add(time_ns, level)
    return points
