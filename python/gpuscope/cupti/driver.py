"""Can CUPTI be used on this machine, and if not, why?

Some versions of CUPTI end the whole process when they are called on a machine without an NVIDIA driver, so
the driver is asked first, and no function of CUPTI is called unless it answers.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from gpuscope.errors import GpuscopeError, MissingDependency

BufferRequested = Callable[[], tuple[int, int]]
"""Answers the size of a buffer in bytes and how many records it may take, 0 for as many as fit."""

BufferCompleted = Callable[[list[Any]], None]
"""Takes the records of a buffer, as objects of cupti-python."""

_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

_REASONS = {
    34: "it is the stub for linking, not a driver",
    100: "it sees no GPU; is CUDA_VISIBLE_DEVICES set to nothing?",
    802: "the GPU's fabric is not ready yet",
    803: "its version and that of the kernel module do not fit",
}


class CuptiUnavailable(GpuscopeError, RuntimeError):
    """CUPTI cannot collect anything here; the message says what is missing."""


class CuptiModule(Protocol):
    """What is used of ``cupti.cupti``, the binding that NVIDIA's cupti-python installs."""

    ActivityKind: Any
    cuptiError: type[Exception]

    def activity_register_callbacks(
        self, func_buffer_requested: BufferRequested, func_buffer_completed: BufferCompleted
    ) -> None:
        """Replaces the pair of callbacks of this process."""

    def activity_enable(self, kind: int) -> None:
        """From now on, records of this kind are collected."""

    def activity_disable(self, kind: int) -> None:
        """From now on, records of this kind are not collected."""

    def activity_flush_all(self, flag: int) -> None:
        """Delivers all records that are finished; with flag 1 also those of buffers that are not full."""

    def activity_get_num_dropped_records(self, context: int, stream_id: int, dropped: int) -> None:
        """Writes how many records were lost to the address ``dropped``."""

    def get_timestamp(self) -> int:
        """Now, in nanoseconds of the clock that records have."""
        ...


def load_cupti() -> CuptiModule:
    """NVIDIA's binding, ready to be called.

    Raises:
        CuptiUnavailable: there is no driver, it has no GPU, or the binding does not load.
        MissingDependency: the package cupti-python is not installed.
    """
    require_driver()
    if importlib.util.find_spec("cupti") is None:
        raise MissingDependency(
            "collecting kernels and copies needs NVIDIA's cupti-python: pip install 'gpuscope[cupti]'"
        )
    try:
        return cast(CuptiModule, importlib.import_module("cupti.cupti"))
    except (
        Exception
    ) as error:  # The binding has error types of its own, which cannot be named before it is loaded.
        raise CuptiUnavailable(f"cupti-python is installed but does not load: {error}") from error


def is_available() -> bool:
    """Whether kernels and copies can be collected in this process.

    >>> is_available() in (True, False)
    True
    """
    try:
        load_cupti()
    except (CuptiUnavailable, MissingDependency):
        return False
    return True


def require_driver() -> None:
    """Raises ``CuptiUnavailable`` unless there is an NVIDIA driver with a GPU."""
    way_out = "traces of torch.profiler can be read on this machine all the same: gpuscope.open(path)"
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError as error:
        raise CuptiUnavailable(
            f"CUPTI needs an NVIDIA driver, and {_DRIVER} cannot be opened ({error}); {way_out}"
        ) from error
    try:
        result = int(driver.cuInit(0))
    except AttributeError as error:
        raise CuptiUnavailable(f"{_DRIVER} is not an NVIDIA driver: it has no cuInit; {way_out}") from error
    if result != 0:
        reason = _REASONS.get(result, "see the CUDA driver API's list of errors")
        raise CuptiUnavailable(
            f"the NVIDIA driver does not start (cuInit answers {result}: {reason}); {way_out}"
        )


def names_of(cupti: CuptiModule, kinds: Sequence[int]) -> str:
    """Kinds of records as CUPTI calls them, for messages."""
    return ", ".join(cupti.ActivityKind(kind).name for kind in kinds)
