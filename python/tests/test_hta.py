"""``gpuscope.hta`` gives the exact answers on the corpus, under HTA's names and in its units."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")

from hta_corpus import Case, cases, folder  # noqa: E402

from gpuscope.hta import TraceAnalysis  # noqa: E402

ALL = 10**6


def opened(case: Case) -> TraceAnalysis:
    traces = folder()
    assert traces is not None
    with_last = "--drop-last-step" not in case.options
    files = [traces / file for file in case.files]
    return TraceAnalysis(trace_files=files, include_last_profiler_step=with_last)


def named(command: str) -> Any:
    missing = pytest.param(None, marks=pytest.mark.skip("CORPUS TESTS SKIPPED: GPUSCOPE_CORPUS is not set"))
    return pytest.mark.parametrize("case", list(cases(command)) or [missing], ids=str)


def is_us(value: float, nanoseconds: float) -> bool:
    return math.isclose(value * 1000, nanoseconds, rel_tol=1e-6, abs_tol=1e-3)


@named("temporal")
def test_temporal_breakdown(case: Case) -> None:
    frame = opened(case).get_temporal_breakdown(visualize=False).set_index("rank")
    expected = case.rows("ranks")
    assert len(frame) == len(expected) > 0
    for row in expected:
        got = frame.loc[row["rank"]]
        for column in ("idle", "compute", "non_compute", "kernel"):
            assert is_us(got[f"{column}_time(us)"], row[f"{column}_ns"])
        for column in ("idle", "compute", "non_compute"):
            assert got[f"{column}_time_pctg"] == pytest.approx(row[f"{column}_pct"], abs=0.0051)


@named("overlap")
def test_comm_comp_overlap(case: Case) -> None:
    frame = opened(case).get_comm_comp_overlap(visualize=False).set_index("rank")
    expected = case.rows("ranks")
    assert len(frame) == len(expected) > 0
    for row in expected:
        got = frame.loc[row["rank"], "comp_comm_overlap_pctg"]
        if row["overlap_pct"] is None:
            assert math.isnan(got)
        else:
            assert got == pytest.approx(row["overlap_pct"], abs=0.0051)


@named("kernels")
def test_gpu_kernel_breakdown(case: Case) -> None:
    ratio = case.options.get("--duration-ratio")
    number = case.options.get("--num-kernels")
    types, kernels = opened(case).get_gpu_kernel_breakdown(
        visualize=False,
        duration_ratio=ratio,
        num_kernels=int(number) if number else (None if ratio else ALL),
        include_memory_kernels="--exclude-memory" not in case.options,
    )
    assert list(types.columns) == ["kernel_type", "sum", "percentage"]
    assert list(kernels.columns) == [
        *("name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)", "kernel_type", "rank", "count")
    ]
    by_type = types.set_index("kernel_type")
    assert len(types) == case.count("types")
    for row in case.rows("types"):
        got = by_type.loc[row["kernel_type"]]
        assert is_us(got["sum"], row["sum_ns"])
        assert got["percentage"] == pytest.approx(row["pct"], abs=0.0051)
    assert types["sum"].is_monotonic_decreasing
    assert len(kernels) == case.count("kernels")
    by_name = kernels.set_index(["rank", "kernel_type", "name"])
    for row in case.rows("kernels"):
        got = by_name.loc[(row["rank"], row["kernel_type"], row["name"])]
        assert got["count"] == row["count"]
        for column, key in [("sum (us)", "sum_ns"), ("max (us)", "max_ns"), ("min (us)", "min_ns")]:
            assert is_us(got[column], row[key])
        assert is_us(got["mean (us)"], row["mean_ns"])
        assert is_us(got["stddev"], row["std_ns"])


@named("idle")
def test_idle_time_breakdown(case: Case) -> None:
    analyzer = opened(case)
    delay = case.options.get("--consecutive-kernel-delay-us", 30)
    options = {"visualize": False, "show_idle_interval_stats": True, "consecutive_kernel_delay": delay}
    frame, statistics = analyzer.get_idle_time_breakdown(**options)
    assert statistics is not None
    expected = case.rows("streams")
    assert len(frame) == 3 * case.count("streams")
    for row in expected:
        of_stream = frame[frame["rank"].eq(row["rank"]) & frame["stream"].eq(row["stream"])]
        if "device" in row and "device" in frame:
            of_stream = of_stream[of_stream["device"].eq(row["device"])]
        for category, values in row["categories"].items():
            (got,) = of_stream[of_stream["idle_category"].eq(category)].to_dict("records")
            assert is_us(got["idle_time"], values["idle_ns"])
            assert got["count"] == values["count"]
            assert got["idle_time_ratio"] == pytest.approx(values["ratio"], abs=5.1e-5)
    # The gaps one by one are those that were summed up.
    gaps = statistics.reset_index().groupby(["rank", "stream", "idle_category"])["count"].sum()
    counts = frame[frame["count"].gt(0)].groupby(["rank", "stream", "idle_category"])["count"].sum()
    assert gaps.astype(int).sort_index().to_dict() == counts.sort_index().to_dict()


@named("launches")
def test_cuda_kernel_launch_stats(case: Case) -> None:
    frames = opened(case).get_cuda_kernel_launch_stats(visualize=False)
    summaries = case.rows("ranks")
    assert summaries
    runtime = case.options.get("--runtime-cutoff-us", 50)
    delay = case.options.get("--launch-delay-cutoff-us", 100)
    for row in summaries:
        frame, summary = frames[row["rank"]], row["summary"]
        assert list(frame.columns) == ["correlation", "cpu_duration", "gpu_duration", "launch_delay"]
        assert len(frame) == summary["count"]
        short = frame["cpu_duration"].le(runtime) & frame["gpu_duration"].lt(frame["cpu_duration"])
        assert short.sum() == summary["short_kernels"]
        assert frame["cpu_duration"].gt(runtime).sum() == summary["runtime_outliers"]
        assert frame["launch_delay"].gt(delay).sum() == summary["delay_outliers"]


@named("queue")
def test_queue_length(case: Case) -> None:
    analyzer = opened(case)
    series = analyzer.get_queue_length_time_series()
    summary = analyzer.get_queue_length_summary()
    expected = case.rows("streams")
    if not expected:
        assert series == {} and summary is None
        return
    assert summary is not None
    for row in expected:
        points = series[row["rank"]]
        assert list(points.columns) == ["ts", "pid", "tid", "stream", "queue_length"]
        points = points[points["stream"].eq(row["stream"])]
        points = points[points["pid"].eq(row["device"])] if "device" in row else points
        assert len(points) == row["points"]
        assert points["queue_length"].max() == row["max"]
        assert points["queue_length"].mean() == pytest.approx(row["mean"], rel=1e-9)
        lasting = points["ts"].shift(-1) - points["ts"]
        at_max = lasting[points["queue_length"].eq(row["max"])].sum()
        assert is_us(at_max, row["time_at_max_ns"])
    full = analyzer.get_time_spent_blocked_on_full_queue(series, max_queue_length=1)
    assert full is not None
    assert len(full) == len(expected)


@named("annotations")
def test_user_annotation_breakdown(case: Case) -> None:
    gpu = "--gpu" in case.options
    frame = opened(case).get_gpu_user_annotation_breakdown(use_gpu_annotation=gpu, visualize=False)
    expected = case.rows("rows")
    if not expected:
        assert frame is None
        return
    assert frame is not None
    assert len(frame) == case.count("rows")
    by_name = frame.set_index(["rank", "name"])
    for row in expected:
        got = by_name.loc[(row["rank"], row["name"])]
        assert got["count"] == row["count"]
        for column, key in [("sum (us)", "sum_ns"), ("max (us)", "max_ns"), ("min (us)", "min_ns")]:
            assert is_us(got[column], row[key])
        assert is_us(got["mean (us)"], row["mean_ns"])
        assert is_us(got["stddev"], row["std_ns"])


@named("bandwidth")
def test_memory_bandwidth(case: Case) -> None:
    analyzer = opened(case)
    series = analyzer.get_memory_bw_time_series()
    summary = analyzer.get_memory_bw_summary()
    for row in case.rows("copies"):
        points = series[row["rank"]]
        assert list(points.columns) == ["ts", "pid", "name", "memory_bw_gbps"]
        points = points[points["name"].eq(row["kind"])]
        # Bandwidth over time adds up to the bytes that were copied, and is 0 when all copies are done.
        moved = (points["memory_bw_gbps"] * (points["ts"].shift(-1) - points["ts"])).sum() * 1000
        assert moved == pytest.approx(row["total_bytes"], rel=1e-4)
        assert points["memory_bw_gbps"].iloc[-1] == 0.0
        assert points["memory_bw_gbps"].min() == 0.0
        assert summary is not None
        assert summary.loc[(row["rank"], row["kind"]), ("memory_bw_gbps", "count")] == row["count"]


@named("info")
def test_profiler_steps_and_ranks(case: Case) -> None:
    analyzer = opened(case)
    expected = {row["rank"]: row["steps"] for row in case.rows("ranks")}
    assert analyzer.t.get_ranks() == sorted(expected)
    assert analyzer.get_profiler_steps() == sorted({step for steps in expected.values() for step in steps})
    for rank, steps in expected.items():
        assert analyzer.t.get_iterations(rank) == sorted(steps)


def test_two_ranks_are_answered_for_together(corpus: Path) -> None:
    analyzer = TraceAnalysis(trace_dir=corpus / "two_ranks")
    assert analyzer.get_temporal_breakdown(visualize=False)["rank"].tolist() == [0, 1]
    assert set(analyzer.get_queue_length_time_series()) == {0, 1}
    assert set(analyzer.get_queue_length_time_series(ranks=[1])) == {1}
    idle, _ = analyzer.get_idle_time_breakdown(ranks=[1], streams=[7], visualize=False)
    assert set(idle["rank"]) == {1} and set(idle["stream"]) == {7}
    # HTA fills up its list with ranks that never came last.
    assert analyzer.get_potential_stragglers() == [1]
    everything = TraceAnalysis(trace_dir=corpus / "two_ranks", include_last_profiler_step=True)
    assert everything.get_potential_stragglers() == [1, 0]
    assert everything.get_potential_stragglers(num_candidates=1) == [1]


ANNOTATED = ["nccl_a100", "mi300_resnet_act_checkpoint", "ns_resolution_rank-0", "h100_qwen"]


@pytest.mark.parametrize("name", ANNOTATED)
def test_kernels_are_under_the_annotations_that_gpuscope_finds(corpus: Path, name: str) -> None:
    analyzer = TraceAnalysis(trace_files=[corpus / f"{name}.json.gz"])
    frame = analyzer.get_gpu_kernels_with_user_annotations(0, shorten_names=False)
    assert frame is not None
    found = frame.groupby(["s_user_annotation", "s_name"]).size().to_dict()
    answer = analyzer.t.ask(0, "annotations", gpu=True, kernels=True).data["kernels"]
    assert found == {(row["annotation"] or "", row["kernel"]): row["count"] for row in answer}


def test_traces_without_categories_have_frames_too(corpus: Path) -> None:
    analyzer = TraceAnalysis(trace_files=[corpus / "jax_conv_08.trace.json.gz"])
    frame = analyzer.t.get_trace(0)
    kernels = analyzer.get_gpu_kernel_breakdown(visualize=False, num_kernels=ALL)[1]
    assert frame["stream"].ge(0).sum() == kernels["count"].sum()


def test_every_method_answers_on_a_simulated_job(demo: Path, tmp_path: Path) -> None:
    analyzer = TraceAnalysis(trace_dir=demo)
    assert analyzer.t.get_ranks() == [0, 1]
    temporal = analyzer.get_temporal_breakdown()
    shares = temporal[["idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg"]]
    assert shares.sum(axis=1).tolist() == pytest.approx([100, 100], abs=0.02)
    types, kernels = analyzer.get_gpu_kernel_breakdown(num_kernels=ALL)
    busy = (temporal["kernel_time(us)"] - temporal["idle_time(us)"]).sum()
    assert types["sum"].sum() == pytest.approx(busy)
    assert types["percentage"].sum() == pytest.approx(100, abs=0.05)
    launched = analyzer.get_cuda_kernel_launch_stats()
    assert sum(map(len, launched.values())) <= kernels["count"].sum()
    assert analyzer.get_comm_comp_overlap()["comp_comm_overlap_pctg"].between(0, 100).all()
    series = analyzer.get_queue_length_time_series()
    summary = analyzer.get_queue_length_summary_from_time_series(series)
    assert summary is not None and summary.equals(analyzer.get_queue_length_summary())
    assert all(len(series[rank]) == 2 * len(launched[rank]) for rank in (0, 1))
    for rank in (0, 1):
        frame = analyzer.t.get_trace(rank)
        assert frame["ts"].min() >= 0 and frame.index.equals(pd.Index(frame["index"], name=None))
        work = frame[frame["stream"].ge(0) & frame["index_correlation"].ge(0)]
        calls = frame.loc[work["index_correlation"]]
        assert (calls["correlation"].to_numpy() == work["correlation"].to_numpy()).all()
    assert analyzer.t.get_trace_duration() > 0
    analyzer.t.decode_symbol_ids()
    assert {"s_name", "s_cat"} <= set(analyzer.t.get_trace(0).columns)
    assert set(analyzer.get_aten_op_kernels_and_delay(sort_by=["avg_runtime_delay"])) == {0, 1}
    analyzer.get_memory_bw_summary()
    analyzer.get_gpu_user_annotation_breakdown()
    analyzer.get_gpu_kernels_with_user_annotations(1)
    analyzer.get_frequent_cuda_kernel_sequences("aten::", tmp_path, visualize=True)
    steps = analyzer.get_profiler_steps()
    assert steps == analyzer.t.profiler_steps(0)[:-1]
    # A stretch that is named is analysed whole, the last step too.
    graph, found = analyzer.critical_path_analysis(0, "ProfilerStep", len(steps))
    assert found
    assert graph.summary().sum() == pytest.approx(100)
    assert graph.get_critical_path_breakdown()["index"].ge(0).all()
    assert set(analyzer.get_potential_stragglers()) <= {0, 1}


def test_nothing_is_imported_before_it_is_needed() -> None:
    heavy = "{'pandas', 'numpy', 'plotly', 'pyarrow', 'torch'}"
    program = f"import sys, gpuscope.hta; sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", program], check=True)
