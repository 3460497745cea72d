"""What a profiled block did: the numbers of one session."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope.errors import UsageError

if TYPE_CHECKING:
    from gpuscope import Run


@dataclass
class KernelInfo:
    """One kernel of the GPU, all its launches together; without a GPU, one operator of the CPU.

    ``cuda_time_us`` is the time on the GPU and ``cpu_time_us`` the time the host spent in the calls that
    launched it. Without a GPU both are the operator's own time on the CPU, that is, without the operators it
    called.
    """

    name: str
    cuda_time_us: float
    cpu_time_us: float
    calls: int
    percent: float = 0.0
    kind: str = ""

    @property
    def mean_us(self) -> float:
        """The time of one call on the average.

        >>> KernelInfo("gemm", cuda_time_us=30.0, cpu_time_us=8.0, calls=3).mean_us
        10.0
        """
        return self.cuda_time_us / self.calls if self.calls else 0.0


@dataclass
class ProfileSession:
    """The result of one profiled block; filled when the block ends.

    ``total_time_ms`` is the wall time of the block (of all iterations together), with the GPU's work waited
    for. ``cuda_time_ms`` is the time during which the GPU was busy and ``cpu_time_ms`` that during which the
    host was in an operator or a call that does not wait. Where no GPU took part, ``device`` is ``"cpu"``,
    ``cuda_time_ms`` is the CPU's time, memory is that of CPU tensors, and ``notes`` says so.
    """

    name: str = ""
    device: str = "cpu"
    device_name: str = ""
    total_time_ms: float = 0.0
    cuda_time_ms: float = 0.0
    cpu_time_ms: float = 0.0
    peak_memory_mb: float = 0.0
    allocated_memory_mb: float = 0.0
    reserved_memory_mb: float = 0.0
    kernels: list[KernelInfo] = field(default_factory=list)
    bottlenecks: list[str] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    trace_path: Path | None = None
    flame_graph_data: dict[str, Any] = field(default_factory=dict)
    flame_graph_path: Path | None = None
    iterations: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def time_per_iteration_ms(self) -> float:
        """The wall time of one iteration on the average."""
        return self.total_time_ms / max(self.iterations, 1)

    def open(self) -> Run:
        """The session's trace, for every other question gpuscope answers."""
        if self.trace_path is None:
            raise UsageError(f"session {self.name!r} kept no trace; profile with enable_trace=True")
        import gpuscope

        return gpuscope.open(self.trace_path)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that ``json.dumps`` takes."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["kernels"] = [{**vars(kernel), "mean_us": kernel.mean_us} for kernel in self.kernels]
        for name in ("trace_path", "flame_graph_path"):
            values[name] = str(values[name]) if values[name] is not None else None
        values["time_per_iteration_ms"] = self.time_per_iteration_ms
        return values

    def summary(self, num_kernels: int = 10) -> str:
        """The session in a few lines for the terminal."""
        gpu = f"GPU {self.cuda_time_ms:.2f} ms, " if self.device != "cpu" else ""
        lines = [
            f"{self.name}: {self.total_time_ms:.2f} ms on {self.device_name or self.device}",
            f"  {gpu}CPU {self.cpu_time_ms:.2f} ms, peak memory {self.peak_memory_mb:.1f} MB",
        ]
        lines += [
            f"  {kernel.cuda_time_us:12.1f} µs {kernel.percent:5.1f} % {kernel.calls:6d} x {kernel.name}"
            for kernel in self.kernels[:num_kernels]
        ]
        lines += [f"  bottleneck: {text}" for text in self.bottlenecks]
        lines += [f"  advice: {text}" for text in self.recommendations]
        lines += [f"  note: {text}" for text in self.notes]
        files = (("trace", self.trace_path), ("flame graph", self.flame_graph_path))
        lines += [f"  {what}: {path}" for what, path in files if path]
        return "\n".join(lines)
