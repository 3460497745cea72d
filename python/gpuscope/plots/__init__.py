"""Five figures of what a model does on a GPU, and the collectors of ``gpuscope.cupti`` that they draw.

Each takes collectors, objects of other makes with the same attributes, and traces: a ``Run``, a ``Rank``, a
``ProfileSession`` or a path. Each gives a plotly figure, which notebooks show by themselves; ``show=True``
opens it, ``figure.write_html("x.html")`` saves it.
"""

from __future__ import annotations

from gpuscope.cupti import (
    MEMCPY_KIND_STR,
    CuptiUnavailable,
    ExtractModel,
    KernelDataCollector,
    MemcpyDataCollector,
    MemoryCopy,
    StacktraceCollector,
    finalize_cupti_kernels,
    finalize_cupti_memcpy,
    setup_cupti_kernels,
    setup_cupti_memcpy,
)
from gpuscope.plots.bottlenecks import plot_bottleneck_analysis
from gpuscope.plots.boxes import plot_layer_runtime_stats, plot_throughput_analysis
from gpuscope.plots.stack_depth import plot_stacktrace_with_kernels
from gpuscope.plots.timeline import plot_timeline_memcpy_and_passes

__all__ = [
    "MEMCPY_KIND_STR",
    "CuptiUnavailable",
    "ExtractModel",
    "KernelDataCollector",
    "MemcpyDataCollector",
    "MemoryCopy",
    "StacktraceCollector",
    "finalize_cupti_kernels",
    "finalize_cupti_memcpy",
    "plot_bottleneck_analysis",
    "plot_layer_runtime_stats",
    "plot_stacktrace_with_kernels",
    "plot_throughput_analysis",
    "plot_timeline_memcpy_and_passes",
    "setup_cupti_kernels",
    "setup_cupti_memcpy",
]
