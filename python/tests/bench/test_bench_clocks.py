"""Clocks of GPUs, on stand-ins of torch and CuPy; and the memory that they hold."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
from stand_ins import Gpu, cupy_with, torch_with

from gpuscope.bench import measure
from gpuscope.bench.clocks import CupyClock, HostClock, TorchClock, clock_of_this_process
from gpuscope.bench.memory import PeakMemory


def load(monkeypatch: pytest.MonkeyPatch, **libraries: Any) -> None:
    for name, library in libraries.items():
        monkeypatch.setitem(sys.modules, name, library)


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_events_time_the_gpu_and_wait_once_for_each_batch(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Gpu()
    load(monkeypatch, **{library: {"torch": torch_with, "cupy": cupy_with}[library](gpu)})
    durations = iter([5.0] * 10 + [2.0, 4.0] * 10)

    def work() -> None:
        # Returns at once, as launching does.
        gpu.run_for(next(durations))

    result = measure(work, max_repeats=20, precision=0.001)
    assert result.clock == f"{library}.cuda.Event"
    assert result.samples_ms == (2.0, 4.0) * 10
    assert gpu.waits == 2, "once after the warm-up, once for the batch"


def test_torch_s_gpu_comes_before_cupy_s(monkeypatch: pytest.MonkeyPatch) -> None:
    load(monkeypatch, torch=torch_with(Gpu()), cupy=cupy_with(Gpu()))
    assert isinstance(clock_of_this_process(), TorchClock)


def test_cupy_is_asked_when_torch_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    load(monkeypatch, torch=torch_with(None), cupy=cupy_with(Gpu()))
    assert isinstance(clock_of_this_process(), CupyClock)


@pytest.mark.parametrize("cupy", [cupy_with(None), SimpleNamespace(), None])
def test_the_host_s_clock_is_the_last_resort(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    load(monkeypatch, torch=torch_with(None), cupy=cupy)
    clock = clock_of_this_process()
    assert isinstance(clock, HostClock)
    assert clock.name == "time.perf_counter_ns"


def test_other_devices_are_waited_for_after_each_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with(None)
    waits = []

    def wait() -> None:
        waits.append(1)
        time.sleep(0.002)

    torch.mps = SimpleNamespace(is_available=lambda: True, synchronize=wait)
    load(monkeypatch, torch=torch)
    result = measure(lambda: None, warmup=1, max_repeats=5)
    assert result.clock == "time.perf_counter_ns with synchronisation"
    assert len(waits) == 1 + 5
    assert result.summary["min"] >= 2.0, "what is waited for is part of the time"


def test_a_library_that_the_work_loads_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()

    def work() -> None:
        load(monkeypatch, torch=torch_with(gpu))
        gpu.run_for(3.0)

    assert measure(work, max_repeats=20).samples_ms == (3.0,) * 20


def test_the_peak_of_torch_is_set_back_for_each_case(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with(Gpu())
    load(monkeypatch, torch=torch)
    memory = PeakMemory()
    torch.cuda.allocate(4096)
    peak = memory.read()
    assert (peak.size, peak.source) == (4096, "torch.cuda.max_memory_allocated")


def test_the_peak_of_cupy_is_what_its_pool_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = cupy_with(Gpu())
    load(monkeypatch, torch=torch_with(None), cupy=cupy)
    memory = PeakMemory()
    cupy.get_default_memory_pool().held = 512
    peak = memory.read()
    assert (peak.size, peak.source) == (512, "memory pool of CuPy")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak cannot be set back")
def test_on_the_cpu_the_peak_counts_though_the_memory_is_given_back() -> None:
    memory = PeakMemory()
    block = bytearray(64_000_000)
    block[::4096] = b"x" * len(block[::4096])
    del block
    peak = memory.read()
    assert peak.source == "growth of the peak resident memory"
    assert peak.size is not None and 60_000_000 < peak.size < 80_000_000
    later = PeakMemory().read()
    assert later.size is not None and later.size < 10_000_000
