"""The GPU work of JAX, kernel by kernel: XLA launches whole programs, so kernels stand for themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuscope.tracelens._kinds import arguments, is_duration, xla_kind
from gpuscope.tracelens._source import Event
from gpuscope.tracelens.gpu_event_analyser import span_ns
from gpuscope.tracelens.jax_gpu_event_analyser import Processes

# The first that has a word in the name decides.
_SORTS = {
    "GEMM": ("Cijk", "gemm", "nvjet", "cublasLt"),
    "FA BWD": ("FmhaBwd", "flash_bprop", "ck_fused_attn::dk_dv_reduce_thd", "fmha_bwd"),
    "FA FWD": ("FmhaFwd", "flash_fprop", "fmha_fwd"),
    "FA V3": ("kernel_func",),
    "Conv": ("conv_", "conv.", "conv-"),
    "TE": ("transformer_engine", "te_fused_attn"),
    "Communication": ("rccl", "nccl"),
}
OTHERS = "Uncategorized Events/XLA"


def launchers(events: Iterable[Event], include_nccl: bool) -> list[dict[str, Any]]:
    """The kernels of all GPUs in order of their start, each as the launcher of itself."""
    trace = list(events)
    processes = Processes.of(trace)
    found = [
        _launcher(uid, event)
        for uid, event in enumerate(trace)
        if is_duration(event) and processes.key(event.get("pid"))[1] and not processes.is_derived(event)
    ]
    if not include_nccl:
        found = [call for call in found if xla_kind(call["name"]) != "communication"]
    return sorted(found, key=lambda call: (span_ns(call)[0], call["UID"]))


def sort_of(kernel: str, hlo_op: str | None) -> str:
    """Give the sort of a kernel: by the operation of XLA that it is part of, if that tells, else by its name.

    >>> sort_of("Cijk_Ailk_Bljk_BBS", "cudnn-conv.1"), sort_of("loop_fusion", None)
    ('Conv', 'Uncategorized Events/XLA')
    """
    by_name = _by_words(kernel)
    if by_name.startswith("FA ") or not hlo_op:
        return by_name
    by_operation = _by_words(hlo_op)
    return by_name if by_operation == OTHERS else by_operation


def _by_words(name: str) -> str:
    return next((sort for sort, words in _SORTS.items() if any(word in name for word in words)), OTHERS)


def _launcher(uid: int, event: Event) -> dict[str, Any]:
    start, end = span_ns(event)
    name, args = str(event.get("name", "")), arguments(event)
    return {
        **event,
        "name": name,
        "UID": uid,
        "op category": sort_of(name, args.get("hlo_op")),
        "total_direct_kernel_time": (end - start) / 1000,
        "total_subtree_kernel_time": (end - start) / 1000,
        "direct_kernel_count": 1,
        "kernel_details": [{"name": name, "dur": event["dur"], "stream": event.get("tid")}],
    }
