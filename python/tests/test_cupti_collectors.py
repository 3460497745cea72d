"""Kernels and copies, collected from a stand-in for CUPTI; see ``cupti_stand_in``."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
from cupti_stand_in import StandIn

from gpuscope import cupti
from gpuscope.cupti import driver, registry
from gpuscope.errors import MissingDependency


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return connect(monkeypatch, StandIn())


def connect(monkeypatch: pytest.MonkeyPatch, gpu: StandIn) -> StandIn:
    monkeypatch.setattr(registry, "_registry", None)
    monkeypatch.setattr(registry, "load_cupti", lambda: gpu)
    return gpu


def test_a_kernel_is_collected_with_all_that_is_known_of_it(gpu: StandIn) -> None:
    collector = cupti.KernelDataCollector()
    cupti.setup_cupti_kernels(collector)
    gpu.run_kernel("gemm", 1_000, 1_750, stream=13)
    cupti.finalize_cupti_kernels()
    assert collector.kernels == [
        cupti.KernelLaunch("gemm", 1_000, 1_750, 0, 13, 1, (4, 2, 1), (128, 1, 1), 32, 1_536)
    ]
    assert collector.kernels[0].duration_ns == 750
    assert gpu.calls == [
        "register",
        "enable CONCURRENT_KERNEL",
        "flush 1",
        "disable CONCURRENT_KERNEL",
    ]


def test_kernels_and_copies_are_collected_side_by_side(gpu: StandIn) -> None:
    kernels, copies = cupti.KernelDataCollector(), cupti.MemoryCopy()
    cupti.setup_cupti_kernels(kernels)
    cupti.setup_cupti_memcpy(copies)
    gpu.run_copy(4096, 100, 200)
    gpu.run_kernel("gemm", 200, 300)
    gpu.run_copy(64, 300, 310, copy_kind=10, peer=True)
    cupti.finalize_cupti_kernels()
    assert [kernel.name for kernel in kernels.kernels] == ["gemm"]
    assert [(copy.bytes, copy.kind) for copy in copies.copies] == [(4096, 1), (64, 10)]
    assert gpu.calls.count("register") == 1, "a second registration would be in the way of the first"

    gpu.run_copy(8, 400, 410)
    gpu.run_kernel("late", 400, 410)
    cupti.finalize_cupti_memcpy()
    assert len(copies) == 3, "copies go on until they are stopped"
    assert len(kernels) == 1
    assert gpu.enabled == set()


def test_a_second_collector_of_a_kind_gets_the_same(gpu: StandIn) -> None:
    first, second = cupti.KernelDataCollector(), cupti.KernelDataCollector()
    cupti.setup_cupti_kernels(first)
    cupti.setup_cupti_kernels(second)
    cupti.setup_cupti_kernels(second)
    gpu.run_kernel("gemm", 1, 2)
    cupti.finalize_cupti_kernels()
    assert len(first) == len(second) == 1
    assert gpu.calls.count("enable CONCURRENT_KERNEL") == 1


def test_a_program_that_had_callbacks_keeps_its_copies(gpu: StandIn) -> None:
    memcpy_info: list[tuple[int, int, int]] = []

    def completed(activities: list[Any]) -> None:
        for activity in activities:
            if activity.kind == gpu.ActivityKind.MEMCPY:
                memcpy_info.append((activity.start, activity.bytes, activity.copy_kind))

    gpu.activity_register_callbacks(lambda: (1024, 0), completed)
    gpu.activity_enable(gpu.ActivityKind.MEMCPY)
    kernels = cupti.KernelDataCollector()
    cupti.setup_cupti_kernels(kernels, forward_to=completed)
    gpu.run_copy(4096, 100, 200)
    gpu.run_kernel("gemm", 200, 300)
    cupti.finalize_cupti_kernels()
    assert memcpy_info == [(100, 4096, 1)]
    assert len(kernels) == 1
    assert gpu.ActivityKind.MEMCPY in gpu.enabled, "what the program switched on stays on"


def test_a_program_that_registers_later_hands_records_on(gpu: StandIn) -> None:
    kernels = cupti.KernelDataCollector()
    cupti.setup_cupti_kernels(kernels)
    seen: list[Any] = []

    def completed(activities: list[Any]) -> None:
        seen.extend(activities)
        cupti.dispatch(activities)

    gpu.activity_register_callbacks(lambda: (1024, 0), completed)
    gpu.run_kernel("gemm", 200, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cupti.finalize_cupti_kernels()
    assert len(kernels) == len(seen) == 1


def test_callbacks_that_took_the_place_of_ours_are_noticed(gpu: StandIn) -> None:
    cupti.setup_cupti_kernels(cupti.KernelDataCollector())
    gpu.activity_register_callbacks(lambda: (1024, 0), lambda activities: None)
    gpu.run_kernel("gemm", 200, 300)
    with pytest.warns(RuntimeWarning, match=r"gpuscope\.cupti\.dispatch"):
        cupti.finalize_cupti_kernels()


def test_lost_records_are_told(gpu: StandIn) -> None:
    cupti.setup_cupti_kernels(cupti.KernelDataCollector())
    gpu.run_kernel("gemm", 200, 300)
    gpu.dropped = 12
    with pytest.warns(RuntimeWarning, match="lost 12 records"):
        cupti.finalize_cupti_kernels()


def test_an_error_in_a_callback_of_the_program_does_not_cost_ours(gpu: StandIn) -> None:
    def broken(activities: list[Any]) -> None:
        raise KeyError("copy_kind")

    kernels = cupti.KernelDataCollector()
    cupti.setup_cupti_kernels(kernels, forward_to=broken)
    gpu.run_kernel("gemm", 200, 300)
    with pytest.raises(KeyError, match="copy_kind"):
        cupti.finalize_cupti_kernels()
    assert len(kernels) == 1
    assert gpu.enabled == set()


def test_what_could_not_be_timed_is_counted_apart(gpu: StandIn) -> None:
    kernels, copies = cupti.KernelDataCollector(), cupti.MemoryCopy()
    with cupti.collecting(kernels, copies):
        gpu.run_kernel("gemm", 0, 0)
        gpu.run_copy(8, 0, 0)
    assert (len(kernels), kernels.without_times) == (0, 1)
    assert (len(copies), copies.without_times) == (0, 1)


def test_a_block_stops_what_it_started_and_nothing_else(gpu: StandIn) -> None:
    kernels = cupti.KernelDataCollector()
    cupti.setup_cupti_memcpy(cupti.MemoryCopy())
    with pytest.raises(ZeroDivisionError), cupti.collecting(kernels):
        gpu.run_kernel("gemm", 1, 2)
        _ = 1 / 0
    assert len(kernels) == 1
    assert gpu.enabled == {gpu.ActivityKind.MEMCPY, gpu.ActivityKind.MEMCPY2}


def test_peer_copies_are_optional(gpu: StandIn) -> None:
    gpu.refused = {gpu.ActivityKind.MEMCPY2}
    copies = cupti.MemoryCopy()
    with cupti.collecting(copies=copies):
        gpu.run_copy(8, 1, 2)
    assert len(copies) == 1


def test_what_cupti_refuses_is_said(gpu: StandIn) -> None:
    gpu.refused = {gpu.ActivityKind.CONCURRENT_KERNEL}
    with pytest.raises(cupti.CuptiUnavailable, match=r"switching on CONCURRENT_KERNEL: CUPTI_ERROR_INVALID"):
        cupti.setup_cupti_kernels(cupti.KernelDataCollector())
    cupti.finalize_cupti_kernels()
    assert gpu.calls == ["register"]


def test_finalizing_without_a_set_up_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", None)
    cupti.finalize_cupti_kernels()
    cupti.finalize_cupti_memcpy()
    cupti.dispatch([])


def test_statistics_are_of_single_kernels_by_name() -> None:
    gpu, collector = StandIn(), cupti.KernelDataCollector()
    gpu.enabled = {10}
    gpu.activity_register_callbacks(
        lambda: (1024, 0), lambda activities: [collector.collect(a) for a in activities]
    )
    for start, end in ((0, 10), (20, 50), (60, 80)):
        gpu.run_kernel("small", start + 1, end + 1)
    gpu.run_kernel("large", 100, 1_000)
    gpu.activity_flush_all(1)
    found = collector.statistics()
    assert list(found) == ["large", "small"]
    assert found["small"] == (3, 60, 20.0, 20, 10, 30, pytest.approx(8.16496580927726))


def test_copies_as_changes_of_the_bytes_under_way(gpu: StandIn) -> None:
    copies = cupti.MemcpyDataCollector()
    with cupti.collecting(copies=copies):
        gpu.run_copy(100, 10, 50)
        gpu.run_copy(30, 20, 40, copy_kind=2)
    assert copies.memcpy_info == [(10, 100, 1), (20, 30, 2), (40, -30, 2), (50, -100, 1)]
    assert {kind: cupti.MEMCPY_KIND_STR[kind] for kind in (1, 2, 8)} == {
        1: "Host -> Device",
        2: "Device -> Host",
        8: "Device -> Device",
    }


def test_the_clock_is_that_of_cupti_where_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuscope.cupti.clock import kernel_clock_ns, offset_to_kernel_clock

    monkeypatch.setattr(registry, "_registry", None)
    plain = offset_to_kernel_clock()
    hour = 3_600_000_000_000
    connect(monkeypatch, StandIn(ahead_ns=hour))
    cupti.setup_cupti_kernels(cupti.KernelDataCollector())
    assert abs(offset_to_kernel_clock() - plain - hour) < 50_000_000
    assert kernel_clock_ns() > plain


def test_what_was_collected_is_a_trace(gpu: StandIn) -> None:
    kernels, copies = cupti.KernelDataCollector(), cupti.MemoryCopy()
    base = 1_789_000_000_000_000_001
    with cupti.collecting(kernels, copies):
        gpu.run_kernel("gemm", base + 500, base + 1_500)
        gpu.run_copy(4096, base, base + 250)
    trace = cupti.to_trace(kernels, copies)
    assert trace["baseTimeNanoseconds"] == base
    assert [(event["name"], event["ts"], event["dur"]) for event in trace["traceEvents"]] == [
        ("Memcpy HtoD", 0.0, 0.25),
        ("gemm", 0.5, 1.0),
    ]


def test_the_real_records_have_these_attributes() -> None:
    real = pytest.importorskip("cupti.cupti", reason="cupti-python is not installed")
    kernel, copy = real.ActivityKernel13(), real.ActivityMemcpy7()
    kernel.kind, kernel.start, kernel.end, kernel.name = real.ActivityKind.CONCURRENT_KERNEL, 5, 9, "gemm"
    copy.kind, copy.start, copy.end, copy.bytes, copy.copy_kind = real.ActivityKind.MEMCPY, 5, 9, 64, 1
    kernels, copies = cupti.KernelDataCollector(), cupti.MemoryCopy()
    for record in (kernel, copy):
        kernels.collect(record)
        copies.collect(record)
    assert (kernels.kernels[0].name, kernels.kernels[0].duration_ns) == ("gemm", 4)
    assert (copies.copies[0].bytes, copies.copies[0].kind) == (64, 1)
    assert {kind.value for kind in real.ActivityMemcpyKind} - {2**31 - 1} == set(cupti.MEMCPY_KIND_STR)


def test_the_package_is_asked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "require_driver", lambda: None)
    monkeypatch.setitem(sys.modules, "cupti", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'gpuscope\[cupti\]'"):
        driver.load_cupti()
