"""What the CPU did where no GPU took part: operators by their own time, and what stands out among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuscope import Run

CPU_TAKES_THE_GPUS_PLACE = "no GPU work was recorded: times of the CPU take the place of the GPU's"

_LARGE_SHARE = 0.25
_SHORT_OPERATOR_US = 10.0
_MANY_CALLS = 100


@dataclass(frozen=True)
class HostOperator:
    """An operator on the CPU: all its calls, and its own time without the operators it called."""

    name: str
    calls: int
    own_ns: int

    @property
    def own_us(self) -> float:
        """The own time in microseconds."""
        return self.own_ns / 1000


@dataclass(frozen=True)
class HostFinding:
    """Something that stands out, and what to do about it."""

    bottleneck: str
    advice: str


def host_operators(run: Run) -> list[HostOperator]:
    """Operators by their own time on the CPU, the largest first."""
    calls: dict[str, int] = {}
    own_ns: dict[str, int] = {}
    for node in run.flame(by="host", stacks="operators").data["nodes"]:
        if node["kind"] == "operator":
            name = node["name"]
            calls[name] = calls.get(name, 0) + node["count"]
            own_ns[name] = own_ns.get(name, 0) + node["own_ns"]
    operators = [HostOperator(name, calls[name], own_ns[name]) for name in calls]
    return sorted(operators, key=lambda operator: (-operator.own_ns, operator.name))


def host_findings(operators: Sequence[HostOperator], active_ns: int, total_ns: int) -> list[HostFinding]:
    """What stands out: one operator that takes much, many short ones, time outside of operators.

    >>> mm = HostOperator("aten::mm", 4, 900_000)
    >>> print(host_findings([mm], active_ns=900_000, total_ns=1_000_000)[0].bottleneck)
    aten::mm takes 100 % of the operators' time (4 calls)
    """
    own_ns = sum(operator.own_ns for operator in operators)
    if own_ns == 0 or total_ns == 0:
        return []
    found = []
    largest = operators[0]
    if largest.own_ns >= _LARGE_SHARE * own_ns:
        found.append(
            HostFinding(
                f"{largest.name} takes {100 * largest.own_ns / own_ns:.0f} % of the operators' time "
                f"({largest.calls} calls)",
                f"look at the shapes and the number type of {largest.name} first, or run it on a GPU",
            )
        )
    short = [operator for operator in operators if operator.own_us < _SHORT_OPERATOR_US * operator.calls]
    short_ns = sum(operator.own_ns for operator in short)
    short_calls = sum(operator.calls for operator in short)
    if short_calls >= _MANY_CALLS and short_ns >= _LARGE_SHARE * own_ns:
        found.append(
            HostFinding(
                f"{short_calls} calls of operators below {_SHORT_OPERATOR_US:.0f} µs take "
                f"{100 * short_ns / own_ns:.0f} % of the operators' time",
                "fuse them with torch.compile",
            )
        )
    outside_ns = total_ns - active_ns
    if outside_ns >= _LARGE_SHARE * total_ns:
        found.append(
            HostFinding(
                f"{100 * outside_ns / total_ns:.0f} % of the time passed outside of operators",
                "record Python's stacks (with_stack=True) and look for the cause in the flame graph",
            )
        )
    return found
