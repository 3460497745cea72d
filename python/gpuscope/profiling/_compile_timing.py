"""Running a model again and again on the same inputs: times, and whether two runs agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from gpuscope.errors import UsageError
from gpuscope.profiling._torch import synchronize

#: How far results may be apart for other reasons than a mistake: fused kernels round in another order.
_TOLERANCES = {"torch.float64": 1e-6, "torch.float32": 1e-3, "torch.float16": 1e-2, "torch.bfloat16": 3e-2}


@dataclass(frozen=True)
class Call:
    """The arguments of a model."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, sample_input: Any) -> Call:
        """A tuple holds positional arguments, a dictionary with texts for keys holds those by name.

        Anything else is the only argument.

        >>> Call.of((1, 2)).args, Call.of({"x": 3}).kwargs, Call.of([4]).args
        ((1, 2), {'x': 3}, ([4],))
        """
        match sample_input:
            case tuple():
                return cls(sample_input, {})
            case Mapping() if all(isinstance(key, str) for key in sample_input):
                return cls((), dict(sample_input))
            case _:
                return cls((sample_input,), {})

    def on(self, model: Callable[..., Any]) -> Any:
        """What the model gives for them."""
        return model(*self.args, **self.kwargs)


@dataclass(frozen=True)
class Timing:
    """How long calls took, and what the first of them gave."""

    first_ms: float
    times_ms: list[float]
    result: Any

    @property
    def median_ms(self) -> float:
        """The middle of the times, which a disturbed call does not move."""
        return median(self.times_ms)


def check_counts(warmup: int, iterations: int) -> None:
    """Calls to time there must be; calls to warm up with there may be."""
    if iterations < 1:
        raise UsageError(f"iterations={iterations}: at least one call must be timed")
    if warmup < 0:
        raise UsageError(f"warmup={warmup}: use 0 or more")


def timed(torch: Any, model: Callable[..., Any], call: Call, warmup: int, iterations: int) -> Timing:
    """Call the model ``warmup`` times, then time it; the very first call is always on its own.

    Random numbers are the same for every model that is timed, so that results can be compared.
    """
    with _same_random_numbers(torch):
        begin = time.perf_counter()
        result = _kept(torch, _call(torch, model, call))
        synchronize(torch)
        first_ms = (time.perf_counter() - begin) * 1e3
        for _ in range(max(0, warmup - 1)):
            _call(torch, model, call)
        synchronize(torch)
        times = []
        for _ in range(iterations):
            begin = time.perf_counter()
            _call(torch, model, call)
            synchronize(torch)
            times.append((time.perf_counter() - begin) * 1e3)
    return Timing(first_ms, times, result)


def _call(torch: Any, model: Callable[..., Any], call: Call) -> Any:
    # Results of CUDA graphs live until the next step begins.
    begin_step = getattr(getattr(torch, "compiler", None), "cudagraph_mark_step_begin", None)
    if begin_step is not None and torch.cuda.is_available():
        begin_step()
    return call.on(model)


@contextmanager
def _same_random_numbers(torch: Any) -> Iterator[None]:
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        yield


def _kept(torch: Any, result: Any) -> Any:
    """A copy that later calls do not write over."""
    from torch.utils import _pytree

    return _pytree.tree_map(
        lambda value: value.detach().clone() if isinstance(value, torch.Tensor) else value, result
    )


def largest_difference(torch: Any, expected: Any, found: Any) -> tuple[bool, float]:
    """Whether two results agree as far as rounding goes, and the largest difference between their numbers."""
    from torch.utils import _pytree

    ours, shape = _pytree.tree_flatten(expected)
    theirs, other_shape = _pytree.tree_flatten(found)
    if shape != other_shape:
        return False, float("inf")
    agree, largest = True, 0.0
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(a, torch.Tensor):
            agree = agree and bool(a == b)
            continue
        same, difference = _apart(torch, a, b)
        agree, largest = agree and same, max(largest, difference)
    return agree, largest


def _apart(torch: Any, a: Any, b: Any) -> tuple[bool, float]:
    if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
        return False, float("inf")
    if a.numel() == 0:
        return True, 0.0
    tolerance = _TOLERANCES.get(str(a.dtype), 0.0)
    if not a.dtype.is_floating_point and not a.dtype.is_complex:
        return bool(torch.equal(a, b)), float((a.to(torch.float64) - b.to(torch.float64)).abs().max())
    same = bool(torch.allclose(a, b, rtol=tolerance or 1e-3, atol=tolerance or 1e-3, equal_nan=True))
    apart = (a - b).abs().to(torch.float64)
    return same, float(apart.nan_to_num(0.0).max())
