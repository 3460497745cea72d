"""Call trees, operators, collectives and merged traces, on traces small enough to see what is right."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import gpuscope
from gpuscope.tracelens import (
    DataLoader,
    GPUEventAnalyser,
    NcclAnalyser,
    TraceDiff,
    TraceFuse,
    TraceToTree,
    TreePerfAnalyzer,
)
from gpuscope.tracelens._exact import DecimalFloat, to_ns


def host(category: str, name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 9,
        "tid": 1,
        "ts": start,
        "dur": length,
        "args": args,
    }


def launch(start: float, correlation: int, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return host("cuda_runtime", name, start, 2, correlation=correlation)


def work(name: str, start: float, length: float, correlation: int, stream: int = 7) -> dict[str, Any]:
    args = {"device": 0, "stream": stream, "correlation": correlation}
    return {**host("kernel", name, start, length), "pid": 0, "tid": stream, "args": args}


TRACE = [
    host("cpu_op", "aten::linear", 0, 50, **{"Input Dims": [[2, 3], [4, 3]]}),
    host(
        "cpu_op",
        "aten::addmm",
        5,
        30,
        **{"Input Dims": [[4], [2, 3], [3, 4]], "Concrete Inputs": ["", "", ""]},
    ),
    launch(10, 1),
    launch(15, 2),
    host("cpu_op", "aten::relu", 40, 20),  # ends after the operator around it, and stays in the tree
    launch(45, 3),
    launch(70, 4, "cudaGraphLaunch"),
    host("cpu_op", "record_param_comms", 80, 20),
    launch(85, 5),
    work("gemm", 100, 10, 1),
    work("bias", 105, 10, 2, stream=8),
    work("relu", 120, 5, 3),
    work("graphed_a", 130, 4, 4),
    work("graphed_b", 134, 4, 4),
    work("ncclDevKernel_AllReduce", 140, 30, 5),
    work("from_before", 90, 5, 77),
    {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python3"}},
    {"ph": "M", "name": "process_labels", "pid": 9, "tid": 0, "args": {"labels": "CPU"}},
    {"ph": "M", "name": "thread_name", "pid": 9, "tid": 1, "args": {"name": "thread 1 (python3)"}},
    {"ph": "M", "name": "of_our_own_making", "pid": 9, "tid": 1, "args": {}},
]


def names(nodes: list[dict[str, Any]]) -> list[str]:
    return [node["name"] for node in nodes]


def test_a_tree_has_calls_and_what_they_launched() -> None:
    tree = TraceToTree(TRACE)
    linear, addmm = tree.get_UID2event(0), tree.get_UID2event(1)
    assert names(tree.get_children_events(linear)) == ["aten::addmm"]
    assert tree.get_parent_event(addmm) is linear
    assert names(tree.get_gpu_events(linear)) == ["gemm", "bias"]
    assert tree.busy_ns(tree.get_gpu_events(linear)) == 15_000
    assert tree.get_parent_event(linear) is None
    assert tree.get_parent_event(tree.get_UID2event(15)) is None
    roots = names([tree.get_UID2event(uid) for uid in tree.cpu_root_nodes])
    assert roots == ["aten::linear", "aten::relu", "record_param_comms"]


def test_frames_are_in_the_tree_if_asked_for() -> None:
    frame = host("python_function", "nn.Module: Linear_0", -5, 70)
    tree = TraceToTree([*TRACE, frame], add_python_func=True)
    assert tree.get_parent_event(tree.get_UID2event(0))["name"] == "nn.Module: Linear_0"  # type: ignore[index]  # it has one
    assert TraceToTree([*TRACE, frame]).get_UID2event(0)["parent"] is None


def test_launchers_are_the_innermost_operators() -> None:
    analyser = TreePerfAnalyzer(TraceToTree(TRACE))
    calls = analyser.get_kernel_launchers()
    assert names(calls) == ["aten::addmm", "aten::relu", "cudaGraphLaunch"]
    assert [call["total_direct_kernel_time"] for call in calls] == [15.0, 5.0, 8.0]
    assert [call["direct_kernel_count"] for call in calls] == [2, 1, 2]
    assert calls[0]["kernel_details"][1] == {"name": "bias", "dur": 10, "stream": 8}
    assert names(analyser.get_kernel_launchers(include_nccl=True))[-1] == "record_param_comms"


def test_an_operator_as_long_as_its_launch_holds_it() -> None:
    trace = [launch(10, 1), host("cpu_op", "aten::mm", 10, 2), work("gemm", 20, 5, 1)]
    assert names(TreePerfAnalyzer(TraceToTree(trace)).get_kernel_launchers()) == ["aten::mm"]


def test_what_a_graph_executor_wraps_is_passed_over() -> None:
    trace = [
        host("cpu_op", "aten::mm", 0, 9),
        host("cpu_op", "execute", 1, 7),
        launch(2, 1),
        work("gemm", 20, 5, 1),
    ]
    assert names(TreePerfAnalyzer(TraceToTree(trace)).get_kernel_launchers()) == ["aten::mm"]


def test_launchers_as_a_frame() -> None:
    pytest.importorskip("pandas")
    analyser = TreePerfAnalyzer(TraceToTree(TRACE))
    frame = analyser.get_df_kernel_launchers(id_cols=True, include_kernel_details=True)
    first = frame.iloc[0]
    assert first["Input Dims"] == ((4,), (2, 3), (3, 4))
    assert (first["op category"], first["process_name"], first["process_label"]) == ("GEMM", "python3", "CPU")
    assert (first["thread_name"], first["pid"], first["tid"], first["UID"]) == ("thread 1 (python3)", 9, 1, 1)
    assert frame["op category"].notna().all()


def test_launchers_summed_up() -> None:
    pytest.importorskip("pandas")
    twice = [*TRACE, host("cpu_op", "aten::relu", 200, 20), launch(205, 6), work("relu", 230, 7, 6)]
    analyser = TreePerfAnalyzer(TraceToTree(twice))
    calls = analyser.get_df_kernel_launchers(include_kernel_details=True)
    by_name = analyser.get_df_kernel_launchers_summary(calls)
    assert list(by_name["name"]) == ["aten::addmm", "aten::relu", "cudaGraphLaunch"]
    assert list(by_name["Count"]) == [1, 2, 1]
    assert list(by_name["total_direct_kernel_time_ms"]) == pytest.approx([0.015, 0.012, 0.008])
    assert by_name["Cumulative Percentage (%)"].iloc[-1] == pytest.approx(100)
    by_category = analyser.get_df_kernel_launchers_summary_by_category(calls)
    assert by_category["Count"].sum() == 4
    relu = analyser.get_df_kernel_launchers_unique_args(
        calls, event_name="aten::relu", agg_metrics=["mean", "max"]
    )
    (row,) = relu.to_dict("records")
    assert (
        row["operation_count"],
        row["total_direct_kernel_time_mean"],
        row["total_direct_kernel_time_max"],
    ) == (2, 6, 7)
    assert row["kernel_details_summary"] == [
        {
            "name": "relu",
            "stream": 7,
            "count": 2,
            "total_duration_us": 12.0,
            "mean_duration_us": 6.0,
            "max_duration_us": 7.0,
        }
    ]
    with pytest.raises(ValueError, match="kernel launchers"):
        analyser.get_df_kernel_launchers_unique_args(calls[["UID"]])


def test_a_trace_without_launches_has_empty_tables() -> None:
    pytest.importorskip("pandas")
    analyser = TreePerfAnalyzer(TraceToTree([work("from_before", 90, 5, 77)]))
    calls = analyser.get_df_kernel_launchers(include_kernel_details=True)
    assert len(calls) == 0
    for table in (
        analyser.get_df_kernel_launchers_summary(calls),
        analyser.get_df_kernel_launchers_summary_by_category(calls),
        analyser.get_df_kernel_launchers_unique_args(calls, include_pct=True),
    ):
        assert len(table) == 0
    assert analyser.get_df_gpu_timeline()["time ms"][3] == 0.005


def test_a_tree_of_an_opened_trace_is_that_of_its_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": TRACE}))
    ours, theirs = (TreePerfAnalyzer(TraceToTree(given)) for given in (gpuscope.open(path), path))
    frames = [analyser.get_df_kernel_launchers() for analyser in (ours, theirs)]
    columns = [column for column in frames[1].columns if column not in {"UID", "process_label"}]
    pandas.testing.assert_frame_equal(frames[0][columns], frames[1][columns])


def test_the_timeline_of_jax_is_for_every_gpu(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    trace: list[dict[str, Any]] = []
    for gpu in range(2):
        process = {"ph": "M", "pid": gpu + 1}
        trace.append({**process, "name": "process_name", "args": {"name": f"/device:GPU:{gpu}"}})
        trace.append({**process, "name": "thread_name", "tid": 5, "args": {"name": "Stream #5"}})
        trace.append({"ph": "X", "name": "fusion", "pid": gpu + 1, "tid": 5, "ts": 1, "dur": gpu + 1})
    path = tmp_path / "jax.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": trace}))
    frame = TreePerfAnalyzer.from_file(path, jax=True).get_df_gpu_timeline()
    assert list(frame[frame["type"] == "busy_time"]["time ms"]) == [0.001, 0.002]
    assert sorted(set(frame["gpu_pid"])) == [1, 2]


def collective(start: float, length: float, sequence: int, rank: int, **more: Any) -> dict[str, Any]:
    args = {
        "device": rank,
        "stream": 20,
        "correlation": sequence + 1,
        "Collective name": "allreduce",
        "Group size": 2,
        "dtype": "BFloat16",
        "In msg nelems": 1_000_000,
        "Out msg nelems": 1_000_000,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
        "Seq": sequence,
        **more,
    }
    return {**work("ncclDevKernel_AllReduce_Sum_bf16", start, length, sequence + 1, 20), "args": args}


@pytest.fixture
def two_ranks(tmp_path: Path) -> list[Path]:
    starts = {0: [100, 300, 500], 1: [110, 290, 540]}
    paths = []
    for rank, of_rank in starts.items():
        ends = (200, 400, 600)
        events = [collective(start, ends[at] - start, at, rank) for at, start in enumerate(of_rank)]
        paths.append(tmp_path / f"rank{rank}.json")
        paths[-1].write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))
    return paths


def test_collectives_say_who_waited(two_ranks: list[Path]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    analyser = NcclAnalyser(two_ranks, 2)
    frame = analyser.build_df_nccl_implicit_sync_cat(detailed=True)
    assert list(frame["collective_id"]) == ["0_0", "0_1", "0_2"]
    assert list(frame["comm_latency"]) == [90.0, 100.0, 60.0]
    assert list(frame["skew in start time"]) == [10.0, 10.0, 40.0]
    assert list(frame["earliest arrival rank"]) == [0, 1, 0]
    assert list(frame["rank_0_wait_time"]) == [10.0, 0.0, 40.0]
    assert list(frame["Full msg size (MB)"]) == [2.0, 2.0, 2.0]
    assert list(frame["algo bw (GB/s)"]) == pytest.approx([2e6 / 90e3, 20.0, 2e6 / 60e3])
    assert list(frame["bus bw (GB/s)"]) == pytest.approx([2e6 / 90e3, 20.0, 2e6 / 60e3])
    late = analyser.build_df_straggler_summary()
    assert list(late["rank"]) == [1, 0]
    assert list(late["times_arrived_last"]) == [2, 1]
    assert list(late["total_wait_time_us"]) == [10.0, 50.0]
    assert analyser.build_df_nccl_all2allv() is None
    assert analyser.build_df_summary_nccl_all2allv() is None
    assert analyser.build_df_all2allv_heatmap() is None


def test_traces_without_collectives_have_empty_tables(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [work("gemm", 100, 10, 1)]}))
    analyser = NcclAnalyser([path], 1)
    for table in (
        analyser.build_df_long(),
        analyser.build_df_summary_long(),
        analyser.build_df_nccl_implicit_sync_cat(),
        analyser.build_df_summary_nccl_implicit_sync_cat(),
        analyser.build_df_straggler_summary(),
    ):
        assert len(table) == 0


def test_no_traces_at_all() -> None:
    with pytest.raises(gpuscope.UsageError, match="pass one file for each rank"):
        NcclAnalyser([], 0).build_df_long()


def test_kernels_of_a_pattern_are_collectives(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for rank in range(2):
        events = [work("vllm::cross_device_reduce_1stage<bf16>", 100 + rank, 10, 1)]
        trace = {"distributedInfo": {"rank": rank}, "traceEvents": events}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(trace))
    paths = sorted(tmp_path.glob("*.json"))
    assert list(NcclAnalyser(paths).build_df_long()["Collective name"]) == ["allreduce"] * 2
    renamed = NcclAnalyser(paths, custom_collective_patterns=[("CROSS_device", "all_gather")])
    (row,) = renamed.build_df_nccl_implicit_sync_cat().to_dict("records")
    assert (row["Collective name"], row["Process Group Name"], row["collective_id"]) == (
        "all_gather",
        "all",
        "0",
    )


def test_merged_traces_are_told_apart_again(two_ranks: list[Path], tmp_path: Path) -> None:
    written = TraceFuse(two_ranks).merge_and_save(tmp_path / "merged.json")
    assert written == str(tmp_path / "merged.json.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged.json.gz", "rank0.json", "rank1.json"]
    together = gpuscope.open(written).breakdown().data["ranks"]
    apart = gpuscope.open(two_ranks).breakdown().data["ranks"]
    assert [rank["total"] for rank in together] == [rank["total"] for rank in apart]
    for rank, path in zip(gpuscope.open(written).ranks, two_ranks, strict=True):
        assert GPUEventAnalyser(rank).compute_metrics() == GPUEventAnalyser(path).compute_metrics()
        assert (
            GPUEventAnalyser(GPUEventAnalyser(rank).events).compute_metrics()
            == GPUEventAnalyser(path).compute_metrics()
        )
    events = json.loads(gzip.decompress(Path(written).read_bytes()))["traceEvents"]
    process_names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert process_names == {"RANK 0 - GPU", "RANK 1 - GPU"}
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert len({event["args"]["correlation"] for event in kernels}) == 6
    assert {event["args"]["correlation_raw"] for event in kernels} == {1, 2, 3}
    assert len({event["pid"] for event in kernels}) == 2


def test_merged_traces_keep_every_digit_and_count_from_one_instant(tmp_path: Path) -> None:
    for rank in range(2):
        text = json.dumps({"baseTimeNanoseconds": 1500 * rank, "traceEvents": [work("gemm", 0, 0, 1)]})
        text = text.replace('"ts": 0, "dur": 0', '"ts": 1712195495502097.231, "dur": 0.125')
        (tmp_path / f"{rank}.json").write_text(text)
    files = {3: tmp_path / "0.json", 5: tmp_path / "1.json"}
    written = TraceFuse(files).merge_and_save(str(tmp_path / "merged.json.gz"))
    events = [event for event in DataLoader.load_data(written)["traceEvents"] if event["ph"] == "X"]
    assert [to_ns(event["ts"]) for event in events] == [1712195495502097231, 1712195495502098731]
    assert [to_ns(event["dur"]) for event in events] == [125, 125]
    assert [event["args"]["rank"] for event in events] == [3, 5]


def test_frames_are_merged_if_asked_for_and_filters_decide(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    frame = host("python_function", "train.py(3): step", 0, 5)
    path.write_text(json.dumps({"traceEvents": [*TRACE, frame, host("Trace", "PyTorch Profiler", 0, 1)]}))
    fuse = TraceFuse([path])

    def kept(events: list[dict[str, Any]]) -> int:
        return sum(event["ph"] == "X" for event in events)

    spans = sum(event["ph"] == "X" for event in TRACE)
    assert kept(fuse.merge()) == spans
    assert kept(fuse.merge(include_pyfunc=True)) == spans + 1
    only = fuse.merge(lambda event: "nccl" in event["name"])
    assert [event["name"] for event in only] == [
        "ncclDevKernel_AllReduce",
        "process_name",
        "process_sort_index",
    ]


def test_nothing_to_merge_and_nowhere_to_write(tmp_path: Path, two_ranks: list[Path]) -> None:
    with pytest.raises(gpuscope.UsageError, match="nothing to merge"):
        TraceFuse([])
    with pytest.raises(gpuscope.GpuscopeError, match="no-such-folder"):
        TraceFuse(two_ranks).merge_and_save(tmp_path / "no-such-folder" / "merged.json")
    with pytest.raises(gpuscope.InputError, match="absent"):
        TraceFuse([tmp_path / "absent.json"]).merge_and_save(tmp_path / "merged.json")
    assert not list(tmp_path.glob("merged*"))


def test_two_traces_are_compared_path_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    slower = copy.deepcopy(TRACE)
    slower[9]["dur"] = 40
    compared = TraceDiff(TraceToTree(TRACE), TreePerfAnalyzer(TraceToTree(slower)))
    kernels = compared.diff_stats_df.set_index(["name", "source"])["kernel_time"]
    assert (kernels["gemm", "trace1"], kernels["gemm", "trace2"]) == (10.0, 40.0)
    paths = compared.diff_stats_df.set_index(["name", "source"])["busy_time"]
    assert (paths["bias", "trace1"], paths["bias", "trace2"]) == (20.0, 50.0)
    assert compared.cpu_op_map["aten::addmm"]["trace1"]["kernels"] == ["bias", "gemm"]
    compared.print_merged_tree()
    assert "aten::addmm [[4],[2,3],[3,4]]  0.020 -> 0.050 (+0.030)" in capsys.readouterr().out


def test_exact_floats_are_copied_exactly() -> None:
    time = DecimalFloat("1712195495502097.231")
    for copied in (copy.deepcopy(time), pickle.loads(pickle.dumps(time))):
        assert to_ns(copied) == 1712195495502097231
    assert (
        GPUEventAnalyser([work("gemm", time, DecimalFloat("0.002"), 1)]).compute_metrics()["busy_time"]
        == 0.002
    )
