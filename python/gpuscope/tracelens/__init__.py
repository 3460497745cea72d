"""TraceLens' classes over gpuscope: programs written for TraceLens run after changing the import.

``from TraceLens import GPUEventAnalyser`` becomes ``from gpuscope.tracelens import GPUEventAnalyser``. Names,
arguments and columns are TraceLens'; where answers differ, they are the corrections that
``docs/differences-from-tracelens.md`` lists.
"""

from __future__ import annotations

from gpuscope.tracelens.data_loader import DataLoader
from gpuscope.tracelens.gpu_event_analyser import GPUEventAnalyser, PytorchGPUEventAnalyser
from gpuscope.tracelens.jax_gpu_event_analyser import JaxGPUEventAnalyser
from gpuscope.tracelens.nccl_analyser import NcclAnalyser
from gpuscope.tracelens.trace_diff import TraceDiff
from gpuscope.tracelens.trace_fuse import TraceFuse
from gpuscope.tracelens.trace_to_tree import TraceToTree
from gpuscope.tracelens.tree_perf import TreePerfAnalyzer

__all__ = [
    "DataLoader",
    "GPUEventAnalyser",
    "JaxGPUEventAnalyser",
    "NcclAnalyser",
    "PytorchGPUEventAnalyser",
    "TraceDiff",
    "TraceFuse",
    "TraceToTree",
    "TreePerfAnalyzer",
]
