"""What hardware counters measured, kernel by kernel, with the operators behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

#: Floating-point operations that each count of a counter stands for.
CUDA_SASS_INSTRUCTION_COUNTER_FLOPS: dict[str, float] = {
    f"smsp__sass_thread_inst_executed_op_{precision}{operation}_pred_on.sum": 2 if operation == "fma" else 1
    for precision in "fhd"
    for operation in ("fma", "mul", "add")
}

_CATEGORY = "cuda_profiler_range"
_OWN_FIELDS = ("rank", "kernel", "op_stack", "launch_ns")


def counter_data_with_operators(t: Trace, rank: int) -> pd.DataFrame | None:
    """One row per measured kernel of a rank: its counters, and the operators around its launch, outermost
    first.

    ``None`` if nothing was measured. Without operators (their number and that of launches differ) stacks are
    empty.
    """
    ranges: list[dict[str, Any]] = t.ask(rank, "counters").data["ranges"]
    if not ranges:
        return None
    frame = _rows(t, rank)
    if len(frame) != len(ranges):
        frame = need("pandas", "gpuscope.hta").DataFrame({"name": [row["kernel"] for row in ranges]})
    for counter in [field for field in ranges[0] if field not in _OWN_FIELDS]:
        frame[counter] = [row[counter] for row in ranges]
    stacks = [list(row["op_stack"] or []) for row in ranges]
    frame["op_stack"] = stacks
    frame["top_level_op"] = [stack[0] if stack else "" for stack in stacks]
    frame["bottom_level_op"] = [stack[-1] if stack else "" for stack in stacks]
    return frame


def _rows(t: Trace, rank: int) -> pd.DataFrame:
    """The measured ranges in order of their start, with names rather than numbers."""
    frame = t.get_trace(rank)
    category = t.symbol_table.get_sym_id_map().get(_CATEGORY, -1)
    rows = frame[frame["cat"].eq(category)].sort_values("ts", kind="stable").reset_index(drop=True)
    return rows.assign(cat=_CATEGORY, name=t.symbol_table.decode(rows["name"]))
