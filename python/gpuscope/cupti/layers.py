"""How long does each layer of a model take, forward and backward, and how much does it compute?"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict

from gpuscope._lazy import need
from gpuscope.cupti._autograd import (
    OperationCounter,
    is_backward_running,
    nodes_between,
    nodes_of,
    tensors_in,
)
from gpuscope.cupti._timers import Mark, Timer, Timers
from gpuscope.cupti.clock import offset_to_kernel_clock
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    import torch

FORWARD = "forward"
BACKWARD = "backward"
RECOMPUTE = "recompute"


class LayerCall(NamedTuple):
    """One pass through one layer, with times in nanoseconds on the kernels' clock."""

    start_ns: int
    end_ns: int
    flops: int | None
    layer: str
    phase: str
    """``forward``, ``backward``, or ``recompute`` where a checkpoint runs a layer again."""
    device: str

    @property
    def duration_ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.start_ns


class LayerTimes(TypedDict):
    """All calls of one layer."""

    type: str
    time_ns: list[int]
    flops: int | None
    backward_time_ns: list[int]
    backward_flops: int | None
    recompute_time_ns: list[int]


@dataclass(slots=True)
class _Call:
    """A pass through a layer that is being timed, or was."""

    layer: str
    phase: str
    device: str
    timer: Timer
    start: Mark
    end: Mark = None
    counter: OperationCounter | None = None
    shapes: tuple[Any, ...] = ()
    inputs: list[Any] = field(default_factory=list)
    has_just_begun: bool = True
    handled: BaseException | None = None
    """The exception that was being handled when it began: another one at the end means that it failed."""


