"""From the call to the kernel: launches, and what operators launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import UsageError

from .._units import us

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

#: Copies and memory sets by the name of the call or of what ran on the GPU.
_MEMORY = ("Memcpy", "Memset", "MEMORY_COPY_", "__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer")


def launch_stats(t: Trace, rank: int, include_memory_events: bool) -> pd.DataFrame:
    """Time in the call, on the GPU and between, for each launch of a rank."""
    launches = t.ask(rank, "launches").data["ranks"][0]["launches"]
    if not include_memory_events:
        launches = [launch for launch in launches if not _moves_memory(launch)]
    columns = {
        "correlation": [launch["correlation"] for launch in launches],
        "cpu_duration": [us(launch["cpu_ns"]) for launch in launches],
        "gpu_duration": [us(launch["gpu_ns"]) for launch in launches],
        "launch_delay": [us(launch["delay_ns"]) for launch in launches],
    }
    return need("pandas", "gpuscope.hta").DataFrame(columns)


def op_kernels_and_delay(t: Trace, rank: int, sort_by: Sequence[str]) -> pd.DataFrame:
    """What each ``aten::`` operator of a rank launches, and how long it takes to get there."""
    rows = [row for row in t.ask(rank, "op_kernels").data["rows"] if row["op"].startswith("aten::")]
    columns: dict[str, list[Any]] = {
        "aten_op_name": [row["op"] for row in rows],
        "kernel_sequence": [" -> ".join(row["kernels"]) for row in rows],
        "occurrence_count": [row["count"] for row in rows],
        "avg_aten_op_launch_delay": [round(us(row["mean_op_delay_ns"]), 3) for row in rows],
        "avg_runtime_delay": [round(us(row["mean_launch_delay_ns"]), 3) for row in rows],
    }
    unknown = [column for column in sort_by if column not in columns]
    if unknown:
        raise UsageError(f"sort_by: there is no column {unknown[0]!r}; there are {', '.join(columns)}")
    frame = need("pandas", "gpuscope.hta").DataFrame(columns)
    return frame.sort_values(list(sort_by), ascending=False, kind="stable", ignore_index=True)


def _moves_memory(launch: dict[str, Any]) -> bool:
    return any(word in launch["call"] or launch["name"].startswith(word) for word in _MEMORY)
