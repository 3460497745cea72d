"""The timelines of all GPUs of a JAX trace, which is one file for a host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuscope.errors import UsageError
from gpuscope.tracelens._kinds import arguments, is_duration, xla_kind
from gpuscope.tracelens._source import Event
from gpuscope.tracelens.gpu_event_analyser import (
    NO_GPU_EVENTS,
    EventFilter,
    EventLists,
    GPUEventAnalyser,
    Metrics,
    metrics_us,
    with_end,
)

if TYPE_CHECKING:
    import pandas as pd

_GPU_PROCESS = re.compile(r"/device:GPU:?(\d*)")
# Up to this number processes are GPUs and above it hosts, in keys and in traces without process names.
_LAST_GPU_PID = 100


class JaxGPUEventAnalyser(GPUEventAnalyser):
    """The GPU timelines of a JAX trace: GPU 0 unless another is asked for.

    Which processes are GPUs, and which of their threads are streams, is told by the trace's metadata events
    (``ph: M``). Only streams count: the other rows of a GPU, such as ``XLA Ops``, are derived from them.

    >>> names = [
    ...     {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
    ...     {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "Stream #7(Kernel)"}},
    ... ]
    >>> kernel = {"ph": "X", "name": "fusion", "pid": 1, "tid": 7, "ts": 10, "dur": 5}
    >>> JaxGPUEventAnalyser([*names, kernel]).compute_metrics()["computation_time"]
    5.0
    """

    @property
    def gpu_pids(self) -> list[int]:
        """The keys of the GPUs in :meth:`get_gpu_event_lists_jax`, GPU 0 first."""
        return list(self._processes.gpus.values())

    def get_gpu_event_lists_jax(self, event_filter: EventFilter | None = None) -> dict[int, EventLists]:
        """The events of each process: ``{pid: lists}``.

        GPUs are 1 to n and have the lists of :meth:`get_gpu_event_lists`; hosts are numbers above 100 and
        have ``all_cpu``. ``event_filter`` decides which events count, instead of the rule that streams do.
        """
        processes = self._processes
        wanted = event_filter or (lambda event: not processes.is_derived(event))
        lists: dict[int, EventLists] = {}
        for event in self.events:
            if event.get("ts") is None or not wanted(event):
                continue
            key, is_gpu = processes.key(event.get("pid"))
            if not is_gpu:
                lists.setdefault(key, {self.all_cpu_key: []})[self.all_cpu_key].append(event)
            elif is_duration(event):
                ended = with_end(event)
                of_gpu = lists.setdefault(key, {name: [] for name in self.gpu_event_keys})
                of_gpu[self.all_gpu_key].append(ended)
                of_gpu[xla_kind(str(event.get("name", "")))].append(ended)
        return lists

    def get_gpu_event_lists(
        self, gpu_pid: int | None = None, event_filter: EventFilter | None = None
    ) -> EventLists:
        """The lists of one GPU: of the one with this key, else of GPU 0."""
        key = self._default_key() if gpu_pid is None else gpu_pid
        return self.get_gpu_event_lists_jax(event_filter).get(key) or {
            name: [] for name in self.gpu_event_keys
        }

    def compute_metrics(
        self,
        micro_idle_thresh_us: float | None = None,
        gpu_pid: int | None = None,
        event_filter: EventFilter | None = None,
        *,
        jax: bool | None = None,
    ) -> Metrics:
        """The times of one GPU in microseconds, as :meth:`GPUEventAnalyser.compute_metrics`."""
        if self._native and gpu_pid is None and event_filter is None:
            return metrics_us(self._devices(micro_idle_thresh_us).get(0))
        options: dict[str, Any] = {"gpu_pid": gpu_pid, "event_filter": event_filter}
        lists = self.get_gpu_event_lists(
            **{name: value for name, value in options.items() if value is not None}
        )
        if not lists.get(self.all_gpu_key):
            self._say_which_gpus_there_are(gpu_pid)
        self.verify_dict_gpu_event_lists(lists)
        return self.compute_metrics_dict(lists, micro_idle_thresh_us)

    def compute_metrics_multigpu(
        self, micro_idle_thresh_us: float | None = None, event_filter: EventFilter | None = None
    ) -> dict[int, Metrics]:
        """The times of every GPU that did anything: ``{index: metrics}``."""
        if self._native and event_filter is None:
            return {index: metrics_us(times) for index, times in self._devices(micro_idle_thresh_us).items()}
        indices = {key: index for index, key in self._processes.gpus.items()}
        lists = self.get_gpu_event_lists_jax(
            **({} if event_filter is None else {"event_filter": event_filter})
        )
        metrics: dict[int, Metrics] = {}
        for key, of_process in sorted(lists.items()):
            if of_process.get(self.all_gpu_key):
                self.verify_dict_gpu_event_lists(of_process)
                index = indices.get(key, key - 1)
                metrics[index] = self.compute_metrics_dict(of_process, micro_idle_thresh_us)
        return metrics

    def get_breakdown_df_multigpu(
        self, event_filter: EventFilter | None = None, micro_idle_thresh_us: float | None = None
    ) -> dict[int, pd.DataFrame]:
        """A frame as of :meth:`get_breakdown_df` for each GPU: ``{index: frame}``."""
        metrics = self.compute_metrics_multigpu(micro_idle_thresh_us, event_filter)
        return {index: self.get_breakdown_df_from_dict(of_gpu) for index, of_gpu in metrics.items()}

    def get_average_metrics(
        self, gpu_pid: int | None = None, event_filter: EventFilter | None = None
    ) -> Metrics:
        """The mean times over all GPUs that did anything, or the times of the one named."""
        if gpu_pid is not None:
            return self.compute_metrics(gpu_pid=gpu_pid, event_filter=event_filter)
        metrics = list(self.compute_metrics_multigpu(event_filter=event_filter).values())
        if not metrics:
            raise UsageError(NO_GPU_EVENTS)
        return {name: sum(of_gpu[name] for of_gpu in metrics) / len(metrics) for name in metrics[0]}

    def get_average_df(
        self, gpu_pid: int | None = None, event_filter: EventFilter | None = None
    ) -> pd.DataFrame:
        """The mean times as a frame; ``percent`` is of the mean total time."""
        return self.get_breakdown_df_from_dict(self.get_average_metrics(gpu_pid, event_filter))

    @cached_property
    def _processes(self) -> Processes:
        return Processes.of(self.events)

    @property
    def _native(self) -> bool:
        """Whether gpuscope answers: it opened the trace, and no subclass decides which events there are."""
        own = JaxGPUEventAnalyser
        as_written = (
            type(self).get_gpu_event_lists is own.get_gpu_event_lists
            and type(self).get_gpu_event_lists_jax is own.get_gpu_event_lists_jax
        )
        return as_written and self._source.rank is not None

    def _devices(self, micro_idle_thresh_us: float | None) -> dict[int, Mapping[str, int]]:
        assert self._source.rank is not None
        ranks = self._source.rank.breakdown(micro_idle_us=micro_idle_thresh_us).data["ranks"]
        return {device["device"]: device for device in (ranks[0]["devices"] if ranks else [])}

    def _default_key(self) -> int:
        return self._processes.gpus.get(0, 1)

    def _say_which_gpus_there_are(self, gpu_pid: int | None) -> None:
        keys = [key for key, lists in self.get_gpu_event_lists_jax().items() if lists.get(self.all_gpu_key)]
        if keys:
            missing = "GPU 0" if gpu_pid is None else f"gpu_pid={gpu_pid}"
            raise UsageError(f"{NO_GPU_EVENTS} for {missing}; there are some for gpu_pid in {sorted(keys)}")


@dataclass
class Processes:
    """Which processes of a JAX trace are GPUs, and which of their threads are streams."""

    gpus: dict[int, int] = field(default_factory=dict)
    """The key of each GPU, by its index."""
    _gpu_keys: dict[Any, int] = field(default_factory=dict)
    _threads: dict[tuple[Any, Any], str] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Processes:
        """Reads the metadata of a trace; without any, processes 1 to 100 are GPUs."""
        found, names, pids = cls(), dict[Any, str](), set[Any]()
        for event in events:
            pid = event.get("pid")
            pids.add(pid)
            if event.get("ph") == "M":
                name = str(arguments(event).get("name", ""))
                if event.get("name") == "process_name":
                    names[pid] = name
                elif event.get("name") == "thread_name":
                    found._threads[pid, event.get("tid")] = name
            elif "process" in event:  # as TraceLens' own trees attach it
                names.setdefault(pid, _attached(event["process"], "process_name"))
                if "thread" in event:
                    found._threads.setdefault(
                        (pid, event.get("tid")), _attached(event["thread"], "thread_name")
                    )
        gpus = {pid: match for pid, name in names.items() if (match := _GPU_PROCESS.search(name))}
        if gpus:
            indices = {
                pid: int(match[1] or 0) for pid, match in sorted(gpus.items(), key=lambda gpu: str(gpu[0]))
            }
            if len(set(indices.values())) < len(indices):  # of several hosts, which count from 0 each
                indices = {pid: at for at, pid in enumerate(indices)}
        else:
            indices = {pid: pid - 1 for pid in pids if _is_gpu_pid(pid)}
        for pid, index in sorted(indices.items(), key=lambda gpu: gpu[1]):
            key = pid if _is_gpu_pid(pid) else index + 1
            found._gpu_keys[pid] = found.gpus[index] = key
        return found

    def key(self, pid: Any) -> tuple[int, bool]:
        """The number under which a process is listed, and whether it is a GPU."""
        if pid in self._gpu_keys:
            return self._gpu_keys[pid], True
        number = pid if isinstance(pid, int) else 0
        return (number if number > _LAST_GPU_PID else 7 * _LAST_GPU_PID + number), False

    def is_derived(self, event: Event) -> bool:
        """Whether an event of a GPU is on a row that only repeats what its streams did."""
        if event.get("pid") not in self._gpu_keys:
            return False
        tid = event.get("tid")
        thread = self._threads.get((event.get("pid"), tid))
        if thread is not None:
            return not thread.startswith("Stream #")
        return isinstance(tid, int) and tid >= 100


def has_gpu_processes(events: Iterable[Event]) -> bool:
    """Whether a trace names GPUs as processes, as JAX does."""
    return any(
        event.get("ph") == "M"
        and event.get("name") == "process_name"
        and _GPU_PROCESS.search(str(arguments(event).get("name", "")))
        for event in events
    )


def _attached(value: Any, name: str) -> str:
    return str(value.get(name, "")) if isinstance(value, Mapping) else str(value or "")


def _is_gpu_pid(pid: Any) -> bool:
    return isinstance(pid, int) and 1 <= pid <= _LAST_GPU_PID
