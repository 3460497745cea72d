"""Which ranks hold the others up."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from ..common.trace import Trace

    #: Given the events of all ranks, the names, a number of candidates and whether to plot: a score by rank.
    Identification = Callable[..., pd.Series]


def profiler_steps(t: Trace) -> list[int]:
    """The profiler steps of any rank, without the last one if that is left out."""
    return sorted({step for rank in t.get_ranks() for step in t.get_iterations(rank)})


def potential_stragglers(t: Trace, steps: Sequence[int] | None, num_candidates: int) -> list[int]:
    """The ranks that most likely hold the others up, the likeliest first.

    A rank counts by its own lateness at collectives, less what it inherited from ranks it had waited for
    itself; where clocks are too far apart to tell, by how often it came last.
    """
    known = {rank.number: number for number, rank in ((n, t.rank(n)) for n in t.get_ranks())}
    lateness: defaultdict[int, int] = defaultdict(int)
    arrived_last: defaultdict[int, int] = defaultdict(int)
    drop = any(t.drops_last_step(rank) for rank in t.get_ranks())
    for step in _ranges(steps):
        for row in t.run.stragglers(step=step, drop_last_step=drop).data["ranks"]:
            lateness[row["rank"]] += row["own_lateness_ns"]
            arrived_last[row["rank"]] += row["arrived_last"]
    late = [rank for rank in known if lateness[rank] > 0 or arrived_last[rank] > 0]
    if not late:
        warnings.warn(
            "no stragglers: there are no collectives that at least two ranks took part in", stacklevel=3
        )
    late.sort(key=lambda rank: (-lateness[rank], -arrived_last[rank], rank))
    return [known[rank] for rank in late[: max(num_candidates, 1)]]


def stragglers_by(
    t: Trace, steps: Sequence[int] | None, num_candidates: int, visualize: bool, identify: Identification
) -> list[int]:
    """The ranks that a function of the caller's finds."""
    frames = {rank: t.get_trace(rank) for rank in t.get_ranks()}
    events = need("pandas", "gpuscope.hta").concat(frames, names=["rank", "idx"]).reset_index()
    if steps is not None:
        events = events[events["iteration"].isin(steps)]
    scores = identify(events, t.symbol_table, num_candidates, visualize)
    found: list[int] = scores.sort_values(ascending=False)[: max(num_candidates, 1)].index.tolist()
    return found


def valid_steps(t: Trace, steps: Sequence[int] | None) -> list[int] | None:
    """The asked steps that exist; ``None`` means all, whether there are any or not."""
    if steps is None:
        return None
    available = profiler_steps(t)
    valid = [step for step in steps if step in available]
    if not valid:
        asked = ", ".join(map(str, steps))
        known = ", ".join(map(str, available)) or "none"
        raise UsageError(f"profiler_steps={asked}: there are no such steps; there are {known}")
    return valid


def _ranges(steps: Sequence[int] | None) -> list[Any]:
    """Steps as ranges with both ends in; ``None`` is one range of everything."""
    if steps is None:
        return [None]
    ranges: list[tuple[int, int]] = []
    for step in sorted(set(steps)):
        if ranges and ranges[-1][1] == step - 1:
            ranges[-1] = (ranges[-1][0], step)
        else:
            ranges.append((step, step))
    return ranges
