"""Which raw trace events are work of a GPU, and of which kind.

The same rules as gpuscope's own readers have, for events that come as dictionaries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

Kind = Literal["computation", "communication", "memcpy"]

_MTIA = "mtia_ccp_events"
_BY_CATEGORY: dict[str, Kind] = {
    "kernel": "computation",
    "Kernel": "computation",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    # A memory set keeps the GPU as busy as a kernel does, and counts as one.
    "gpu_memset": "computation",
    "Memset": "computation",
    _MTIA: "computation",
}
_COMMUNICATION = re.compile(
    r"nccl|rccl|hccl|cross_device_reduce|multimem_all_|_shot_all_reduce", re.IGNORECASE
)
# How ROCm names copies and fills that run as kernels.
_COPY_KERNEL = re.compile(
    r"(MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)"
    r"|__amd_rocclr_copyBuffer(Rect)?(Aligned)?)(\.kd)?"
)
_FILL_KERNEL = re.compile(r"__amd_rocclr_fillBuffer(Aligned)?(\.kd)?")
_XLA_COPY = re.compile(r"memcpy|copy(host|device)to(host|device)", re.IGNORECASE)
_XLA_FILL = re.compile(r"memset", re.IGNORECASE)


def is_duration(event: Mapping[str, Any]) -> bool:
    """Whether an event has a beginning and a length."""
    return event.get("ph", "X") == "X" and event.get("ts") is not None and event.get("dur") is not None


def arguments(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the arguments of an event; none if it has something else in their place."""
    args = event.get("args")
    return args if isinstance(args, Mapping) else {}


def gpu_kind(event: Mapping[str, Any]) -> Kind | None:
    """The kind of a GPU event of a PyTorch trace; ``None`` for every other event.

    >>> gpu_kind({"cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, "dur": 2})
    'communication'
    >>> gpu_kind({"cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}) is None
    True
    """
    category = event.get("cat")
    if not isinstance(category, str) or category not in _BY_CATEGORY or not is_duration(event):
        return None
    name, kind = str(event.get("name", "")), _BY_CATEGORY[category]
    if category == _MTIA:
        if name in {"event_wait", "event_record"}:
            return None
        kind = "memcpy" if name.startswith("dma") else kind
    return kind_by_name(name) or kind


def xla_kind(name: str) -> Kind:
    """The kind of an event on a GPU stream of a JAX trace, by its name.

    >>> xla_kind("MemcpyD2D"), xla_kind("Memset"), xla_kind("ncclDevKernel_AllGather")
    ('memcpy', 'computation', 'communication')
    """
    if _XLA_COPY.match(name):
        return "memcpy"
    if _XLA_FILL.match(name):
        return "computation"
    return kind_by_name(name) or "computation"


@lru_cache(maxsize=1 << 16)
def kind_by_name(name: str) -> Kind | None:
    """The kind that a name tells whatever the category, if it tells one."""
    if _COMMUNICATION.search(name):
        return "communication"
    if _COPY_KERNEL.fullmatch(name):
        return "memcpy"
    if _FILL_KERNEL.fullmatch(name):
        return "computation"
    return None
