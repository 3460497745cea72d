"""Which kernels are meant? Collectors of several makes, runs, ranks and sessions all have some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuscope.errors import UsageError
from gpuscope.plots import _runs, _style
from gpuscope.plots._thin import Stretch

COMPUTATION = "computation"
COMMUNICATION = "communication"
MEMORY = "memory"
HOST = "operators of the host"
"""Where a trace has no GPU work, operators take the place of kernels, with the time they took themselves."""

COLORS = {
    COMPUTATION: _style.COMPUTE,
    COMMUNICATION: _style.COMMUNICATION,
    MEMORY: _style.COPY,
    HOST: _style.HOST,
}

_COLLECTIVES = ("nccl", "rccl", "oneccl", "mscclkernel")


class KernelSum(NamedTuple):
    """All launches of kernels of one name."""

    name: str
    kind: str
    launches: int
    total_ns: float

    @property
    def mean_ns(self) -> float:
        """How long one of them takes."""
        return self.total_ns / self.launches


class Launch(NamedTuple):
    """One run of a kernel, on a lane of its own or of its stream."""

    lane: str
    kind: str
    stretch: Stretch


def sums(source: Any) -> list[KernelSum]:
    """Kernels by name, the one with most time first."""
    run = _runs.run_of(source)
    if run is None:
        found = _sums_of_launches(launches(source))
    else:
        found = _sums_of_run(run) or _sums_of_host(run)
    return sorted(found, key=lambda kernel: -kernel.total_ns)


def launches(source: Any) -> list[Launch]:
    """All kernels, with the stream they ran on."""
    run = _runs.run_of(source)
    if run is not None:
        return _launches_of_run(run) or _operators_of_run(run)
    kernels = getattr(source, "kernels", source)
    if callable(kernels) or isinstance(kernels, (str, bytes, Mapping)) or not isinstance(kernels, Iterable):
        raise UsageError(
            "kernels come from a KernelDataCollector (or whatever has a list `kernels`), a Run, a Rank, "
            f"a ProfileSession or the path of a trace, not from {type(source).__name__}"
        )
    return [_launch(kernel) for kernel in kernels]


def kind_of(name: str) -> str:
    """What a kernel does, as far as its name tells."""
    lowered = name.lower()
    if any(word in lowered for word in _COLLECTIVES):
        return COMMUNICATION
    if lowered.startswith(("memcpy", "memset")):
        return MEMORY
    return COMPUTATION


def _launch(kernel: Any) -> Launch:
    start, end = _field(kernel, "start_ns", "start"), _field(kernel, "end_ns", "end")
    name = _field(kernel, "name")
    stream = _field(kernel, "stream", "stream_id", default=None)
    device = _field(kernel, "device", "device_id", default=None)
    return Launch(_lane(device, stream), kind_of(str(name)), Stretch(float(start), float(end), str(name)))


def _field(record: Any, *names: str, **otherwise: Any) -> Any:
    """A field of an object or a dictionary, by the first of several names that it has."""
    for name in names:
        if isinstance(record, Mapping):
            if name in record:
                return record[name]
        elif hasattr(record, name):
            return getattr(record, name)
    if "default" in otherwise:
        return otherwise["default"]
    raise UsageError(f"a kernel needs `name`, `start` and `end`; this one has no `{names[-1]}`: {record!r}")


def _lane(device: Any, stream: Any) -> str:
    if stream is None:
        return "kernels"
    return f"stream {stream}" if device is None else f"GPU {device}, stream {stream}"


def _sums_of_launches(found: list[Launch]) -> list[KernelSum]:
    totals: dict[str, list[float]] = {}
    for launch in found:
        time = launch.stretch.end_ns - launch.stretch.start_ns
        totals.setdefault(launch.stretch.name, []).append(time)
    return [KernelSum(name, kind_of(name), len(each), sum(each)) for name, each in totals.items()]


def _sums_of_run(run: Any) -> list[KernelSum]:
    totals: dict[tuple[str, str], tuple[int, float]] = {}
    for row in run.kernels(num_kernels=_runs.ALL).data["kernels"]:
        if row["names"] > 1:
            continue
        key = (row["name"], str(row["kernel_type"]).lower())
        count, total = totals.get(key, (0, 0.0))
        totals[key] = (count + row["count"], total + row["sum_ns"])
    return [KernelSum(name, kind, count, total) for (name, kind), (count, total) in totals.items()]


def _launches_of_run(run: Any) -> list[Launch]:
    found = []
    for event in _runs.events(run, "kind", "name", "ts_ns", "dur_ns", "device", "stream"):
        if event.kind is not None and event.dur_ns is not None:
            kind = event.kind if event.kind in (COMPUTATION, COMMUNICATION) else MEMORY
            stretch = Stretch(event.ts_ns, event.ts_ns + event.dur_ns, event.name)
            found.append(Launch(_lane(event.device, event.stream), kind, stretch))
    return found


def _sums_of_host(run: Any) -> list[KernelSum]:
    operators = _operators(run)
    own = {event.index: event.dur_ns for event in operators}
    for event in operators:
        if event.parent in own:
            own[event.parent] -= event.dur_ns
    totals: dict[str, list[float]] = {}
    for event in operators:
        totals.setdefault(event.name, []).append(own[event.index])
    return [KernelSum(name, HOST, len(each), sum(each)) for name, each in totals.items()]


def _operators_of_run(run: Any) -> list[Launch]:
    operators = _operators(run)
    around = {event.parent for event in operators}
    return [
        Launch(_thread(event), HOST, Stretch(event.ts_ns, event.ts_ns + event.dur_ns, event.name))
        for event in operators
        if event.index not in around
    ]


def _operators(run: Any) -> list[Any]:
    columns = ("index", "parent", "name", "cat", "ts_ns", "dur_ns", "tid", "thread")
    return [e for e in _runs.events(run, *columns) if e.cat == "cpu_op" and e.dur_ns is not None]


def _thread(event: Any) -> str:
    return f"operators, {event.thread or f'thread {event.tid}'}"
