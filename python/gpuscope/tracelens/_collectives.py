"""Collectives matched over all ranks, with what the event of each part says about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need

if TYPE_CHECKING:
    from gpuscope.run import Rank, Run

MEGABYTE = 1e6
UNKNOWN_GROUP = "Unknown_Group"
EVERYONE = "all"

# Bytes of an element, by the names that PyTorch gives its types.
_ELEMENT_BYTES = {
    **dict.fromkeys(("Bool", "Byte", "Char", "QInt8", "QUInt8"), 1),
    **dict.fromkeys(
        ("Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz", "Float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("BFloat16", "Half", "Short", "UInt16"), 2),
    **dict.fromkeys(("Float", "Int", "QInt32", "UInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Double", "Long", "UInt64", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}


@dataclass(frozen=True)
class Part:
    """What one rank did in a collective."""

    rank: int
    start_ns: int
    dur_ns: int
    wait_ns: int
    kernel: str
    args: Mapping[str, Any]

    def megabytes(self, elements: str) -> float | None:
        """The size of ``In`` or ``Out`` messages, in 10⁶ bytes."""
        count, width = self.args.get(f"{elements} msg nelems"), self.element_bytes
        return None if count is None or width is None else count * width / MEGABYTE

    @property
    def element_bytes(self) -> int | None:
        """The bytes of an element, if its type is known."""
        return _ELEMENT_BYTES.get(str(self.args.get("dtype")))


@dataclass(frozen=True)
class Collective:
    """One collective, over the ranks whose traces are there."""

    id: str
    index: int
    group: str
    name: str | None
    """As recorded, or as the name of its kernels tells; ``None`` if neither does."""
    found: Mapping[str, Any]
    """What gpuscope's ``collectives`` says of it."""
    parts: Sequence[Part]

    @property
    def sort(self) -> str | None:
        """What it does, if everybody waits for everybody in it or if it is an ``alltoallv``."""
        letters = re.sub(r"[^a-z]", "", (self.name or "").lower())
        sorts = ("alltoallv", "alltoall", "allreduce", "reducescatter", "allgather")
        return next((sort for sort in sorts if sort in letters), None)


def matched(run: Run, patterns: Sequence[tuple[str, str]]) -> list[Collective]:
    """The collectives of a run, each group's in order of their start."""
    rows: list[Mapping[str, Any]] = run.collectives().data["collectives"]
    parts = {rank.number: _communication(rank) for rank in run.ranks}
    # Inference servers record no groups: then all ranks are one, and order alone matches.
    no_groups = EVERYONE if all(row["group"] is None for row in rows) else UNKNOWN_GROUP
    so_far: Counter[str] = Counter()
    found: list[Collective] = []
    for row in sorted(rows, key=lambda row: row["start_ns"]):
        group = str(row["group"]) if row["group"] is not None else no_groups
        index = so_far[group]
        so_far[group] += 1
        of_ranks = [_part(part, parts.get(part["rank"], {})) for part in row["ranks"]]
        identity = str(index) if group == EVERYONE else f"{group}_{index}"
        found.append(Collective(identity, index, group, _name(of_ranks, patterns), row, of_ranks))
    return found


def _communication(rank: Rank) -> dict[tuple[int, int], dict[str, Any]]:
    """Give what is recorded of a rank's communication, by start and length."""
    pyarrow, compute = need("pyarrow", "NcclAnalyser"), need("pyarrow.compute", "NcclAnalyser")
    table = rank.events(args=True)
    # The meaning of an argument's column is the argument's name in the trace.
    names = {column.name: column.doc for column in table.columns} | {"name": "name", "stream": "stream"}
    every = table.to_arrow()
    chosen = every.filter(compute.equal(every["kind"].cast(pyarrow.string()), "communication"))
    return {
        (row["ts_ns"], row["dur_ns"]): {names[key]: value for key, value in row.items() if value is not None}
        for row in chosen.to_pylist()
    }


def _part(part: Mapping[str, Any], recorded: Mapping[tuple[int, int], dict[str, Any]]) -> Part:
    args = recorded.get((part["start_ns"], part["dur_ns"]), {})
    return Part(
        part["rank"], part["start_ns"], part["dur_ns"], part["wait_ns"], str(args.get("name", "")), args
    )


def _name(parts: Sequence[Part], patterns: Sequence[tuple[str, str]]) -> str | None:
    recorded = next(
        (part.args["Collective name"] for part in parts if part.args.get("Collective name")), None
    )
    if recorded is not None:
        return str(recorded)
    kernels = {part.kernel for part in parts}
    return next(
        (
            name
            for pattern, name in patterns
            if any(re.search(pattern, kernel, re.IGNORECASE) for kernel in kernels)
        ),
        None,
    )
