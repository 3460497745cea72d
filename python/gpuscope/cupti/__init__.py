"""Collects kernels and copies with NVIDIA's CUPTI, Python stacks, and times of layers.

Kernels and copies need a GPU of NVIDIA's, its driver and the package cupti-python (``pip install
'gpuscope[cupti]'``); where one is missing, setting up raises ``CuptiUnavailable`` or ``MissingDependency``,
which say what to do. Stacks and layers are collected everywhere. All times are on the clock of CUPTI's
records, so that they can be drawn together::

    from gpuscope.cupti import KernelDataCollector, MemoryCopy, setup_cupti_kernels, setup_cupti_memcpy

    kernels, copies = KernelDataCollector(), MemoryCopy()
    setup_cupti_kernels(kernels)
    setup_cupti_memcpy(copies)
    ...                                     # run the model, then torch.cuda.synchronize()
    finalize_cupti_kernels()
    finalize_cupti_memcpy()
    run = to_run(kernels, copies)           # every analysis of gpuscope
"""

from __future__ import annotations

from gpuscope.cupti.clock import kernel_clock_ns
from gpuscope.cupti.copies import MEMCPY_KIND_STR, CopyRecord, MemcpyDataCollector, MemoryCopy
from gpuscope.cupti.driver import CuptiUnavailable, is_available
from gpuscope.cupti.kernels import KernelDataCollector, KernelLaunch, KernelStatistics
from gpuscope.cupti.layers import ExtractModel, LayerCall, LayerTimes
from gpuscope.cupti.setup import (
    collecting,
    dispatch,
    finalize_cupti_kernels,
    finalize_cupti_memcpy,
    setup_cupti_kernels,
    setup_cupti_memcpy,
)
from gpuscope.cupti.stacktrace import DepthPoint, StackCall, StacktraceCollector
from gpuscope.cupti.traces import to_run, to_trace

__all__ = [
    "MEMCPY_KIND_STR",
    "CopyRecord",
    "CuptiUnavailable",
    "DepthPoint",
    "ExtractModel",
    "KernelDataCollector",
    "KernelLaunch",
    "KernelStatistics",
    "LayerCall",
    "LayerTimes",
    "MemcpyDataCollector",
    "MemoryCopy",
    "StackCall",
    "StacktraceCollector",
    "collecting",
    "dispatch",
    "finalize_cupti_kernels",
    "finalize_cupti_memcpy",
    "is_available",
    "kernel_clock_ns",
    "setup_cupti_kernels",
    "setup_cupti_memcpy",
    "to_run",
    "to_trace",
]
