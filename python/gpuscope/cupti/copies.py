"""What was copied, from where to where, and when?"""

from __future__ import annotations

from typing import Any, NamedTuple

MEMCPY = 1
"""``CUPTI_ACTIVITY_KIND_MEMCPY``, the same in all versions of CUPTI."""

MEMCPY2 = 22
"""``CUPTI_ACTIVITY_KIND_MEMCPY2``: copies from one GPU to another."""

MEMCPY_KIND_STR: dict[int, str] = {
    0: "Unknown",
    1: "Host -> Device",
    2: "Device -> Host",
    3: "Host -> Array",
    4: "Array -> Host",
    5: "Array -> Array",
    6: "Array -> Device",
    7: "Device -> Array",
    8: "Device -> Device",
    9: "Host -> Host",
    10: "Peer -> Peer",
}
"""What ``copy_kind`` of CUPTI's records means."""


class CopyRecord(NamedTuple):
    """One copy, with times in nanoseconds on CUPTI's clock."""

    start_ns: int
    end_ns: int
    bytes: int
    kind: int
    device: int
    stream: int
    correlation: int


class MemoryCopy:
    """Collects copies, from CUPTI's records of the kinds ``MEMCPY`` and ``MEMCPY2``.

    ``setup_cupti_memcpy`` connects it to CUPTI, beside a ``KernelDataCollector`` or alone.
    """

    def __init__(self) -> None:
        """Nothing is collected before it is set up."""
        self.copies: list[CopyRecord] = []
        """All copies, in the order in which CUPTI told."""
        self.without_times = 0
        """Copies that CUPTI could not time, which are not among ``copies``."""

    def collect(self, activity: Any) -> None:
        """Takes one record; those that are of another kind are passed over."""
        if int(activity.kind) not in (MEMCPY, MEMCPY2):
            return
        if activity.start == 0 and activity.end == 0:
            self.without_times += 1
            return
        self.copies.append(
            CopyRecord(
                start_ns=int(activity.start),
                end_ns=int(activity.end),
                bytes=int(activity.bytes),
                kind=int(activity.copy_kind),
                device=int(activity.device_id),
                stream=int(activity.stream_id),
                correlation=int(activity.correlation_id),
            )
        )

    memcpy = collect

    @property
    def memcpy_info(self) -> list[tuple[int, int, int]]:
        """Changes of the bytes under way: ``(time_ns, bytes, copy_kind)``, negative where a copy ends.

        >>> copies = MemoryCopy()
        >>> copies.copies.append(CopyRecord(100, 250, 4096, kind=1, device=0, stream=7, correlation=1))
        >>> copies.memcpy_info
        [(100, 4096, 1), (250, -4096, 1)]
        """
        begins = [(copy.start_ns, copy.bytes, copy.kind) for copy in self.copies]
        ends = [(copy.end_ns, -copy.bytes, copy.kind) for copy in self.copies]
        return sorted(begins + ends, key=lambda change: change[0])

    def clear(self) -> None:
        """Forgets everything; a connection to CUPTI stays."""
        self.copies.clear()
        self.without_times = 0

    def __len__(self) -> int:
        """How many copies there are."""
        return len(self.copies)

    def __repr__(self) -> str:
        """How many copies, and of how much."""
        return f"<MemoryCopy: {len(self.copies)} copies, {sum(copy.bytes for copy in self.copies)} bytes>"


MemcpyDataCollector = MemoryCopy
"""The same by the name that stands beside ``KernelDataCollector``."""
