"""Sequences of kernels that an operator launches again and again, and the trace with them marked."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

from .._derived import derived_name, marked, write_json
from .._events import NONE
from .._units import us

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

_EVERY_PATTERN = 2**31 - 1


def frequent_sequences(t: Trace, rank: int, operator_name: str, min_pattern_len: int) -> pd.DataFrame:
    """Each sequence with how often it occurs and how long it took; the most frequent first."""
    answer = t.ask(
        rank, "patterns", operator=operator_name, min_pattern_len=min_pattern_len, top_k=_EVERY_PATTERN
    )
    patterns = answer.data["patterns"]
    columns = {
        "pattern": ["|".join([row["operator"], *row["kernels"]]) for row in patterns],
        "count": [row["count"] for row in patterns],
        "GPU kernel duration (us)": [us(row["gpu_ns"]) for row in patterns],
        "CPU op duration (us)": [us(row["cpu_ns"]) for row in patterns],
    }
    frame = need("pandas", "gpuscope.hta").DataFrame(columns)
    return frame.sort_values(["count", "pattern"], ascending=[False, True], ignore_index=True)


def write_overlay(
    t: Trace,
    rank: int,
    frequent: pd.DataFrame,
    operator_name: str,
    output_dir: Path,
    compress_other_kernels: bool,
) -> Path:
    """Write the trace with the operators and kernels of frequent sequences marked ``Patterns``."""
    counts = dict(zip(frequent["pattern"], frequent["count"], strict=True))
    marks: dict[int, Counter[str]] = defaultdict(Counter)
    for root, kernels, pattern in _occurrences(t.events(rank), operator_name):
        if pattern in counts:
            for index in (root, *kernels):
                marks[index][pattern] = int(counts[pattern])
    document = t.get_raw_trace_for_one_rank(rank)
    events = document["traceEvents"]
    for index, patterns in marks.items():
        events[index].setdefault("args", {})["Patterns"] = dict(patterns)
    if compress_other_kernels:
        _compress(document, set(marks), t)
    source = t.trace_files[rank]
    target = output_dir / derived_name(source, prefix="overlaid_")
    write_json(target, marked(document, source))
    return target


def _occurrences(events: pd.DataFrame, operator_name: str) -> list[tuple[int, list[int], str]]:
    """Every root that launched something: its index, those of its GPU events, and the pattern."""
    roots = _outermost(events, operator_name)
    launched = events[events["launch"].ne(NONE)].sort_values("ts_ns", kind="stable")
    below: defaultdict[int, list[int]] = defaultdict(list)
    for index, call in zip(launched.index, launched["launch"], strict=True):
        root = roots.get(call)
        if root is not None:
            below[root].append(index)
    names = events["name"]
    return [(root, work, "|".join(names.loc[[root, *work]])) for root, work in below.items()]


def _outermost(events: pd.DataFrame, operator_name: str) -> dict[int, int]:
    """For each host event below or at an event of this name, the outermost such event."""
    host = events[~events["is_gpu"]]
    matches = host["name"].astype(str).str.contains(operator_name, regex=False)
    parents = dict(zip(host.index, host["parent"], strict=True))
    named = dict(zip(host.index, matches, strict=True))
    roots: dict[int, int] = {}

    def root_of(index: int) -> int:
        chain = []
        while index != NONE and index not in roots:
            chain.append(index)
            index = parents.get(index, NONE)
        found = roots.get(index, NONE)
        for event in reversed(chain):
            found = event if found == NONE and named.get(event, False) else found
            roots[event] = found
        return found

    for index in host.index:
        root_of(index)
    return {index: root for index, root in roots.items() if root != NONE}


def _compress(document: dict[str, Any], marked: set[int], t: Trace) -> None:
    """Shorten what is not part of a pattern: names become numbers, which are explained elsewhere.

    Where the profiler has an event of its own they stand there, as in HTA's files, else beside the events.
    """
    symbols = t.symbol_table
    used: dict[str, str] = {}
    explained = document
    for index, event in enumerate(document["traceEvents"]):
        if event.get("ph") != "X" or index in marked:
            continue
        name = str(event.get("name", ""))
        if name.startswith("PyTorch Profiler"):
            explained = event.setdefault("args", {})
            continue
        symbols.add_symbols([name])
        number = str(symbols.get_sym_id_map()[name])
        used[number] = name
        event["name"] = number
        event["args"] = {}
    explained["name_map"] = used
