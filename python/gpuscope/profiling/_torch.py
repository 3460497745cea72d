"""What torch offers on this machine, so that CUDA, ROCm and CPU-only builds look alike to the rest."""

from __future__ import annotations

import os
import platform
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from gpuscope._lazy import need
from gpuscope.errors import UsageError
from gpuscope.profiling._saving import take_place

DeviceKind = Literal["cuda", "rocm", "cpu"]

BYTES_PER_MB = 1024 * 1024


class ChromeTraceExporter(Protocol):
    """Anything that can write a Chrome trace, such as ``torch.profiler.profile``."""

    def export_chrome_trace(self, path: str) -> Any:
        """Write the trace to ``path``."""
        ...


@dataclass(frozen=True)
class Accelerator:
    """The device that work runs on."""

    kind: DeviceKind
    name: str

    @property
    def is_gpu(self) -> bool:
        """Whether there is a GPU at all."""
        return self.kind != "cpu"


THE_CPU = Accelerator("cpu", platform.processor() or platform.machine())


def need_torch(purpose: str) -> Any:
    """``torch``, or an error that says what it is needed for and how to get it."""
    return need("torch", purpose)


def accelerator(torch: Any) -> Accelerator:
    """The GPU that torch would use now, or the CPU if it sees none."""
    if not torch.cuda.is_available():
        return THE_CPU
    return Accelerator("rocm" if torch.version.hip else "cuda", str(torch.cuda.get_device_name()))


def synchronize(torch: Any) -> None:
    """Wait until the GPU has done all it was asked to; nothing to wait for without one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def rank_of_this_process(torch: Any) -> int | None:
    """The rank in a distributed job, ``None`` outside of one."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    # Before a job has found together, its launcher's word counts.
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdigit() else None


def profiler_is_running(torch: Any) -> bool:
    """Whether some torch profiler records in this thread; a second one would silently end it."""
    return bool(torch.autograd._profiler_enabled())


def new_profiler(torch: Any, *, memory: bool, shapes: bool, stacks: bool) -> Any:
    """A ``torch.profiler.profile`` for the host and, if there is one, the GPU; not yet started."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(
        activities=activities,
        profile_memory=memory,
        record_shapes=shapes,
        with_stack=stacks,
        experimental_config=_with_synchronisation(torch),
    )


def _with_synchronisation(torch: Any) -> Any:
    # Who waited for whom is recorded only on request; releases of torch before 2.2 cannot be asked.
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    except (AttributeError, TypeError):
        return None


def was_cancelled(profiler: Any) -> bool:
    """Whether another profiler ended this one's recording; torch crashes when that is exported."""
    recording = getattr(getattr(profiler, "profiler", None) or profiler, "kineto_results", None)
    start_ns = getattr(recording, "trace_start_ns", None)
    return start_ns is not None and start_ns() == 0


def export_trace(profiler: ChromeTraceExporter, path: Path) -> None:
    """Write what ``profiler`` recorded to ``path``; a profiler that has nothing to write is a usage error."""
    if was_cancelled(profiler):
        raise UsageError(
            "another torch profiler was started while this one recorded, and torch keeps only one at a time: "
            "its events are lost; use one profiler at a time"
        )
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".gpuscope-") as folder:
            written = Path(folder) / path.name
            _export(profiler, written)
            take_place(written, path, private=True)
    except FileNotFoundError as error:
        raise UsageError(
            f"{path}: torch wrote no trace here; check that the folder exists and can be written to"
        ) from error


def _export(profiler: ChromeTraceExporter, path: Path) -> None:
    try:
        profiler.export_chrome_trace(str(path))
    except (AssertionError, AttributeError) as error:
        raise UsageError(
            f"the profiler has no finished recording ({error}); "
            "use it as `with torch.profiler.profile() as prof:` and export after the block"
        ) from error
    except RuntimeError as error:
        if "already saved" not in str(error):
            raise
        _export_again(profiler, path)
    if not path.is_file() or path.stat().st_size == 0:
        raise FileNotFoundError(path)


def _export_again(profiler: Any, path: Path) -> None:
    # Kineto writes a recording once only; newer releases of torch can write it a second time by themselves.
    try:
        profiler.export_chrome_trace(str(path), use_python_export=True)
    except (TypeError, RuntimeError) as error:
        raise UsageError(
            "the profiler's trace was exported before, and this torch cannot export it twice; "
            "use from_chrome_trace() with the file that was written"
        ) from error


_exported: weakref.WeakKeyDictionary[Any, Path] = weakref.WeakKeyDictionary()


def trace_of(profiler: ChromeTraceExporter) -> Path:
    """A file with what ``profiler`` recorded, written once and removed together with the profiler.

    Torch exports a recording only once, and a flame graph and a timeline are often made from the same one.
    """
    known = _exported.get(profiler)
    if known is not None:
        return known
    folder = tempfile.TemporaryDirectory(prefix="gpuscope-")
    path = Path(folder.name) / "profiler.json"
    export_trace(profiler, path)
    _exported[profiler] = path
    weakref.finalize(profiler, folder.cleanup)
    return path
