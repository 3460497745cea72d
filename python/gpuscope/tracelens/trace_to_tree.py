"""Which host event called which, and which GPU events each put on the device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuscope.tracelens import _intervals
from gpuscope.tracelens._kinds import arguments, gpu_kind, is_duration
from gpuscope.tracelens._source import Source
from gpuscope.tracelens.gpu_event_analyser import span_ns

if TYPE_CHECKING:
    from gpuscope.tracelens._source import TraceLike

Node: TypeAlias = dict[str, Any]
"""An event of the trace with its place in the tree: ``UID``, ``parent``, ``children`` and ``t_end``."""

_OPERATORS = frozenset({"cpu_op", "Operator"})
_FRAMES = frozenset({"python_function"})


class TraceToTree:
    """The call tree of a PyTorch trace.

    Every event keeps its place in the trace's event array as ``UID``. Operators hold what runs within them
    on their thread. A call of the runtime holds the GPU events that it launched: those with its correlation
    number.

    >>> trace = [
    ...     {"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 9},
    ...     {"cat": "cuda_runtime", "name": "cudaLaunch", "ts": 2, "dur": 3, "args": {"correlation": 7}},
    ...     {"cat": "kernel", "name": "gemm", "ts": 8, "dur": 4, "args": {"correlation": 7}},
    ... ]
    >>> tree = TraceToTree(trace)
    >>> tree.get_parent_event(tree.get_parent_event(tree.get_UID2event(2)))["name"]
    'aten::mm'
    """

    def __init__(self, events_data: TraceLike, add_python_func: bool = False) -> None:
        """Builds the tree; with ``add_python_func``, Python frames hold what runs within them too."""
        self.source = Source.of(events_data)
        self.add_python_func = add_python_func
        self.events: list[Node] = [_node(uid, event) for uid, event in enumerate(self.source.events)]
        self._spans = {
            node["UID"]: span_ns(node) for node in self.events if is_duration(node) and _is_placed(node)
        }
        containers = _OPERATORS | _FRAMES if add_python_func else _OPERATORS
        self._link(_holders(self._threads(containers), lambda node: node.get("cat") in containers))

    @cached_property
    def cpu_root_nodes(self) -> list[int]:
        """Operators that no other operator called, in order of their start."""
        roots = [
            node["UID"]
            for node in self.events
            if node.get("cat") in _OPERATORS
            and node["UID"] in self._spans
            and not any(above.get("cat") in _OPERATORS for above in self._ancestors(node))
        ]
        return sorted(roots, key=lambda uid: self._spans[uid])

    @cached_property
    def gpu_events(self) -> list[Node]:
        """Every GPU event, with or without a known launch, in order of its start."""
        found = [node for node in self.events if gpu_kind(node) is not None]
        return sorted(found, key=lambda node: (self._spans[node["UID"]][0], node["UID"]))

    @cached_property
    def owners(self) -> dict[int, int]:
        """For each launching call the operator it counts for, by ``UID``; itself if it ran within none.

        Operators named ``execute`` only wrap what a graph executor runs, and are passed over. Frames are no
        containers here: one that ends after its operator takes nothing away from it.
        """
        threads = self._threads(_OPERATORS)
        holders = _holders(
            threads, lambda node: node.get("cat") in _OPERATORS and node.get("name") != "execute"
        )
        launching: set[int] = {node["parent"] for node in self.gpu_events if node["parent"] is not None}
        return {call: holders.get(call, call) for call in launching}

    def get_UID2event(self, UID: int) -> Node:
        """The event with this number."""
        return self.events[UID]

    def get_parent_event(self, event: Node) -> Node | None:
        """What called an event or launched it, if known."""
        return None if event["parent"] is None else self.events[event["parent"]]

    def get_children_events(self, event: Node) -> list[Node]:
        """What an event called or launched, in order of its start."""
        return [self.events[uid] for uid in event["children"]]

    def get_gpu_events(self, event: Node) -> list[Node]:
        """All GPU events that an event or what it called put on a device, in order of their start."""
        found: list[Node] = []
        below = [event]
        while below:
            node = below.pop()
            if gpu_kind(node) is not None:
                found.append(node)
            below.extend(self.get_children_events(node))
        return sorted(found, key=lambda node: (self._spans[node["UID"]][0], node["UID"]))

    def busy_ns(self, events: Iterable[Node]) -> int:
        """How long at least one of these events ran, in nanoseconds."""
        return _intervals.length(_intervals.merged(self._spans[event["UID"]] for event in events))

    def _ancestors(self, node: Node) -> Iterable[Node]:
        above = self.get_parent_event(node)
        while above is not None:
            yield above
            above = self.get_parent_event(above)

    def _threads(self, containers: frozenset[str]) -> list[list[tuple[int, int, Node]]]:
        """Calls and what may hold them, by thread, in the order in which they nest."""
        threads: dict[tuple[Any, Any], list[tuple[int, int, Node]]] = defaultdict(list)
        for uid, (start, end) in self._spans.items():
            node = self.events[uid]
            if node.get("cat") in containers or is_call(node):
                threads[node.get("pid"), node.get("tid")].append((start, end, node))
        for thread in threads.values():
            # Of two that take the same time the operator holds the call, whichever the file has first.
            thread.sort(key=lambda row: (row[0], -row[1], is_call(row[2]), row[2]["UID"]))
        return list(threads.values())

    def _link(self, holders: dict[int, int]) -> None:
        for uid, parent in holders.items():
            self.events[uid]["parent"] = parent
        by_correlation, by_external_id = self._first_calls("correlation"), self._first_calls("External id")
        for node in self.gpu_events:
            args = arguments(node)
            if args.get("correlation") is not None:
                node["parent"] = by_correlation.get(args["correlation"])
            else:
                node["parent"] = by_external_id.get(args.get("External id"))
        linked = (node for node in self.events if node["parent"] is not None)
        for node in sorted(linked, key=lambda node: (self._spans[node["UID"]][0], node["UID"])):
            self.events[node["parent"]]["children"].append(node["UID"])

    def _first_calls(self, key: str) -> dict[Any, int]:
        """For each value of an argument the call that has it and starts first."""
        first: dict[Any, int] = {}
        for uid, (start, _) in self._spans.items():
            value = arguments(self.events[uid]).get(key)
            if isinstance(value, int) and value > 0 and is_call(self.events[uid]):
                known = first.get(value)
                if known is None or start < self._spans[known][0]:
                    first[value] = uid
        return first


def is_call(event: Node) -> bool:
    """Whether an event is a call of a GPU's runtime or driver."""
    category = event.get("cat")
    return isinstance(category, str) and category.endswith(("_runtime", "_driver", "Runtime", "Driver"))


def _is_placed(node: Node) -> bool:
    category = node.get("cat")
    return category in _OPERATORS or category in _FRAMES or is_call(node) or gpu_kind(node) is not None


def _node(uid: int, event: Any) -> Node:
    node: Node = {"name": "", **event, "UID": uid, "parent": None, "children": []}
    if is_duration(event):
        node["t_end"] = float(event["ts"]) + float(event["dur"])
    return node


def _holders(
    threads: Sequence[Sequence[tuple[int, int, Node]]], holds: Callable[[Node], bool]
) -> dict[int, int]:
    """For each event the innermost one that holds all of it, by ``UID``."""
    holders: dict[int, int] = {}
    for thread in threads:
        opened: list[tuple[int, int]] = []  # end and UID
        for start, end, node in thread:
            # One that ends at this instant may still hold what has no length.
            while opened and opened[-1][0] < start:
                opened.pop()
            holder = next((uid for until, uid in reversed(opened) if until >= end), None)
            if holder is not None:
                holders[node["UID"]] = holder
            if holds(node):
                opened.append((end, node["UID"]))
    return holders
