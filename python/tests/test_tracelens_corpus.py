"""Real traces: the right answers, and TraceLens' own where these are right."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpuscope
from gpuscope.tracelens import (
    DataLoader,
    GPUEventAnalyser,
    JaxGPUEventAnalyser,
    NcclAnalyser,
    TraceDiff,
    TreePerfAnalyzer,
)
from gpuscope.tracelens.gpu_event_analyser import metrics_us

pandas = pytest.importorskip("pandas")

# Times of these count from 1970: a float of microseconds does not hold them.
EPOCH = {"ns_resolution", "synth_rules", "synth_rules_zst", "synth_truncated"}


@pytest.fixture
def peers(corpus: Path) -> Path:
    return corpus.parent / "peers" / "tracelens"


MICRO_IDLE_US = {"breakdown": None, "breakdown.micro10": 10}


def breakdowns(oracle: Path, trace: str) -> Iterator[tuple[str, float | None, dict[str, float]]]:
    """The files of a trace, each with the threshold of idle time and the right times."""
    for case, micro_idle_us in MICRO_IDLE_US.items():
        path = oracle / trace / f"{case}.json"
        if path.exists():
            known = json.loads(path.read_text())
            rows = next(check["rows"] for check in known["checks"] if check["at"] == "ranks")
            for file, row in zip(known["files"], rows, strict=True):
                yield file, micro_idle_us, metrics_us(row["total"])


def test_every_breakdown_is_right(corpus: Path, oracle: Path) -> None:
    compared = 0
    for trace in sorted(path.parent.name for path in oracle.glob("*/breakdown.json")):
        if trace in {"jax_conv_08", "jax_conv_08_json", "rocprof_908"}:
            continue
        forms: dict[str, list[GPUEventAnalyser]] = {}
        for file, micro_idle_us, expected in breakdowns(oracle, trace):
            if file not in forms:
                forms[file] = analysers(corpus / file, floats=trace not in EPOCH)
            for analyser in forms[file]:
                if expected["total_time"] == 0:
                    with pytest.raises(ValueError, match="No GPU events found in the trace"):
                        analyser.compute_metrics(micro_idle_us)
                else:
                    assert analyser.compute_metrics(micro_idle_us) == expected, file
            compared += 1
    assert compared >= 50


def analysers(file: Path, floats: bool) -> list[GPUEventAnalyser]:
    """Every way to give a trace."""
    events = DataLoader.load_data(file)["traceEvents"]
    given: list[Any] = [events, file, gpuscope.open(file).ranks[0]]
    if floats:
        given.append(json.loads(json.dumps(events)))
    return [GPUEventAnalyser(form) for form in given]


def test_events_of_an_opened_trace_have_the_times_of_its_file(corpus: Path) -> None:
    for name in (
        "synth_rules.json",
        "ns_resolution_rank-0.json.gz",
        "mi210_gpu_only.json.gz",
        "old_categories.json.gz",
    ):
        kept = GPUEventAnalyser(gpuscope.open(corpus / name)).events
        assert GPUEventAnalyser(kept).compute_metrics() == GPUEventAnalyser(corpus / name).compute_metrics()


@pytest.mark.parametrize(("case", "micro_idle_us"), [("breakdown", None), ("breakdown.micro10", 10)])
def test_every_gpu_of_jax_is_right(
    corpus: Path, oracle: Path, case: str, micro_idle_us: float | None
) -> None:
    known = json.loads((oracle / "jax_conv_08_json" / f"{case}.json").read_text())
    (rank,) = next(check["rows"] for check in known["checks"] if check["at"] == "ranks")
    expected = {device["device"]: metrics_us(device) for device in rank["devices"]}
    assert sorted(expected) == list(range(8))
    file = corpus / "jax_conv_08.trace.json.gz"
    events = DataLoader.load_data(file)["traceEvents"]
    for given in (events, file, gpuscope.open(file), json.loads(json.dumps(events))):
        analyser = JaxGPUEventAnalyser(given)
        assert analyser.compute_metrics_multigpu(micro_idle_us) == expected
        assert analyser.compute_metrics(micro_idle_us) == expected[0]
        assert analyser.compute_metrics(micro_idle_us, gpu_pid=4) == expected[3]
        assert GPUEventAnalyser(given).compute_metrics(micro_idle_us, jax=True) == expected[0]


def test_tracelens_itself_has_the_same_timelines(corpus: Path, peers: Path) -> None:
    compared = 0
    for file in sorted(corpus.glob("*.json.gz")):
        path = peers / file.name.removesuffix(".json.gz") / "gpu_breakdown.json"
        # TraceLens does not know symmetric-memory collectives as communication.
        if not path.exists() or file.name.startswith("b200_eager"):
            continue
        theirs = json.loads(path.read_text())
        compared += 1
        for key, micro_idle_us in (("metrics_us", None), ("metrics_us_micro_idle_10", 10)):
            ours = GPUEventAnalyser(file).compute_metrics(micro_idle_us)
            assert list(ours) == list(theirs[key])
            # Theirs are sums of floats near 4e12.
            assert ours == pytest.approx(theirs[key], abs=0.5), file.name
    assert compared >= 9


def test_operators_have_the_times_that_gpuscope_finds(corpus: Path) -> None:
    for name in (
        "mi300_resnet_act_checkpoint",
        "b200_eager",
        "synth_rules",
        "nccl_a100",
        "amd_mi250",
        "triton_example",
    ):
        (file,) = corpus.glob(f"{name}.json*")
        calls = TreePerfAnalyzer.from_file(file).get_df_kernel_launchers(include_nccl=True)
        found = calls.groupby("name").agg(
            count=("UID", "size"),
            category=("op category", "first"),
            direct=("total_direct_kernel_time", "sum"),
            subtree=("total_subtree_kernel_time", "sum"),
        )
        rows = gpuscope.open(file).ops().data["ops"]
        assert sorted(found.index) == sorted(row["name"] for row in rows)
        for row in rows:
            ours = found.loc[row["name"]]
            assert (ours["count"], ours["category"]) == (row["count"], row["category"])
            assert round(ours["direct"] * 1000) == row["direct_kernel_ns"]
            assert round(ours["subtree"] * 1000) == row["subtree_kernel_ns"]


@pytest.mark.parametrize("name", ["h100_qwen", "h100_bert_small"])
def test_tracelens_itself_has_the_same_operators(corpus: Path, peers: Path, name: str) -> None:
    analyser = TreePerfAnalyzer.from_file(corpus / f"{name}.json.gz")
    calls = analyser.get_df_kernel_launchers(include_kernel_details=True)
    sheets = peers / name / "perf_report_csvs"
    metrics = ["mean", "median", "std", "min", "max"]
    tables = {
        "ops_summary": (analyser.get_df_kernel_launchers_summary(calls), "name"),
        "ops_unique_args": (
            analyser.get_df_kernel_launchers_unique_args(calls, agg_metrics=metrics, include_pct=True),
            "ex_UID",
        ),
    }
    for sheet, (ours, key) in tables.items():
        theirs = pandas.read_csv(sheets / f"{sheet}.csv")
        assert list(ours.columns) == list(theirs.columns)
        both = ours.set_index(key).sort_index(), theirs.set_index(key).sort_index()
        assert list(both[0].index) == list(both[1].index)
        for column in both[0].select_dtypes("number").columns:
            assert list(both[0][column]) == pytest.approx(list(both[1][column]), abs=0.05, nan_ok=True), (
                column
            )
    by_category = analyser.get_df_kernel_launchers_summary_by_category(calls)
    assert list(by_category.columns) == list(pandas.read_csv(sheets / "ops_summary_by_category.csv").columns)


@pytest.mark.parametrize("name", ["mi300_normalization", "mi300_resnet_act_checkpoint"])
def test_what_tracelens_leaves_out_has_no_arrow(corpus: Path, peers: Path, name: str) -> None:
    analyser = TreePerfAnalyzer.from_file(corpus / f"{name}.json.gz")
    tree = analyser.tree
    arrows = {event["id"] for event in tree.events if event.get("cat") == "ac2g" and event["ph"] == "s"}
    left_out: dict[str, float] = defaultdict(float)
    for kernel in tree.gpu_events:
        if kernel["parent"] is not None and kernel["args"]["correlation"] not in arrows:
            left_out[tree.get_UID2event(tree.owners[kernel["parent"]])["name"]] += kernel["dur"]
    assert len(left_out) >= 2
    ours = analyser.get_df_kernel_launchers_summary(analyser.get_df_kernel_launchers())
    theirs = pandas.read_csv(peers / name / "perf_report_csvs" / "ops_summary.csv").set_index("name")
    for row in ours.to_dict("records"):
        expected = theirs.loc[row["name"]]
        assert row["Count"] == expected["Count"]
        time = expected["total_direct_kernel_time_sum"] + left_out[row["name"]]
        assert row["total_direct_kernel_time_sum"] == pytest.approx(time, abs=0.1), row["name"]


def test_without_unlinked_kernels_the_timeline_is_that_of_tracelens(corpus: Path, peers: Path) -> None:
    file = corpus / "h100_qwen.json.gz"
    theirs = pandas.read_csv(peers / "h100_qwen" / "perf_report_csvs" / "gpu_timeline.csv")
    linked = TreePerfAnalyzer.from_file(file, include_unlinked_kernels=False).get_df_gpu_timeline()
    assert list(linked["time ms"]) == pytest.approx(list(theirs["time ms"]), abs=1e-3)
    every = TreePerfAnalyzer.from_file(file).get_df_gpu_timeline()
    pandas.testing.assert_frame_equal(every, GPUEventAnalyser(file).get_breakdown_df())
    assert every["time ms"][5] > 1.4 * linked["time ms"][5]


# What TraceLens counts in 2²⁰ and 2³⁰ bytes is counted in 10⁶ and 10⁹ here.
UNITS = {"(MB)": 2**20 / 1e6, "_MB": 2**20 / 1e6, "(GB/s)": 2**30 / 1e9}


def test_tracelens_itself_has_the_same_collectives(corpus: Path, peers: Path) -> None:
    analyser = NcclAnalyser(sorted((corpus / "nccl_4ranks").glob("*.json")), 4)
    metrics = ["mean", "median", "min", "max"]
    tables = {
        "nccl_long": analyser.build_df_long(),
        "nccl_implicit_sync": analyser.build_df_nccl_implicit_sync_cat(detailed=True),
        "nccl_summary_implicit_sync": analyser.build_df_summary_nccl_implicit_sync_cat(metrics),
        "nccl_all2allv": analyser.build_df_nccl_all2allv(detailed=True),
        "nccl_summary_all2allv": analyser.build_df_summary_nccl_all2allv(metrics),
        "nccl_all2allv_heatmap": analyser.build_df_all2allv_heatmap(),
        "straggler_summary": analyser.build_df_straggler_summary(),
    }
    for sheet, ours in tables.items():
        theirs = pandas.read_csv(peers / "nccl_4ranks" / "report_csvs" / f"{sheet}.csv")
        assert ours is not None
        # Which machine a rank is on, TraceLens' report adds by itself.
        assert set(theirs.columns) - set(ours.columns) <= {"node_id", "node_span"}, sheet
        assert set(ours.columns) <= set(theirs.columns)
        if sheet == "nccl_long":
            theirs = theirs.sort_values(["rank", "ts"])
        assert len(ours) == len(theirs), sheet
        for column in ours.select_dtypes("number").columns:
            factor = next((factor for unit, factor in UNITS.items() if unit in column), 1)
            expected = [value * factor for value in theirs[column]]
            assert list(ours[column]) == pytest.approx(expected, rel=1e-9, abs=1e-6, nan_ok=True), (
                sheet,
                column,
            )
        for column in ("collective_id", "Collective name", "Process Group Ranks", "dtype", "In split size"):
            if column in ours:
                assert list(ours[column].fillna("")) == list(theirs[column].fillna("")), (sheet, column)


def test_collectives_that_nothing_is_recorded_of_are_in_the_long_summary(corpus: Path) -> None:
    analyser = NcclAnalyser(gpuscope.open(corpus / "nccl_4ranks"))
    assert analyser.world_size == 4
    summary, parts = analyser.build_df_summary_long(), analyser.build_df_long()
    assert summary["operation_count"].sum() == len(parts) == 80
    assert summary["dur_sum"].sum() == pytest.approx(parts["dur"].sum())


def test_the_comparison_puts_all_time_on_paths(corpus: Path, tmp_path: Path) -> None:
    files = [corpus / f"{name}_timesformer.json.gz" for name in ("mi300", "h100")]
    compared = TraceDiff(*(TreePerfAnalyzer.from_file(file).tree for file in files))
    compared.generate_tracediff_report()
    kernels = compared.diff_stats_df
    for source, file in zip(("trace1", "trace2"), files, strict=True):
        work = sum(row["sum_ns"] for row in gpuscope.open(file).kernels().data["kernels"])
        assert round(kernels[kernels["source"] == source]["kernel_time"].sum() * 1000) == work
    summary = compared.diff_stats_unique_args_summary_df
    assert summary["kernel_time_sum"].sum() == pytest.approx(kernels["kernel_time"].sum())
    softmax = compared.get_df_diff_stats_unique_args("aten::_softmax")
    assert set(softmax["cpu_op_name"]) == {"aten::_softmax"}
    largest = softmax.iloc[0]
    assert (largest["source"], largest["operation_count"]) == ("trace2", 12)
    assert largest["kernel_time_sum"] == pytest.approx(68688.625)
    compared.print_tracediff_report_files(tmp_path / "report")
    written = {path.name for path in (tmp_path / "report").iterdir()}
    maps = {"cpu_op_map.json", "cpu_op_map_trace1.json", "cpu_op_map_trace2.json"}
    assert (
        written == {"merged_tree_output.txt", "diff_stats.csv", "diff_stats_unique_args_summary.csv"} | maps
    )
    tree = (tmp_path / "report" / "merged_tree_output.txt").read_text()
    assert "nn.Module: TimesformerForVideoClassification_0  118.759 -> 154.969 (+36.210)" in tree


def test_tracelens_itself_has_the_same_kernels_of_jax(corpus: Path, peers: Path) -> None:
    analyser = TreePerfAnalyzer.from_file(corpus / "jax_conv_08.trace.json.gz", jax=True)
    calls = analyser.get_df_kernel_launchers()
    sheets = peers / "jax_conv_08" / "jax_report_csvs"
    for ours, sheet, key in (
        (analyser.get_df_kernel_launchers_summary(calls), "kernel_launchers_summary", "name"),
        (
            analyser.get_df_kernel_launchers_summary_by_category(calls),
            "kernel_launchers_summary_by_category",
            "op category",
        ),
    ):
        theirs = pandas.read_csv(sheets / f"{sheet}.csv").drop(columns="time ms per gpu")
        assert list(ours.columns) == list(theirs.columns)
        assert list(ours[key]) == list(theirs[key])
        assert list(ours["Count"]) == list(theirs["Count"])
        times = "total_direct_kernel_time_ms"
        assert list(ours[times]) == pytest.approx(list(theirs[times]))
    assert sorted(set(calls["op category"])) == ["Conv", "Uncategorized Events/XLA"]
