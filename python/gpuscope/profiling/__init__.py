"""Profiling of torch programs on CUDA, ROCm or the CPU, and pictures of what was recorded.

>>> from gpuscope.profiling import FlameGraphGenerator
>>> FlameGraphGenerator(min_duration_us=10.0, max_depth=50).max_depth
50

Nothing here imports torch before it is needed: traces can be drawn and analysed without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuscope._lazy import attributes

if TYPE_CHECKING:
    from gpuscope.profiling.flame_graph import FlameGraphData, FlameGraphGenerator
    from gpuscope.profiling.hta_integration import HTAAnalyzer, HTAReport
    from gpuscope.profiling.memory import MemoryProfiler, MemorySnapshot
    from gpuscope.profiling.profiler import UnifiedProfiler
    from gpuscope.profiling.session import KernelInfo, ProfileSession
    from gpuscope.profiling.timeline import TimelineData, TimelineGenerator
    from gpuscope.profiling.torch_compile import CompileBreak, CompileReport, TorchCompileAnalyzer

__all__ = [
    "CompileBreak",
    "CompileReport",
    "FlameGraphData",
    "FlameGraphGenerator",
    "HTAAnalyzer",
    "HTAReport",
    "KernelInfo",
    "MemoryProfiler",
    "MemorySnapshot",
    "ProfileSession",
    "TimelineData",
    "TimelineGenerator",
    "TorchCompileAnalyzer",
    "UnifiedProfiler",
]

_HOME = {
    "CompileBreak": "torch_compile",
    "CompileReport": "torch_compile",
    "FlameGraphData": "flame_graph",
    "FlameGraphGenerator": "flame_graph",
    "HTAAnalyzer": "hta_integration",
    "HTAReport": "hta_integration",
    "KernelInfo": "session",
    "MemoryProfiler": "memory",
    "MemorySnapshot": "memory",
    "ProfileSession": "session",
    "TimelineData": "timeline",
    "TimelineGenerator": "timeline",
    "TorchCompileAnalyzer": "torch_compile",
    "UnifiedProfiler": "profiler",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
