"""The interface of Meta's Holistic Trace Analysis over gpuscope's analyses.

Code written for HTA runs after its imports are changed from ``hta`` to ``gpuscope.hta``::

    from gpuscope.hta import TraceAnalysis, TraceDiff

    analyzer = TraceAnalysis(trace_dir="traces/")
    kernel_types, kernels = analyzer.get_gpu_kernel_breakdown()

Methods, arguments and columns are HTA's, times are microseconds as there. The numbers are gpuscope's: exact
to the nanosecond, and without the mistakes that ``docs/differences-from-hta.md`` lists. What differs on
purpose:

* ``ranks=None`` means all ranks, not rank 0;
* percentages have two decimals, ratios four, times are not rounded;
* tables of kernels, annotations and idle time have a further column ``count``;
* a trace without GPU work gives an empty table and a warning rather than an exception;
* files are written only where they are asked for, and never read again as if they had been recorded.
"""

from __future__ import annotations

from .common.trace import Trace
from .trace_analysis import TimeSeriesTypes, TraceAnalysis
from .trace_diff import DeviceType, LabeledTrace, TraceDiff

__all__ = ["DeviceType", "LabeledTrace", "TimeSeriesTypes", "Trace", "TraceAnalysis", "TraceDiff"]
