"""What changed from one trace to another, path by path through the calls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from gpuscope._files import write_text
from gpuscope._lazy import need
from gpuscope.run import Rank, Run, diff
from gpuscope.tracelens.trace_to_tree import TraceToTree
from gpuscope.tracelens.tree_perf import TreePerfAnalyzer

if TYPE_CHECKING:
    import pandas as pd


Comparable: TypeAlias = TraceToTree | TreePerfAnalyzer | Run | Rank | str | os.PathLike[str]

_SIDES = {"trace1": "a", "trace2": "b"}
_MODULE = "nn.Module: "
ROOT = "root"


class TraceDiff:
    """The call trees of two traces laid over each other.

    Equal paths of modules, operators and arguments are one; GPU time on a path that only one trace has goes
    to the nearest path above it that both have.
    """

    def __init__(self, tree1: Comparable, tree2: Comparable) -> None:
        """Takes trees, analysers, paths, or traces that gpuscope has opened; the first is the baseline."""
        self.baseline, self.variant = tree1, tree2

    def generate_tracediff_report(self) -> None:
        """Makes all tables; they are made anyway when first asked for."""
        self.diff_stats_unique_args_summary_df  # noqa: B018  # for its effect: the tables are kept

    @cached_property
    def diff_stats_df(self) -> pd.DataFrame:
        """A row for each kernel on each path of each trace, with times in µs.

        ``busy_time`` is the sum over the path. Calls of one operator with the same arguments in one
        module are one path, so there are no numbers of single events.
        """
        rows = [row for at, path in enumerate(self._rows) for row in _kernel_rows(at, path)]
        return need("pandas", "TraceDiff").DataFrame(rows, columns=list(_KERNEL_COLUMNS))

    @cached_property
    def diff_stats_unique_args_summary_df(self) -> pd.DataFrame:
        """The same summed up over all paths of an operator with its arguments."""
        return self.get_df_diff_stats_unique_args()

    def get_df_diff_stats_unique_args(
        self, op_name: str | None = None, agg_metrics: Sequence[str] = ("mean",)
    ) -> pd.DataFrame:
        """:attr:`diff_stats_df` summed up by kernel, operator, trace and arguments, the largest first."""
        kernels = self.diff_stats_df
        if op_name is not None:
            kernels = kernels[kernels["cpu_op_name"] == op_name]
        keys = ["name", "cpu_op_name", "source", "Input Dims", "lowest_common_ancestor_name"]
        metrics = dict.fromkeys([*agg_metrics, "sum"])
        columns: dict[str, Any] = {f"kernel_time_{how}": ("kernel_time", how) for how in metrics}
        groups = kernels.groupby(keys, dropna=False, sort=False)
        summary = groups.agg(operation_count=("name", "size"), **columns).reset_index()
        summary.insert(1, "operation_count", summary.pop("operation_count"))
        return summary.sort_values("kernel_time_sum", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def cpu_op_map(self) -> dict[str, dict[str, dict[str, list[str]]]]:
        """For each operator and trace its kernels and the modules it ran in."""
        found: dict[str, dict[str, dict[str, set[str]]]] = {}
        for row in self.diff_stats_df.to_dict("records"):
            of_operator = found.setdefault(row["cpu_op_name"], {})
            of_trace = of_operator.setdefault(row["source"], {"kernels": set(), "nn_module_parents": set()})
            of_trace["kernels"].add(row["name"])
            of_trace["nn_module_parents"].add(row["nn_module_parent"])
        return {
            operator: {
                source: {what: sorted(names) for what, names in of_trace.items()}
                for source, of_trace in sorted(of_operator.items())
            }
            for operator, of_operator in sorted(found.items())
        }

    def print_merged_tree(
        self, output_file: str | os.PathLike[str] | TextIO | None = None, prune_non_gpu: bool = False
    ) -> None:
        """Writes the merged tree with the GPU time of both traces at each node, to a file or to the terminal.

        Only calls with GPU work are compared, so ``prune_non_gpu`` leaves nothing more out.
        """
        text = "\n".join(["merged tree: trace1 -> trace2, ms on the GPU", *_drawn(self._rows)]) + "\n"
        if output_file is None:
            print(text, end="")
        elif isinstance(output_file, (str, os.PathLike)):
            write_text(Path(output_file), text)
        else:
            output_file.write(text)

    def print_tracediff_report_files(
        self, output_folder: str | os.PathLike[str] = "rprt_diff", prune_non_gpu: bool = False
    ) -> None:
        """Writes the merged tree, both tables and the operators' kernels into a folder."""
        folder = Path(output_folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.print_merged_tree(folder / "merged_tree_output.txt", prune_non_gpu)
        write_text(folder / "diff_stats.csv", self.diff_stats_df.to_csv(index=False))
        summary = self.diff_stats_unique_args_summary_df.to_csv(index=False)
        write_text(folder / "diff_stats_unique_args_summary.csv", summary)
        kernels = {
            f"cpu_op_map_{source}": {
                operator: sides[source]["kernels"]
                for operator, sides in self.cpu_op_map.items()
                if source in sides
            }
            for source in _SIDES
        }
        for name, content in {"cpu_op_map": self.cpu_op_map, **kernels}.items():
            write_text(folder / f"{name}.json", json.dumps(content, indent=2) + "\n")

    @cached_property
    def _rows(self) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = diff(_opened(self.baseline), _opened(self.variant), tree=True).data[
            "rows"
        ]
        return rows


_KERNEL_COLUMNS = (
    "name",
    "cpu_op_name",
    "source",
    "Input Dims",
    "kernel_time",
    "busy_time",
    "lowest_common_ancestor_name",
    "lowest_common_ancestor_id",
    "nn_module_stack",
    "nn_module_parent",
)


def _opened(given: Any) -> Any:
    """Give what gpuscope can compare: a run, or the path of one."""
    tree = given.tree if isinstance(given, TreePerfAnalyzer) else given
    if isinstance(tree, TraceToTree):
        tree = tree.source.opened
    if not isinstance(tree, Rank):
        return tree
    return tree.run if len(tree.run.ranks) == 1 else tree.path


def _kernel_rows(at: int, path: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    operator, dims = _operator_and_dims(path["path"][-1] if path["path"] else ROOT)
    modules = [name.removeprefix(_MODULE) for name in path["path"] if name.startswith(_MODULE)]
    for source, side in _SIDES.items():
        for part in path[side]["parts"]:
            values = (
                part["name"],
                operator,
                source,
                dims,
                part["gpu_ns"] / 1000,
                path[side]["gpu_ns"] / 1000,
                operator,
                at,
                " > ".join(modules) or ROOT,
                modules[-1] if modules else ROOT,
            )
            yield dict(zip(_KERNEL_COLUMNS, values, strict=True))


def _operator_and_dims(label: str) -> tuple[str, str | None]:
    """An operator's name and the shapes that follow it.

    >>> _operator_and_dims("aten::mm [[2,3],[3,4]]")
    ('aten::mm', '[[2,3],[3,4]]')
    """
    name, bracket, dims = label.partition(" [")
    return (name, "[" + dims) if bracket else (label, None)


def _drawn(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The paths as an indented tree, each node with the sums of what is below it, the slowest first."""
    sums: dict[tuple[str, ...], list[int]] = {}
    below: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
    for row in rows:
        path = tuple(row["path"]) or (ROOT,)
        for depth in range(1, len(path) + 1):
            times = sums.setdefault(path[:depth], [0, 0])
            times[0] += row["a"]["gpu_ns"]
            times[1] += row["b"]["gpu_ns"]
            below.setdefault(path[: depth - 1], {})[path[:depth]] = None
    pending = sorted(below.get((), {}), key=lambda node: sum(sums[node]))
    while pending:
        node = pending.pop()
        before, after = (time / 1e6 for time in sums[node])
        yield f"{'  ' * (len(node) - 1)}{node[-1]}  {before:.3f} -> {after:.3f} ({after - before:+.3f})"
        pending += sorted(below.get(node, {}), key=lambda child: sum(sums[child]))
