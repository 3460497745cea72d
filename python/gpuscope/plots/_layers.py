"""Which layers are meant, how long do their calls take, and how much do they compute in that time?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuscope.errors import UsageError
from gpuscope.plots import _run_layers, _runs
from gpuscope.plots._phases import BACKWARD, FORWARD, RECOMPUTE, Markers, phases_of

Values = dict[tuple[str, str], list[tuple[float, float]]]
"""Of each layer and phase, what was measured in single calls, and how long they took."""


class Box(NamedTuple):
    """Single calls of one layer in one phase, summed up."""

    layer: str
    phase: str
    calls: int
    least: float
    first_quartile: float
    median: float
    third_quartile: float
    most: float
    mean: float
    time_ns: float
    """Of all calls together."""


class LayerSpan(NamedTuple):
    """A layer was at work."""

    start_ns: float
    end_ns: float
    layer: str
    phase: str


class Boxes(NamedTuple):
    """What there is to draw, and what is to be said of it."""

    boxes: list[Box]
    guessed: bool = False
    on_host: bool = False


def times(profile: Any, forward_markers: Markers) -> Boxes:
    """How long calls of layers take, in nanoseconds."""
    run = _runs.run_of(profile)
    if run is not None:
        return _times_of_run(run)
    layers = _layers_of(profile)
    values: Values = {}
    for name, phase, entry, key in _entries(layers):
        found = values.setdefault((name, phase), [])
        found.extend((float(time), float(time)) for time in entry.get(key) or ())
    return _summed_up(layers, values, forward_markers)


def rates(profile: Any, forward_markers: Markers) -> Boxes:
    """How many operations calls of layers do in a second; layers without known operations are left out."""
    run = _runs.run_of(profile)
    if run is not None:
        return Boxes(_rates_of_run(run))
    layers = _layers_of(profile)
    calls = [call for call in getattr(profile, "timeline", ()) if hasattr(call, "phase")]
    values: Values = {}
    if calls:
        for call in calls:
            if call.flops and call.end_ns > call.start_ns:
                time = call.end_ns - call.start_ns
                values.setdefault((call.layer, call.phase), []).append((call.flops / time * 1e9, time))
    else:
        for name, phase, entry, key in _entries(layers):
            flops = entry.get("backward_flops" if phase == BACKWARD else "flops")
            if flops and flops > 0:
                found = [(flops / time * 1e9, time) for time in entry.get(key) or () if time > 0]
                values.setdefault((name, phase), []).extend(found)
    return _summed_up(layers, values, forward_markers)


def spans(profile: Any, forward_markers: Markers) -> tuple[list[LayerSpan], bool]:
    """When layers were at work, by their start, and whether forward and backward are guessed."""
    run = _runs.run_of(profile)
    if run is not None:
        found = _run_layers.spans(run)
        return [LayerSpan(span.start_ns, span.end_ns, span.layer, span.phase) for span in found], False
    timeline = getattr(profile, "timeline", profile)
    if isinstance(timeline, (str, bytes, Mapping)) or not isinstance(timeline, Iterable):
        raise UsageError(
            "profile is an ExtractModel (or whatever has a list `timeline`), a Run, a Rank, a ProfileSession "
            f"or the path of a trace, not {type(profile).__name__}"
        )
    calls = sorted((_call(entry) for entry in timeline), key=lambda call: call[0])
    phases, guessed = phases_of([call[2] for call in calls], [call[3] for call in calls], forward_markers)
    found_spans = [
        LayerSpan(start, end, layer, phase)
        for (start, end, layer, _), phase in zip(calls, phases, strict=True)
    ]
    return found_spans, guessed


def _call(entry: Any) -> tuple[float, float, str, str | None]:
    """From a ``LayerCall``, or from ``(start, end, flops, layer)`` with or without a device before it."""
    if hasattr(entry, "start_ns"):
        return float(entry.start_ns), float(entry.end_ns), str(entry.layer), getattr(entry, "phase", None)
    try:
        start, end, _, layer = entry[-4:]
        return float(start), float(end), str(layer), None
    except (TypeError, ValueError):
        raise UsageError(
            f"an entry of a timeline is (start_ns, end_ns, flops, layer), not {entry!r}"
        ) from None


def _layers_of(profile: Any) -> Mapping[str, Mapping[str, Any]]:
    layers = getattr(profile, "layers", profile)
    if callable(layers) or not isinstance(layers, Mapping):
        raise UsageError(
            "profile is an ExtractModel (or what has `layers`: {name: {'time_ns': [...], 'flops': ...}}), "
            f"a Run, a Rank, a ProfileSession or the path of a trace, not {type(profile).__name__}"
        )
    return layers


def _entries(layers: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any], str]]:
    """Each layer with each phase it has times of; the phase is empty where it was not recorded."""
    for name, entry in layers.items():
        if not isinstance(entry, Mapping):
            raise UsageError(f"layer {name!r} must be a dictionary with 'time_ns', not {entry!r}")
        if "backward_time_ns" in entry:
            yield name, FORWARD, entry, "time_ns"
            yield name, BACKWARD, entry, "backward_time_ns"
            yield name, RECOMPUTE, entry, "recompute_time_ns"
        else:
            yield name, str(entry.get("phase") or ""), entry, "time_ns"


def _summed_up(layers: Mapping[str, Any], values: Values, forward_markers: Markers) -> Boxes:
    """The halves of a guess are those of all layers, also of those without values."""
    unknown = [name for name, phase, _, _ in _entries(layers) if not phase]
    phases, guessed = phases_of(unknown, [None] * len(unknown), forward_markers)
    phase_of = dict(zip(unknown, phases, strict=True))
    order = {name: place for place, name in enumerate(layers)}
    measured = sorted(
        (key for key, found in values.items() if found), key=lambda key: order.get(key[0], len(order))
    )
    found = [_box(_title(n, layers), phase or phase_of[n], values[n, phase]) for n, phase in measured]
    return Boxes(found, guessed=guessed and any(not phase for _, phase in values))


def _title(name: str, layers: Mapping[str, Any]) -> str:
    """Layers that only have a number are told by what they are."""
    kind = layers.get(name, {}).get("type")
    return f"{name} {kind}" if kind and name.rpartition(".")[2].isdigit() else name


def _box(layer: str, phase: str, measured: Sequence[tuple[float, float]]) -> Box:
    ordered = sorted(value for value, _ in measured)
    return Box(
        layer,
        phase,
        len(ordered),
        ordered[0],
        quantile(ordered, 0.25),
        quantile(ordered, 0.5),
        quantile(ordered, 0.75),
        ordered[-1],
        sum(ordered) / len(ordered),
        sum(time for _, time in measured),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Between two values, in proportion.

    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.25), quantile([7], 0.75)
    (2.5, 1.75, 7.0)
    """
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _times_of_run(run: Any) -> Boxes:
    rows = [row for rank in _runs.one_rank(run).layers().data["ranks"] for row in rank["layers"]]
    boxes = [
        Box(
            row["module"],
            row["pass"],
            row["calls"],
            *(row[f"{part}_ns"] for part in ("min", "q1", "median", "q3", "max", "mean", "total")),
        )
        for row in _innermost(rows)
    ]
    if boxes:
        return Boxes(boxes)
    values: Values = {}
    for span in _run_layers.spans(run):
        time = float(span.end_ns - span.start_ns)
        values.setdefault((span.layer, span.phase), []).append((time, time))
    return Boxes([_box(*key, measured) for key, measured in values.items()], on_host=True)


def _rates_of_run(run: Any) -> list[Box]:
    found = []
    for row in _innermost(_runs.one_rank(run).throughput().data["layers"]):
        rate = row["call_tflops_per_s"]
        if rate is not None and rate["max"] > 0:
            parts = (rate[part] * 1e12 for part in ("min", "q1", "median", "q3", "max", "mean"))
            found.append(Box._make((row["module"], row["pass"], rate["count"], *parts, row["compute_ns"])))
    return found


def _innermost(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Modules that are around no others, as the times of those around them have theirs in them."""
    around = {row["parent"] for row in rows}
    return [row for row in rows if row["module"] not in around]
