"""Times of the layers of real models on the CPU, forward and backward."""

from __future__ import annotations

import gc
import time
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from gpuscope.cupti import ExtractModel, _timers
from gpuscope.cupti._timers import CudaTimer
from gpuscope.errors import UsageError

torch = pytest.importorskip("torch", reason="these tests need torch")
nn = torch.nn


class Residual(nn.Module):  # type: ignore[misc,name-defined]  # torch is not there when types are checked
    """Changes outputs of its layers in place, which torch's own backward hooks of modules cannot bear."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, images: Any) -> Any:
        features = self.conv(images)
        out = self.norm(features)
        out += features
        tokens = self.relu(out).flatten(2).transpose(1, 2)
        mixed, _ = self.attention(tokens, tokens, tokens)
        return self.head(mixed.mean(1))


def train(model: Any, steps: int = 3) -> None:
    for _ in range(steps):
        model(torch.randn(4, 3, 16, 16)).sum().backward()


def test_layers_are_timed_and_counted_in_both_directions() -> None:
    model = Residual()
    before = time.time_ns()
    with ExtractModel(model) as profile:
        train(model, steps=3)
    after = time.time_ns()
    layers = profile.layers
    assert list(layers) == ["conv", "norm", "relu", "attention", "head"]
    for times in layers.values():
        # One of three calls was slowed by counting.
        assert len(times["time_ns"]) == len(times["backward_time_ns"]) == 2
        assert min(times["time_ns"] + times["backward_time_ns"]) > 0
        assert times["recompute_time_ns"] == []
    convolution = 2 * 4 * 8 * 16 * 16 * 3 * 9
    # Images need no gradient: only that of the weights is computed.
    assert (layers["conv"]["flops"], layers["conv"]["backward_flops"]) == (convolution, convolution)
    product = 2 * 4 * 8 * 4
    assert (layers["head"]["flops"], layers["head"]["backward_flops"]) == (product, 2 * product)
    assert layers["norm"]["flops"] == 0
    assert layers["head"]["type"] == "Linear"
    assert all(before <= call.start_ns <= call.end_ns <= after for call in profile.timeline)


def test_the_timeline_has_the_backward_pass_in_reverse() -> None:
    model = Residual()
    with ExtractModel(model, flops=False) as profile:
        train(model, steps=1)
    forward = [call.layer for call in profile.timeline if call.phase == "forward"]
    backward = [call.layer for call in profile.timeline if call.phase == "backward"]
    assert forward == ["conv", "norm", "relu", "attention", "head"]
    assert backward == forward[::-1]
    assert {call.flops for call in profile.timeline} == {None}
    assert {call.device for call in profile.timeline} == {"cpu"}


def test_one_call_is_kept_although_it_was_counted() -> None:
    model = Residual()
    with ExtractModel(model) as profile:
        train(model, steps=1)
    assert all(len(times["time_ns"]) == 1 for times in profile.layers.values())


def test_shapes_are_counted_for_themselves() -> None:
    model = nn.Linear(16, 16)
    with ExtractModel(model) as profile:
        for rows in (8, 8, 2, 2):
            model(torch.randn(rows, 16))
    assert [call.flops for call in profile.timeline] == [2 * rows * 256 for rows in (8, 2)]
    assert profile.layers["Linear"]["flops"] == (8 + 2) * 256


def test_without_autograd_only_the_forward_pass_is_there() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
    with ExtractModel(model) as profile, torch.inference_mode():
        for _ in range(3):
            model(torch.randn(4, 16))
    assert profile.layers["0"]["flops"] == 2 * 4 * 256
    assert profile.layers["0"]["backward_time_ns"] == []


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_a_checkpoint_runs_again_is_neither_forward_nor_backward(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    class Slow(nn.Linear):  # type: ignore[misc,name-defined]  # torch is not there when types are checked
        def forward(self, rows: Any) -> Any:
            time.sleep(0.1)
            return super().forward(rows)

    model = nn.Sequential(Slow(16, 16), nn.ReLU(), nn.Linear(16, 16))
    with ExtractModel(model) as profile:
        for _ in range(3):
            rows = torch.randn(8, 16, requires_grad=True)
            checkpoint(model, rows, use_reentrant=reentrant).sum().backward()
    layers = profile.layers
    assert len(layers["0"]["time_ns"]) == len(layers["0"]["recompute_time_ns"]) == 2
    assert min(layers["0"]["recompute_time_ns"]) > 100_000_000
    product = 2 * 8 * 256
    for name in ("0", "2"):
        assert (layers[name]["flops"], layers[name]["backward_flops"]) == (product, 2 * product)
        assert min(layers[name]["backward_time_ns"]) < 90_000_000, "without what ran again"


def test_containers_are_timed_on_request() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 8))
    with ExtractModel(model, containers=True) as profile:
        for _ in range(3):
            model(torch.randn(4, 8)).sum().backward()
    assert set(profile.layers) == {"Sequential", "0", "0.0", "0.1", "1"}
    assert profile.layers["0"]["flops"] is None
    outer, within = profile.layers["Sequential"]["time_ns"], profile.layers["0"]["time_ns"]
    assert all(around > inside for around, inside in zip(outer, within, strict=True))


def test_a_failing_layer_leaves_no_trace() -> None:
    class Sometimes(nn.Module):  # type: ignore[misc,name-defined]  # torch is not there when types are checked
        def forward(self, rows: Any) -> Any:
            if rows.shape[0] == 1:
                raise ValueError("one row")
            return rows * 2

    model = nn.Sequential(Sometimes(), nn.Linear(8, 8))
    with ExtractModel(model) as profile:
        for rows in (4, 1, 4, 1, 4):
            try:
                model(torch.randn(rows, 8)).sum().backward()
            except ValueError:
                continue
    assert len(profile.layers["0"]["time_ns"]) == 2
    assert len(profile.layers["1"]["time_ns"]) == 2
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_a_backward_pass_that_fails_leaves_no_counter_behind() -> None:
    class Fails(torch.autograd.Function):  # type: ignore[misc,name-defined]  # torch is not there for types
        @staticmethod
        def forward(context: Any, rows: Any) -> Any:
            return rows.clone()

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:
            raise ValueError("backward")

    class Layer(nn.Module):  # type: ignore[misc,name-defined]  # torch is not there when types are checked
        def forward(self, rows: Any) -> Any:
            return Fails.apply(rows)

    model = nn.Sequential(nn.Linear(8, 8), Layer())
    with ExtractModel(model) as profile:
        with pytest.raises(ValueError, match="backward"):
            model(torch.randn(4, 8)).sum().backward()
        model(torch.randn(4, 8))
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert profile.layers["0"]["flops"] == 2 * 4 * 64


def test_graphs_of_past_steps_are_not_kept() -> None:
    model = nn.Linear(8, 8)
    with ExtractModel(model) as profile:
        rows = torch.randn(4, 8, requires_grad=True)
        doubled = rows * 2
        kept = weakref.ref(doubled)
        model(doubled).sum().backward()
        del doubled
        gc.collect()
        assert kept() is None
    assert len(profile.timeline) == 2


def test_closing_takes_the_hooks_off() -> None:
    model = Residual()
    profile = ExtractModel(model)
    train(model, steps=1)
    profile.close()
    calls = len(profile.timeline)
    train(model, steps=1)
    assert len(profile.timeline) == calls
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    profile.clear()
    assert profile.layers == {}


def test_a_compiled_model_is_one_layer() -> None:
    model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend="eager")
    with ExtractModel(model) as profile:
        for _ in range(3):
            model(torch.randn(4, 8)).sum().backward()
    assert list(profile.layers) == ["Sequential"]
    assert len(profile.layers["Sequential"]["time_ns"]) == 3
    assert profile.layers["Sequential"]["flops"] is None


def test_only_models_have_layers() -> None:
    with pytest.raises(UsageError, match=r"torch\.nn\.Module, not dict"):
        ExtractModel({})  # type: ignore[arg-type]  # That is the point.


def test_a_gpu_is_timed_by_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU here: events that stand in for it happen 2 ms after they are recorded.

    The clock is a stand-in as well, so that a busy machine changes nothing.
    """
    clock = SimpleNamespace(now_ns=1_000_000_000)

    def pass_ms(milliseconds: int) -> None:
        clock.now_ns += milliseconds * 1_000_000

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self, stream: Any) -> None:
            assert stream == "current stream of cuda:1"
            self.happened_ns = clock.now_ns + 2_000_000

        def elapsed_time(self, other: Event) -> float:
            return (other.happened_ns - self.happened_ns) / 1e6

    stand_in = SimpleNamespace(
        Event=Event,
        synchronize=lambda device: pass_ms(2),
        current_stream=lambda device: f"current stream of {device}",
    )
    monkeypatch.setattr(torch, "cuda", stand_in)
    monkeypatch.setattr(_timers.time, "perf_counter_ns", lambda: clock.now_ns)
    timer = CudaTimer(torch.device("cuda:1"))
    recorded_ns = clock.now_ns
    start = timer.mark()
    pass_ms(10)
    end = timer.mark()
    timer.finish()
    assert timer.read(start) == recorded_ns + 2_000_000
    assert timer.read(end) == recorded_ns + 12_000_000