class ExtractModel:
    """Times the layers of a model by hooks, as long as it is not closed.

    Layers are the modules that call no others, so that their times can be added up. On a GPU they are timed
    by its own events, elsewhere by the host's clock. Operations are counted by torch's formulas, which know
    multiplications of matrices, convolutions and attention, in the first call with given shapes; counting
    makes that call slower, so its time is forgotten when there is another one.

    Args:
        model: a ``torch.nn.Module``. One that ``torch.compile`` gave is timed as a whole, and not counted.
        flops: whether to count operations.
        containers: also time the modules around the layers.

    Example::

        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        with ExtractModel(model) as profile:
            for _ in range(3):
                model(torch.randn(4, 8)).sum().backward()
        profile.layers["0"]["flops"]     # 512
    """

    def __init__(self, model: torch.nn.Module, flops: bool = True, containers: bool = False) -> None:
        """Sets the hooks."""
        torch = need("torch", "ExtractModel")
        if not isinstance(model, torch.nn.Module):
            raise UsageError(f"ExtractModel takes a torch.nn.Module, not {type(model).__name__}")
        # Counting would keep torch.compile from compiling.
        self.flops = flops and not hasattr(model, "_orig_mod")
        self.containers = containers
        if self.flops:
            OperationCounter.prepare()
        self._types: dict[str, str] = {}
        self._calls: list[_Call] = []
        self._counted: dict[tuple[str, str, tuple[Any, ...]], int] = {}
        self._call_others: set[str] = set()
        self._timers = Timers()
        self._local = threading.local()
        self._hooks: list[Any] = []
        for name, module in _modules_to_time(model):
            layer = name or type(model).__name__
            self._types[layer] = type(module).__name__
            self._hook(layer, module)

    def close(self) -> None:
        """Takes the hooks off the model; what was timed stays."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def __enter__(self) -> Self:
        """The hooks are set already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the hooks off."""
        self.close()

    @property
    def timeline(self) -> list[LayerCall]:
        """All calls by their start; waits for the GPU if one is used."""
        self._timers.finish()
        offset = offset_to_kernel_clock()
        calls = [
            LayerCall(
                start_ns=call.timer.read(call.start) + offset,
                end_ns=call.timer.read(call.end) + offset,
                flops=self._counted.get(_key(call)),
                layer=call.layer,
                phase=call.phase,
                device=call.device,
            )
            for call in self._undisturbed()
        ]
        return sorted(calls, key=lambda call: call.start_ns)

    @property
    def layers(self) -> dict[str, LayerTimes]:
        """Layers in the order in which they first ran, with the ``time_ns`` of each pass and its ``flops``.

        Where calls of a layer have different shapes, ``flops`` is their mean.
        """
        calls = self.timeline
        found: dict[str, LayerTimes] = {}
        for call in calls:
            times = found.setdefault(call.layer, _no_times(self._types[call.layer]))
            _times_of(times, call.phase).append(call.duration_ns)
        for (layer, phase), flops in _mean_flops(calls).items():
            if phase == FORWARD:
                found[layer]["flops"] = flops
            elif phase == BACKWARD:
                found[layer]["backward_flops"] = flops
        return found

    def clear(self) -> None:
        """Forgets all times, for example those of a warm-up; what was counted stays."""
        self._calls.clear()

    def __repr__(self) -> str:
        """How much was timed."""
        return f"<ExtractModel: {len(self._types)} modules, {len(self._calls)} calls>"

    # What the hooks do

    def _hook(self, layer: str, module: torch.nn.Module) -> None:
        def before(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
            self._begin(layer, module, (args, kwargs))

        def after(module: torch.nn.Module, args: Any, output: Any) -> None:
            self._end(layer, output)

        self._hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
        # Also after an exception, so that the stack of open calls stays right.
        self._hooks.append(module.register_forward_hook(after, always_call=True))

    def _open_calls(self) -> list[_Call]:
        if not hasattr(self._local, "open"):
            self._local.open = []
        opened: list[_Call] = self._local.open
        return opened

    def _begin(self, layer: str, module: torch.nn.Module, inputs: Any) -> None:
        opened = self._open_calls()
        phase = RECOMPUTE if is_backward_running() else FORWARD
        around = opened[-1] if opened else self._backward_around(phase)
        if around is not None and around.counter is not None:
            around.counter.is_paused = True
        if opened:
            self._call_others.add(opened[-1].layer)
        device = _device_of(module, inputs)
        timer = self._timers.of(device)
        call = _Call(
            layer=layer,
            phase=phase,
            device=str(device or "cpu"),
            timer=timer,
            start=None,
            shapes=tuple(tuple(tensor.shape) for tensor in tensors_in(inputs)),
            inputs=nodes_of(inputs),
            handled=sys.exc_info()[1],
        )
        if self._should_count(call):
            call.counter = OperationCounter()
            call.counter.start()
        opened.append(call)
        call.start = timer.mark()

    def _end(self, layer: str, output: Any) -> None:
        opened = self._open_calls()
        if not opened or opened[-1].layer != layer:
            return  # It began before the hooks were set.
        call = opened.pop()
        call.end = call.timer.mark()
        if call.counter is not None:
            call.counter.stop()
        if not opened:
            self._resume_backward()
        failed = sys.exc_info()[1] is not call.handled
        inputs, call.inputs, call.handled = call.inputs, [], None
        calls_others = layer in self._call_others
        if failed or (calls_others and not self.containers):
            return
        if call.counter is not None and not calls_others:
            self._counted[_key(call)] = call.counter.flops
        self._calls.append(call)
        self._follow_backward(call, nodes_of(output), inputs)

    def _follow_backward(self, forward: _Call, results: list[Any], inputs: list[Any]) -> None:
        """Hooks must not hold nodes: the graph of every step would stay in memory."""
        backward = _Backward(self, forward)
        for place, node in enumerate(nodes_between(results, inputs)):
            node.register_prehook(backward.before(place))
            node.register_hook(backward.after())

    def _should_count(self, call: _Call) -> bool:
        return self.flops and call.layer not in self._call_others and _key(call) not in self._counted

    def _backward_around(self, phase: str) -> _Call | None:
        """The backward pass that a checkpoint runs forward for, if that is so."""
        around: _Call | None = getattr(self._local, "backward", None)
        if around is not None and phase == FORWARD:
            # It failed half way; autograd has taken its counter off.
            self._local.backward = None
            return None
        return around

    def _resume_backward(self) -> None:
        """Running forward again is not a part of the backward pass that needs it."""
        around: _Call | None = getattr(self._local, "backward", None)
        if around is not None:
            if around.has_just_begun:
                around.start = around.timer.mark()
            if around.counter is not None:
                around.counter.is_paused = False

    def _undisturbed(self) -> list[_Call]:
        """Calls that were not slowed by counting, and those where there are no others."""
        free = {(call.layer, call.phase) for call in self._calls if call.counter is None}
        return [c for c in self._calls if c.counter is None or (c.layer, c.phase) not in free]


class _Backward:
    """The backward pass of one call of a layer: from its first node to its last one."""

    def __init__(self, profile: ExtractModel, forward: _Call) -> None:
        self._profile = profile
        self._forward = forward
        self._call: _Call | None = None
        self._seen: set[int] = set()

    def before(self, place: int) -> Any:
        """For the node with this number."""

        def hook(gradients: Any) -> None:
            if self._call is None or place in self._seen:
                self._call = self._begin()
                self._seen = set()
            self._seen.add(place)
            self._profile._local.backward = self._call
            if self._call.counter is not None:
                self._call.counter.start()

        return hook

    def after(self) -> Any:
        """For any node; the last one that runs ends the call."""

        def hook(inputs: Any, outputs: Any) -> None:
            call = self._call
            if call is None:
                return
            call.end = call.timer.mark()
            call.has_just_begun = False
            self._profile._local.backward = None
            if call.counter is not None:
                call.counter.stop()
                self._profile._counted[_key(call)] = call.counter.flops

        return hook

    def _begin(self) -> _Call:
        forward, profile = self._forward, self._profile
        start = forward.timer.mark()
        call = _Call(
            forward.layer, BACKWARD, forward.device, forward.timer, start, end=start, shapes=forward.shapes
        )
        if profile._should_count(call):
            call.counter = OperationCounter()
        profile._calls.append(call)
        return call


def _modules_to_time(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    if hasattr(model, "_orig_mod"):
        return [(type(model._orig_mod).__name__, model)]  # Hooks inside would take a compiled graph apart.
    return list(model.named_modules())


def _device_of(module: torch.nn.Module, inputs: Any) -> torch.device | None:
    tensor = next(tensors_in(inputs), None)
    if tensor is None:
        tensor = next(module.parameters(), None)
    return None if tensor is None else tensor.device


def _key(call: _Call) -> tuple[str, str, tuple[Any, ...]]:
    return call.layer, call.phase, call.shapes


def _no_times(kind: str) -> LayerTimes:
    return {
        "type": kind,
        "time_ns": [],
        "flops": None,
        "backward_time_ns": [],
        "backward_flops": None,
        "recompute_time_ns": [],
    }


def _times_of(times: LayerTimes, phase: str) -> list[int]:
    match phase:
        case "forward":
            return times["time_ns"]
        case "backward":
            return times["backward_time_ns"]
        case _:
            return times["recompute_time_ns"]


def _mean_flops(calls: list[LayerCall]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        if call.flops is not None:
            counts.setdefault((call.layer, call.phase), []).append(call.flops)
    return {key: round(sum(flops) / len(flops)) for key, flops in counts.items()}
