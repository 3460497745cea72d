"""Where HTA is right, ``gpuscope.hta`` gives what HTA gives: its own output on traces in whole microseconds.

Traces with fractions of microseconds, synchronisation rows or graphs are left out: HTA is wrong on these.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")

from gpuscope.hta import DeviceType, LabeledTrace, Trace, TraceAnalysis, TraceDiff  # noqa: E402

TRACES = ["trace_diff_control", "two_ranks"]


class Peer:
    """A trace, and what HTA says about it."""

    def __init__(self, corpus: Path, name: str) -> None:
        path = corpus / name
        self.outputs = corpus.parent / "peers" / "hta" / name
        if path.is_dir():
            self.analyzer = TraceAnalysis(trace_dir=path)
        else:
            self.analyzer = TraceAnalysis(trace_files=[corpus / f"{name}.json.gz"])

    def said(self, file: str, **options: Any) -> Any:
        return pd.read_csv(self.outputs / f"{file}.csv", **({"index_col": 0} | options))


@pytest.fixture(scope="module", params=TRACES)
def peer(corpus: Path, request: pytest.FixtureRequest) -> Peer:
    return Peer(corpus, request.param)


def same(ours: Any, theirs: Any) -> None:
    """All columns of HTA's table are there with its values, whatever further ones there are."""
    pd.testing.assert_frame_equal(
        ours[theirs.columns].reset_index(drop=True),
        theirs.reset_index(drop=True),
        check_dtype=False,
        rtol=1e-9,
    )


def test_temporal_breakdown(peer: Peer) -> None:
    same(peer.analyzer.get_temporal_breakdown(visualize=False), peer.said("temporal_breakdown"))


def test_comm_comp_overlap(peer: Peer) -> None:
    same(peer.analyzer.get_comm_comp_overlap(visualize=False), peer.said("comm_comp_overlap"))


@pytest.mark.parametrize("memory", [True, False])
def test_kernel_types(peer: Peer, memory: bool) -> None:
    types, _ = peer.analyzer.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=memory)
    theirs = peer.said("gpu_kernel_breakdown.0" if memory else "gpu_kernel_breakdown_nomem_all.0")
    assert types["kernel_type"].tolist() == theirs["kernel_type"].tolist()
    assert types["sum"].tolist() == theirs["sum"].tolist()
    assert types["percentage"].tolist() == pytest.approx(theirs["percentage"].tolist(), abs=0.0501)


def test_kernels(peer: Peer) -> None:
    # What HTA says when it does not fold kernels, for then its statistics are right.
    _, kernels = peer.analyzer.get_gpu_kernel_breakdown(
        False, num_kernels=10**6, include_memory_kernels=False
    )
    same(kernels, peer.said("gpu_kernel_breakdown_nomem_all.1"))


def test_user_annotations(peer: Peer) -> None:
    frame = peer.analyzer.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False)
    same(frame, peer.said("user_annotation_breakdown_cpu"))


def test_idle_time(peer: Peer) -> None:
    frame, statistics = peer.analyzer.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=True)
    key = ["rank", "stream", "idle_category"]
    theirs = peer.said("idle_time_breakdown.0").set_index(key)
    ours = frame.set_index(key).loc[theirs.index]
    assert ours["idle_time"].tolist() == theirs["idle_time"].tolist()
    assert ours["idle_time_ratio"].tolist() == pytest.approx(
        theirs["idle_time_ratio"].fillna(0).tolist(), abs=0.00501
    )
    assert statistics is not None
    # HTA has a row of zero gaps for the first event of each stream.
    gaps = peer.said("idle_time_breakdown.1").query("count > 0").reset_index().set_index(key).sort_index()
    pd.testing.assert_frame_equal(statistics.reset_index().set_index(key).sort_index(), gaps)


@pytest.mark.parametrize("memory", [True, False])
def test_launches(peer: Peer, memory: bool) -> None:
    frames = peer.analyzer.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=memory)
    for rank, frame in frames.items():
        name = "cuda_kernel_launch_stats" if memory else "cuda_kernel_launch_stats_nomem"
        theirs = peer.said(f"{name}.rank{rank}")
        same(frame.sort_values("correlation"), theirs.sort_values("correlation"))


def test_queue_lengths(peer: Peer) -> None:
    ours = peer.analyzer.get_queue_length_summary()
    theirs = peer.said("queue_length_summary", header=[0, 1], index_col=[0, 1])
    assert ours is not None
    exact = ["count", "min", "max"]
    pd.testing.assert_frame_equal(ours["queue_length"][exact], theirs["queue_length"][exact])
    # The order of changes at one instant is arbitrary there.
    assert ours["queue_length"]["mean"].tolist() == pytest.approx(
        theirs["queue_length"]["mean"].tolist(), rel=1e-3
    )


def test_copies(peer: Peer) -> None:
    summary = peer.analyzer.get_memory_bw_summary()
    theirs = peer.said("memory_bw_summary", header=[0, 1], index_col=[0, 1])
    assert summary is not None
    assert summary.index.tolist() == theirs.index.tolist()
    assert summary.columns.tolist() == theirs.columns.tolist()
    assert summary[("memory_bw_gbps", "count")].tolist() == theirs[("memory_bw_gbps", "count")].tolist()


