"""Which steps of the backward pass undo a layer, and how many operations does it do?

Backward passes are followed by hooks on autograd's nodes, not by torch's full backward hooks: those replace a
module's output by a view, which fails in models that change it in place (``out += identity``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node

_KEEPS_GRADIENT = "torch::autograd::AccumulateGrad"
_MOST_NODES = 10_000


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in arguments or results of a module, however they are packed."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def nodes_of(value: Any) -> list[Node]:
    """The nodes of autograd that gave these tensors."""
    return [tensor.grad_fn for tensor in tensors_in(value) if tensor.grad_fn is not None]


def nodes_between(results: list[Node], inputs: list[Node]) -> list[Node]:
    """What the backward pass runs from the results of a layer to its inputs, without those of other layers.

    Adding up gradients of parameters is left out: its node outlives the layer's call.
    """
    found: list[Node] = []
    known = set(inputs)
    waiting = list(reversed(results))
    while waiting and len(found) < _MOST_NODES:
        node = waiting.pop()
        if node in known or node.name() == _KEEPS_GRADIENT:
            continue
        known.add(node)
        found.append(node)
        waiting.extend(following for following, _ in node.next_functions if following is not None)
    return found


def is_backward_running() -> bool:
    """Whether this is called from a backward pass: what runs forward now runs again, for a checkpoint."""
    import torch

    current = getattr(torch._C, "_current_graph_task_id", None)
    return current is not None and current() != -1


class OperationCounter:
    """Counts floating point operations between ``start`` and ``stop``, by torch's own formulas."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.flops = 0
        self.is_paused = False
        """While another call runs within this one; torch can only take off the last mode, so ours stays."""
        self._mode: Any = None

    @staticmethod
    def prepare() -> None:
        """Loads what counting needs, which takes long enough to be seen in a first call."""
        _counting_mode()

    def start(self) -> None:
        """Every operator of this thread counts from here on."""
        self._mode = _counting_mode()(self)
        self._mode.__enter__()

    def stop(self) -> None:
        """Counts no more."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None


def _counting_mode() -> Any:
    """The class is made at first use, as torch is not imported before."""
    global _CountingMode
    if _CountingMode is None:
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils.flop_counter import flop_registry

        class CountingMode(TorchDispatchMode):  # type: ignore[misc]  # torch is not there when types are checked
            def __init__(self, counter: OperationCounter) -> None:
                super().__init__()
                self._counter = counter

            def __torch_dispatch__(
                self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
            ) -> Any:
                kwargs = kwargs or {}
                formula = flop_registry.get(func._overloadpacket)
                if formula is None:
                    # Without autograd, some operators arrive here before they are taken apart.
                    with self:
                        parts = func.decompose(*args, **kwargs)
                    return func(*args, **kwargs) if parts is NotImplemented else parts
                result = func(*args, **kwargs)
                if not self._counter.is_paused:
                    self._counter.flops += int(formula(*args, **kwargs, out_val=result))
                return result

        _CountingMode = CountingMode
    return _CountingMode


_CountingMode: Any = None
