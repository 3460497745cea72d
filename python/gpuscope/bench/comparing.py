"""Two forms of the same models side by side: the same weights, the same inputs, measured in turns.

AS-IS is ``PlainGPT``, TO-BE is ``FusedGPT`` under torch.compile, or without it where it does not work.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuscope.bench import environment
from gpuscope.bench.family import GPT_CONFIGS, key_of, name_of
from gpuscope.bench.gpt import (
    Forward,
    FusedGPT,
    OutputsDiffer,
    PlainGPT,
    check_equal,
    fused_from,
    random_tokens,
)
from gpuscope.bench.limits import Limits
from gpuscope.bench.runner import entry_of
from gpuscope.bench.targets import Case
from gpuscope.bench.timing import measure_together
from gpuscope.profiling._torch import need_torch

__all__ = ["compare_models"]

AS_IS = "AS-IS: every step an operator (eager)"
TO_BE = "TO-BE: fused kernels, torch.compile"
TO_BE_UNCOMPILED = "TO-BE: fused kernels, without torch.compile"

#: What is told on the way.
Note = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """What both forms are given."""

    batch: int
    seq_len: int


def compare_models(
    models: Sequence[str], batch_size: int, seq_len: int, limits: Limits, *, compile: bool, note: Note
) -> Iterator[dict[str, Any]]:
    """Measure each model in both forms; gives the data so far after each, in the shape of comparison_data.json."""
    sizes = Sizes(batch_size, seq_len)
    data: dict[str, Any] = {}
    for name in [name_of(model) for model in models]:
        key = key_of(name)
        note(f"{key}: building both forms and checking that they agree")
        plain = PlainGPT(GPT_CONFIGS[name])
        tokens = random_tokens(plain, batch_size, seq_len)
        fused, largest, compiled = _agreeing(plain, tokens, compile, note)
        if not data:
            data = _frame(sizes, compiled)
        forms = [Forward(plain, tokens), Forward(fused, tokens)]
        measured = measure_together(forms, limits)
        case = Case(key, GPT_CONFIGS[name], batch_size, seq_len)
        for side, result in zip(("as_is", "to_be"), measured, strict=True):
            entry = entry_of(case, result, batch_size * seq_len)
            entry["parameters"] = plain.parameters
            data[side]["benchmarks"][key] = entry
        data["to_be"]["benchmarks"][key]["compiled"] = compiled
        data["comparison"][key] = {
            "speedup": measured[0].mean_ms / measured[1].mean_ms,
            "outputs_equal": True,
            "max_abs_difference": largest,
        }
        note(f"{key}: {measured[0]} as it is, {measured[1]} to be")
        yield data


def _agreeing(plain: PlainGPT, tokens: Any, compile: bool, note: Note) -> tuple[FusedGPT, float, bool]:
    """The fused form, compiled if that works, how far its outputs are from the plain one's, and whether it is."""
    fused = fused_from(plain)
    largest = check_equal(plain, fused, tokens)
    if not compile:
        return fused, largest, False
    try:
        # Torch gives up on a function that it has compiled for many models before.
        need_torch("torch.compile")._dynamo.reset()
        compiled = fused_from(plain).compile()
        return compiled, check_equal(plain, compiled, tokens), True
    except OutputsDiffer:
        raise
    except Exception as error:
        # Compilers need more than torch: a C++ compiler, Triton, a GPU that is new enough.
        reason = " ".join(str(error).split())[:200]
        note(
            f"torch.compile does not work here, so the fused form runs without it: {type(error).__name__}: {reason}"
        )
        return fused, largest, False


def _frame(sizes: Sizes, compiled: bool) -> dict[str, Any]:
    metadata = environment.describe()
    metadata.update(batch_size=sizes.batch, seq_len=sizes.seq_len)

    def side(label: str) -> dict[str, Any]:
        # Each side is a run of its own to those who look at it alone.
        return {
            "label": label,
            "metadata": {**metadata, "label": label, "run_id": uuid.uuid4().hex},
            "benchmarks": {},
        }

    return {
        "metadata": metadata,
        "as_is": side(AS_IS),
        "to_be": side(TO_BE if compiled else TO_BE_UNCOMPILED),
        "comparison": {},
    }