def test_sequences(peer: Peer, tmp_path: Path) -> None:
    frame = peer.analyzer.get_frequent_cuda_kernel_sequences("autograd::engine", tmp_path, min_pattern_len=1)
    same(frame, peer.said("frequent_kernel_seq__autograd_engine"))


def test_profiler_steps(peer: Peer) -> None:
    steps = json.loads((peer.outputs / "profiler_steps.json").read_text())
    assert peer.analyzer.get_profiler_steps() == steps


def test_data_frames_of_events(corpus: Path) -> None:
    # The rows of a trace with the last step left out, as HTA keeps them.
    peer = Peer(corpus, "nccl_a100")
    frame = peer.analyzer.t.get_trace(0)
    assert len(frame) == 17952
    kernels = peer.analyzer.get_gpu_kernels_with_user_annotations(0)
    theirs = peer.said("gpu_kernels_with_user_annotations.rank0")
    assert kernels is not None
    assert set(theirs.columns) <= set(kernels.columns)
    exact = ["index", "pid", "tid", "stream", "correlation", "index_correlation", "iteration", "external_id"]
    exact += ["bytes", "memory_bw_gbps", "group_size", "in_msg_nelems", "s_name", "s_cat"]
    ours = kernels.set_index("index", drop=False).sort_index()[exact]
    pd.testing.assert_frame_equal(
        ours.reset_index(drop=True),
        theirs.set_index("index", drop=False).sort_index()[exact].reset_index(drop=True),
        check_dtype=False,
    )
    times = theirs.set_index("index").sort_index()["ts"]
    assert (kernels.set_index("index").sort_index()["ts"] - times).abs().max() <= 1


PATHS = {
    "cp_event_sync": ("ProfilerStep", 0),
    "cp_event_sync_multi_stream": ("", None),
    "cp_alexnet": ("[param|pytorch.model.alex_net|0|0|0|measure|forward]", 1),
}


@pytest.mark.parametrize("name", PATHS)
def test_critical_path(corpus: Path, name: str) -> None:
    peer = Peer(corpus, name)
    graph, found = peer.analyzer.critical_path_analysis(0, *PATHS[name])
    assert found
    (file,) = peer.outputs.glob("critical_path__*.json")
    theirs = json.loads(file.read_text())
    assert graph.get_critical_path_breakdown()["duration"].sum() == theirs["cp_total_weight"]
    shares = {bound: share for bound, share in theirs["summary"].items() if share}
    assert graph.summary().to_dict() == pytest.approx(shares)


@pytest.fixture(scope="module")
def compared(corpus: Path) -> tuple[LabeledTrace, LabeledTrace, Path]:
    control, test = (Trace([corpus / f"compare_{side}.json.gz"]) for side in ("base", "test"))
    outputs = corpus.parent / "peers" / "hta" / "compare_base__vs__compare_test"
    return LabeledTrace("control", t=control), LabeledTrace("test", t=test), outputs


@pytest.mark.parametrize("device", list(DeviceType), ids=lambda device: device.name)
@pytest.mark.parametrize("short", [True, False])
def test_differences(
    compared: tuple[LabeledTrace, LabeledTrace, Path], device: DeviceType, short: bool
) -> None:
    control, test, outputs = compared
    ours = TraceDiff.compare_traces(control, test, device_type=device, use_short_name=short)
    name = f"compare_first_iter_{device.name}_{'short' if short else 'full'}.csv"
    theirs = pd.read_csv(outputs / name, index_col=0)
    pd.testing.assert_frame_equal(ours, theirs.sort_index(), check_dtype=False)
    groups = json.loads((outputs / f"ops_diff_first_iter_{device.name}.json").read_text())
    found = TraceDiff.ops_diff(control, test, device_type=device)
    assert {group: sorted(names) for group, names in found.items()} == {
        group: sorted(names) for group, names in groups.items()
    }


def test_differences_over_all_steps(compared: tuple[LabeledTrace, LabeledTrace, Path]) -> None:
    control, test, outputs = compared
    steps = {"control_iteration": control.iterations(), "test_iteration": test.iterations()}
    ours = TraceDiff.compare_traces(control, test, **steps)
    theirs = pd.read_csv(outputs / "compare_all_iters_ALL_full.csv", index_col=0)
    pd.testing.assert_frame_equal(ours, theirs.sort_index(), check_dtype=False)


def test_operators_of_traces(compared: tuple[LabeledTrace, LabeledTrace, Path]) -> None:
    control, _, _ = compared
    ops = control.extract_ops(device_type=DeviceType.CPU)
    summary = control.get_ops_summary(ops)
    assert list(summary.columns) == [
        *("cat", "name", "short_name", "counts", "total_duration", "cat_id", "name_id")
    ]
    totals = TraceDiff.compare_traces(control, control, device_type=DeviceType.CPU)["control_total_duration"]
    assert summary.groupby("name")["total_duration"].sum().to_dict() == totals.to_dict()
