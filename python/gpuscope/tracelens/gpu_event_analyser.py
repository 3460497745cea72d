"""Where the time of a GPU went: computation, exposed communication, exposed copies, idle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from gpuscope._lazy import need
from gpuscope.errors import UsageError
from gpuscope.tracelens import _intervals
from gpuscope.tracelens._exact import to_ns
from gpuscope.tracelens._kinds import gpu_kind
from gpuscope.tracelens._source import Event, Source

if TYPE_CHECKING:
    import pandas as pd

    from gpuscope.tracelens._source import TraceLike

EventLists: TypeAlias = dict[str, list[Event]]
EventFilter: TypeAlias = Callable[[Event], bool]
Metrics: TypeAlias = dict[str, float]

NO_GPU_EVENTS = "No GPU events found in the trace"


class GPUEventAnalyser:
    """The GPU timeline of one trace.

    ``events`` are raw trace events as ``json.load`` gives them (a list, or the whole object with
    ``traceEvents``), the path of a trace (plain, gzip or zstd), or a :class:`gpuscope.Run` or
    :class:`gpuscope.Rank`. All arithmetic is in whole nanoseconds. Paths and opened traces are exact; a float
    from ``json.load`` has all its nanoseconds up to 8.8e12 µs.

    >>> kernel = {"cat": "kernel", "name": "gemm", "ts": 10, "dur": 5}
    >>> copy = {"cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 12, "dur": 8}
    >>> GPUEventAnalyser([kernel, copy]).compute_metrics()["exposed_memcpy_time"]
    5.0

    For another profiler's events, subclass and reimplement :meth:`get_gpu_event_lists`.
    """

    all_gpu_key: ClassVar[str] = "all_gpu"
    computation_key: ClassVar[str] = "computation"
    communication_key: ClassVar[str] = "communication"
    memcpy_key: ClassVar[str] = "memcpy"
    all_cpu_key: ClassVar[str] = "all_cpu"
    gpu_event_keys: ClassVar[Sequence[str]] = [all_gpu_key, computation_key, communication_key, memcpy_key]
    cpu_event_keys: ClassVar[Sequence[str]] = [all_cpu_key]

    def __init__(self, events: TraceLike, jax: bool | None = None) -> None:
        """Takes a trace; ``jax`` says whether it is one of JAX, which is found out if not given."""
        self._source = Source.of(events)
        self._jax = jax

    @property
    def events(self) -> list[Event]:
        """All raw events of the trace, host events and metadata too."""
        return self._source.events

    def get_gpu_event_lists(self) -> EventLists:
        """The GPU events as ``all_gpu``, and by kind as ``computation``, ``communication`` and ``memcpy``.

        Every event has ``ts`` and ``t_end``, in microseconds. A subclass may return any lists of that form,
        and they alone decide what :meth:`compute_metrics` answers.
        """
        lists: EventLists = {key: [] for key in self.gpu_event_keys}
        for event in self.events:
            kind = gpu_kind(event)
            if kind is not None:
                ended = with_end(event)
                lists[self.all_gpu_key].append(ended)
                lists[kind].append(ended)
        return lists

    def compute_metrics(
        self,
        micro_idle_thresh_us: float | None = None,
        gpu_pid: int | None = None,
        event_filter: EventFilter | None = None,
        *,
        jax: bool | None = None,
    ) -> Metrics:
        """The times in microseconds.

        With ``micro_idle_thresh_us``, idle time is given as ``micro_idle_time``, in gaps shorter than that,
        and ``macro_idle_time``. Of a trace of JAX (``jax=True``, or found out), GPU 0 is analysed unless
        ``gpu_pid`` names another; ``gpu_pid`` and ``event_filter`` have no meaning for others.
        """
        jax = self._jax if jax is None else jax
        # Lists that a subclass makes decide alone.
        if type(self).get_gpu_event_lists is GPUEventAnalyser.get_gpu_event_lists:
            if self._is_jax() if jax is None else jax:
                from gpuscope.tracelens.jax_gpu_event_analyser import JaxGPUEventAnalyser

                return JaxGPUEventAnalyser(self._source).compute_metrics(
                    micro_idle_thresh_us, gpu_pid, event_filter
                )
            if self._source.rank is not None:
                ranks = self._source.rank.breakdown(micro_idle_us=micro_idle_thresh_us).data["ranks"]
                return metrics_us(ranks[0]["total"] if ranks and ranks[0]["devices"] else None)
        lists = self.get_gpu_event_lists()
        self.verify_dict_gpu_event_lists(lists)
        return self.compute_metrics_dict(lists, micro_idle_thresh_us)

    def get_breakdown_df(
        self,
        micro_idle_thresh_us: float | None = None,
        gpu_pid: int | None = None,
        event_filter: EventFilter | None = None,
        *,
        jax: bool | None = None,
    ) -> pd.DataFrame:
        """The times as a frame: ``type``, ``time ms``, and ``percent`` of the total time."""
        options = {} if jax is None else {"jax": jax}
        return self.get_breakdown_df_from_dict(
            self.compute_metrics(micro_idle_thresh_us, gpu_pid, event_filter, **options)
        )

    @staticmethod
    def merge_intervals(intervals: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The union of ``(start, end)`` pairs, as disjoint pairs in order."""
        return _intervals.merged(intervals)

    @staticmethod
    def subtract_intervalsA_from_B(
        intervals_to_subtract: Sequence[tuple[Any, Any]], intervals: Sequence[tuple[Any, Any]]
    ) -> list[tuple[Any, Any]]:
        """What of ``intervals`` is not in ``intervals_to_subtract``; both are disjoint and in order."""
        return _intervals.without(intervals, intervals_to_subtract)

    @staticmethod
    def verify_dict_gpu_event_lists(dict_gpu_event_lists: Mapping[str, Sequence[Event]]) -> None:
        """Raises a ``ValueError`` for lists that no times can be computed from."""
        expected = GPUEventAnalyser.gpu_event_keys
        unknown = [key for key in dict_gpu_event_lists if key not in expected]
        if unknown or GPUEventAnalyser.all_gpu_key not in dict_gpu_event_lists:
            raise UsageError(f"Expected keys: {list(expected)}, got: {list(dict_gpu_event_lists)}")
        for key, events in dict_gpu_event_lists.items():
            for at, event in enumerate(events):
                if event.get("ts") is None or (event.get("t_end") is None and event.get("dur") is None):
                    raise UsageError(
                        f"Event {at} of {key!r} does not have 'ts' or 't_end' fields: {event!r:.200}"
                    )
        if not dict_gpu_event_lists[GPUEventAnalyser.all_gpu_key]:
            raise UsageError(NO_GPU_EVENTS)

    @staticmethod
    def compute_metrics_dict(
        dict_gpu_event_lists: Mapping[str, Sequence[Event]], micro_idle_thresh_us: float | None = None
    ) -> Metrics:
        """The times, in microseconds, of lists as :meth:`get_gpu_event_lists` returns them."""
        everything, computation, communication, copies = (
            [span_ns(event) for event in dict_gpu_event_lists.get(key, ())]
            for key in GPUEventAnalyser.gpu_event_keys
        )
        if not everything:
            raise UsageError(NO_GPU_EVENTS)
        times = _intervals.breakdown_ns(everything, computation, communication, copies, micro_idle_thresh_us)
        by_kind = times["computation_ns"] + times["exposed_comm_ns"] + times["exposed_memcpy_ns"]
        if by_kind != times["busy_ns"]:
            raise UsageError(
                f"the lists contradict one another: 'all_gpu' is busy for {times['busy_ns'] / 1000} µs, the "
                f"three kinds together for {by_kind / 1000} µs; every event of 'all_gpu' has to be in one of "
                "the other lists, and the other way round"
            )
        return metrics_us(times)

    @staticmethod
    def get_breakdown_df_from_dict(dict_metrics: Mapping[str, float]) -> pd.DataFrame:
        """Times as :meth:`compute_metrics` gives them, as a frame."""
        pandas = need("pandas", "get_breakdown_df")
        total = dict_metrics["total_time"]
        return pandas.DataFrame(
            {
                "type": list(dict_metrics),
                "time ms": [time / 1000 for time in dict_metrics.values()],
                # Work that has no length at all takes no share of nothing.
                "percent": [time / total * 100 if total else 0.0 for time in dict_metrics.values()],
            }
        )

    def _is_jax(self) -> bool:
        from gpuscope.tracelens.jax_gpu_event_analyser import has_gpu_processes

        if self._source.rank is not None:
            return self._source.is_jax
        return has_gpu_processes(self.events)


class PytorchGPUEventAnalyser(GPUEventAnalyser):
    """The GPU timeline of a trace of torch.profiler."""


def with_end(event: Event) -> Event:
    """The event with the time of its end; a copy, so that the trace stays as it is."""
    if event.get("t_end") is not None:
        return event
    return {**event, "t_end": _sum_us(event)}


def span_ns(event: Event) -> tuple[int, int]:
    """Start and end of an event in nanoseconds; one of negative length has none."""
    start, end, duration = to_ns(event["ts"]), event.get("t_end"), event.get("dur")
    if duration is not None and (end is None or end == _sum_us(event)):
        # Exact, where the sum of two floats in microseconds is not.
        return start, start + max(to_ns(duration), 0)
    return start, max(to_ns(end), start)


def _sum_us(event: Event) -> float:
    return float(event["ts"]) + float(event["dur"])


def metrics_us(times_ns: Mapping[str, int] | None) -> Metrics:
    """Times under gpuscope's names, in nanoseconds, as the metrics that TraceLens names, in microseconds."""
    if times_ns is None:
        raise UsageError(NO_GPU_EVENTS)
    idle = ["micro_idle", "macro_idle"] if times_ns.get("micro_idle_ns") is not None else ["idle"]
    names = {
        "computation_time": "computation_ns",
        "exposed_comm_time": "exposed_comm_ns",
        "exposed_memcpy_time": "exposed_memcpy_ns",
        "busy_time": "busy_ns",
        **{f"{name}_time": f"{name}_ns" for name in idle},
        "total_time": "total_ns",
        "total_comm_time": "comm_ns",
        "total_memcpy_time": "memcpy_ns",
    }
    return {name: times_ns[key] / 1000 for name, key in names.items()}
