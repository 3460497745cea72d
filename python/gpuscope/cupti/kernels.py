"""Which kernels ran, when, and for how long?"""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

CONCURRENT_KERNEL = 10
"""``CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL``, the same in all versions of CUPTI."""


class KernelLaunch(NamedTuple):
    """One run of a kernel, with times in nanoseconds on CUPTI's clock."""

    name: str
    start_ns: int
    end_ns: int
    device: int
    stream: int
    correlation: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int

    @property
    def duration_ns(self) -> int:
        """How long it ran."""
        return self.end_ns - self.start_ns


class KernelStatistics(NamedTuple):
    """All runs of kernels of one name, in nanoseconds."""

    launches: int
    total_ns: int
    mean_ns: float
    median_ns: float
    min_ns: int
    max_ns: int
    std_ns: float


class KernelDataCollector:
    """Collects launches and durations of kernels, from CUPTI's records of the kind ``CONCURRENT_KERNEL``.

    ``setup_cupti_kernels`` connects it to CUPTI; ``collect`` takes single records, from wherever they come.
    """

    def __init__(self) -> None:
        """Nothing is collected before it is set up."""
        self.kernels: list[KernelLaunch] = []
        """All that ran, in the order in which CUPTI told."""
        self.without_times = 0
        """Kernels that CUPTI could not time, which are not among ``kernels``."""

    def collect(self, activity: Any) -> None:
        """Takes one record; those that are of another kind are passed over."""
        if int(activity.kind) != CONCURRENT_KERNEL:
            return
        if activity.start == 0 and activity.end == 0:
            self.without_times += 1
            return
        # The record's memory is CUPTI's and used again: everything is copied out of it at once.
        self.kernels.append(
            KernelLaunch(
                name=str(activity.name or "(unnamed kernel)"),
                start_ns=int(activity.start),
                end_ns=int(activity.end),
                device=int(activity.device_id),
                stream=int(activity.stream_id),
                correlation=int(activity.correlation_id),
                grid=(int(activity.grid_x), int(activity.grid_y), int(activity.grid_z)),
                block=(int(activity.block_x), int(activity.block_y), int(activity.block_z)),
                registers=int(activity.registers_per_thread),
                shared_bytes=int(activity.static_shared_memory) + int(activity.dynamic_shared_memory),
            )
        )

    def statistics(self) -> dict[str, KernelStatistics]:
        """Kernels by name, the one with most time first."""
        by_name: dict[str, list[int]] = {}
        for kernel in self.kernels:
            by_name.setdefault(kernel.name, []).append(kernel.duration_ns)
        found = {name: _statistics(durations) for name, durations in by_name.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1].total_ns))

    def clear(self) -> None:
        """Forgets everything; a connection to CUPTI stays."""
        self.kernels.clear()
        self.without_times = 0

    def __len__(self) -> int:
        """How many kernels ran."""
        return len(self.kernels)

    def __repr__(self) -> str:
        """How many kernels ran."""
        return f"<KernelDataCollector: {len(self.kernels)} kernels>"


def _statistics(durations: list[int]) -> KernelStatistics:
    return KernelStatistics(
        launches=len(durations),
        total_ns=sum(durations),
        mean_ns=sum(durations) / len(durations),
        median_ns=statistics.median(durations),
        min_ns=min(durations),
        max_ns=max(durations),
        std_ns=statistics.pstdev(durations),
    )
