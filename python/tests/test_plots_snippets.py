"""The code that people write with these collectors and figures, as they write it.

CUPTI is a stand-in here (see ``cupti_stand_in``): what it gives is what a GPU of NVIDIA's would.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cupti_stand_in import StandIn

from gpuscope.cupti import registry

pytest.importorskip("plotly", reason="figures need plotly")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    gpu = StandIn()
    monkeypatch.setattr(registry, "_registry", None)
    monkeypatch.setattr(registry, "load_cupti", lambda: gpu)
    return gpu


@pytest.fixture
def profile() -> Any:
    """What ``ExtractModel`` gives; the tests with torch have a real one."""
    return SimpleNamespace(
        layers={
            "conv": {
                "time_ns": [900, 1_000],
                "flops": 10**6,
                "backward_time_ns": [2_000],
                "backward_flops": 10**6,
            },
        },
        timeline=[(1_000, 2_000, 10**6, "conv"), (3_000, 5_000, 10**6, "conv")],
    )


def run_your_training_code(gpu: StandIn) -> None:
    gpu.run_copy(4096, 500, 900)
    gpu.run_kernel("gemm", 1_000, 2_000)
    gpu.run_kernel("gemm", 3_000, 5_000)


def test_integration_with_existing_code(gpu: StandIn, profile: Any) -> None:
    from gpuscope.cupti import MEMCPY_KIND_STR, MemoryCopy, setup_cupti_memcpy
    from gpuscope.plots import (
        KernelDataCollector,
        finalize_cupti_kernels,
        plot_bottleneck_analysis,
        plot_layer_runtime_stats,
        plot_throughput_analysis,
        plot_timeline_memcpy_and_passes,
        setup_cupti_kernels,
    )

    memcpy_info = MemoryCopy()
    setup_cupti_memcpy(memcpy_info)

    # Initialize kernel collector
    kernel_collector = KernelDataCollector()

    # Setup CUPTI for kernels (in addition to existing MEMCPY setup)
    setup_cupti_kernels(kernel_collector)

    run_your_training_code(gpu)

    # Finalize CUPTI kernels
    finalize_cupti_kernels()

    # Generate plots
    figures = [
        plot_bottleneck_analysis(kernel_collector),
        plot_layer_runtime_stats(profile),
        plot_throughput_analysis(profile),
        plot_timeline_memcpy_and_passes(memcpy_info, profile, MEMCPY_KIND_STR),
    ]
    for figure in figures:
        assert figure.data
        assert not any(note.name == "nothing to draw" for note in figure.layout.annotations)
    assert len(kernel_collector.kernels) == 2
    assert len(memcpy_info.copies) == 1


def test_memcpy_info_may_be_a_list(gpu: StandIn, profile: Any) -> None:
    from gpuscope.plots import MEMCPY_KIND_STR, MemoryCopy, plot_timeline_memcpy_and_passes

    as_object = MemoryCopy()
    as_object.copies.append(_copy())
    memcpy_info = [(500, 4096, 1), (900, -4096, 1)]
    figure = plot_timeline_memcpy_and_passes(memcpy_info, profile, MEMCPY_KIND_STR)
    assert figure == plot_timeline_memcpy_and_passes(as_object, profile, MEMCPY_KIND_STR)


def test_kernel_data_collector(gpu: StandIn) -> None:
    from gpuscope.plots import KernelDataCollector, finalize_cupti_kernels, setup_cupti_kernels

    kernel_collector = KernelDataCollector()
    setup_cupti_kernels(kernel_collector)
    run_your_training_code(gpu)
    finalize_cupti_kernels()
    assert [kernel.duration_ns for kernel in kernel_collector.kernels] == [1_000, 2_000]


def test_stacktrace_collector(gpu: StandIn) -> None:
    from gpuscope.plots import StacktraceCollector

    before = sys.gettrace()
    stacktrace_collector = StacktraceCollector()
    sys.settrace(stacktrace_collector.trace_calls)
    run_your_training_code(gpu)
    sys.settrace(None)
    sys.settrace(before)
    assert "run_your_training_code" in {call.name for call in stacktrace_collector.calls}


def test_plot_functions_take_the_arguments_they_are_said_to_take(gpu: StandIn, profile: Any) -> None:
    from gpuscope import plots

    kernels, stacks = plots.KernelDataCollector(), plots.StacktraceCollector()
    assert plots.plot_bottleneck_analysis(kernels, top_n=20)
    assert plots.plot_stacktrace_with_kernels(stacks, kernels)
    assert plots.plot_layer_runtime_stats(profile, forward_markers=None)
    assert plots.plot_throughput_analysis(profile, forward_markers=["conv"])
    assert plots.plot_timeline_memcpy_and_passes([], profile, plots.MEMCPY_KIND_STR)


def _copy() -> Any:
    from gpuscope.cupti import CopyRecord

    return CopyRecord(500, 900, 4096, 1, 0, 7, 1)
