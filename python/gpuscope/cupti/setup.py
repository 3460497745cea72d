"""Connecting collectors to CUPTI, and taking them off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gpuscope.cupti.copies import MEMCPY, MEMCPY2, MemoryCopy
from gpuscope.cupti.driver import BufferCompleted, BufferRequested
from gpuscope.cupti.kernels import CONCURRENT_KERNEL, KernelDataCollector
from gpuscope.cupti.registry import registry, registry_if_any

Callbacks = tuple[BufferRequested, BufferCompleted]


def setup_cupti_kernels(
    kernel_collector: KernelDataCollector, forward_to: BufferCompleted | None = None
) -> Callbacks:
    """From now on, the collector gets every kernel that runs.

    Args:
        kernel_collector: a ``KernelDataCollector``, or whatever has ``collect(activity)``.
        forward_to: the buffer callback that the program registered with CUPTI before. CUPTI keeps only the
            last one, so that one is called from here, with the records of all kinds that are switched on.

    Returns:
        The pair of callbacks that CUPTI now has. A program that registers its own pair later calls the second
        one (or ``dispatch``, which is the same) from its own.

    Raises:
        CuptiUnavailable: there is no NVIDIA driver or GPU, or CUPTI refuses.
        MissingDependency: cupti-python is not installed.
    """
    active = registry()
    active.start([CONCURRENT_KERNEL], kernel_collector.collect, forward_to)
    return active.buffer_requested, active.buffer_completed


def setup_cupti_memcpy(memcpy_collector: MemoryCopy, forward_to: BufferCompleted | None = None) -> Callbacks:
    """From now on, the collector gets every copy; goes together with ``setup_cupti_kernels``."""
    active = registry()
    active.start([MEMCPY], memcpy_collector.collect, forward_to, optional=[MEMCPY2])
    return active.buffer_requested, active.buffer_completed


def finalize_cupti_kernels() -> None:
    """Hands out all records that there are, of all kinds, and collects kernels no more.

    Wait for the GPU before (``torch.cuda.synchronize()``): what has not ended yet is not told. Without a
    set-up before, nothing happens.
    """
    _stop(CONCURRENT_KERNEL)


def finalize_cupti_memcpy() -> None:
    """Hands out all records that there are, of all kinds, and collects copies no more."""
    _stop(MEMCPY, MEMCPY2)


def dispatch(activities: list[Any]) -> None:
    """Hands records to the collectors that are set up; for programs whose own callback CUPTI calls."""
    active = registry_if_any()
    if active is not None:
        active.buffer_completed(activities)


@contextmanager
def collecting(
    kernels: KernelDataCollector | None = None,
    copies: MemoryCopy | None = None,
    forward_to: BufferCompleted | None = None,
) -> Iterator[None]:
    """Collects as long as the block runs, whichever way it ends."""
    started: list[Callable[[], None]] = []
    try:
        if kernels is not None:
            setup_cupti_kernels(kernels, forward_to)
            started.append(finalize_cupti_kernels)
        if copies is not None:
            setup_cupti_memcpy(copies, forward_to)
            started.append(finalize_cupti_memcpy)
        yield
    finally:
        for finalize in started:
            finalize()


def _stop(*kinds: int) -> None:
    active = registry_if_any()
    if active is not None:
        active.stop(kinds)
