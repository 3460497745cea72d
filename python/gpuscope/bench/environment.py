"""Where and with what a benchmark ran: the ``metadata`` of profiling_data.json.

Nothing here may end a run: what cannot be found out is ``None``. Libraries are asked only if the benchmark has
loaded them; a benchmark of whole programs asks ``nvidia-smi`` instead, if that is installed.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import gpuscope
from gpuscope.bench.clocks import cupy_sees_gpu, loaded, torch_sees_gpu

__all__ = ["describe"]

_CPU_INFO = Path("/proc/cpuinfo")
_ANSWER_WITHIN_S = 10.0

Found = TypeVar("Found")


def describe(
    folder: Path | None = None, *, flags: Mapping[str, Any] | None = None, programs: bool = False
) -> dict[str, Any]:
    """Everything that is worth knowing about this machine and this moment, with a new ``run_id``.

    Args:
        folder: Whose git commit counts; the current folder unless told.
        flags: What the user has to say about the run; stands beside torch's own flags.
        programs: Whether other processes are measured, so that this one's libraries say nothing about the GPU.
    """
    torch, cupy = loaded("torch"), loaded("cupy")
    commit = _run("git", "-C", str(folder or "."), "rev-parse", "HEAD")
    # What is not under version control is left out: results themselves usually are not.
    changes = _run("git", "-C", str(folder or "."), "status", "--porcelain", "--untracked-files=no")
    return {
        # The time of this place without its zone, as people read it.
        "timestamp": datetime.now().isoformat(timespec="microseconds"),
        **_device(torch, cupy, programs),
        "cuda_version": _tried(lambda: _cuda_version(torch, cupy)),
        "hip_version": _tried(lambda: torch.version.hip),
        "cupy_version": _tried(lambda: str(cupy.__version__)),
        "torch_version": _tried(lambda: str(torch.__version__)),
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node() or None,
        "git_commit": commit,
        "git_dirty": None if commit is None or changes is None else bool(changes),
        "flags": {**_flags(torch), **(flags or {})},
        "gpuscope_version": gpuscope.__version__,
        "run_id": uuid.uuid4().hex,
    }


def _tried(ask: Callable[[], Found]) -> Found | None:
    try:
        return ask()
    except Exception:
        return None


def _run(*command: str) -> str | None:
    """What a command prints; ``None`` if it is not there, fails or does not come to an end."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _device(torch: Any, cupy: Any, programs: bool) -> dict[str, Any]:
    found: dict[str, Any] | None = None
    if torch is not None and torch_sees_gpu(torch):
        found = _tried(lambda: _torch_device(torch))
    elif cupy is not None and cupy_sees_gpu(cupy):
        found = _tried(lambda: _cupy_device(cupy))
    elif programs:
        found = _smi_device()
    if found is None:
        return {"gpu_name": _cpu_name(), "device": "cpu", "compute_capability": None, "driver_version": None}
    return {**found, "driver_version": _driver_version(found["device"])}


def _torch_device(torch: Any) -> dict[str, Any]:
    name, hip = str(torch.cuda.get_device_name()), torch.version.hip
    major, minor = torch.cuda.get_device_capability()
    # AMD's architectures have names; the pair of numbers is only torch's way to look like CUDA.
    architecture = _tried(lambda: str(torch.cuda.get_device_properties(0).gcnArchName)) if hip else None
    return {
        "gpu_name": name,
        "device": "rocm" if hip else "cuda",
        "compute_capability": architecture or f"{major}.{minor}",
    }


def _cupy_device(cupy: Any) -> dict[str, Any]:
    device = cupy.cuda.Device()
    name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"]
    capability = str(device.compute_capability)
    return {
        "gpu_name": name.decode() if isinstance(name, bytes) else str(name),
        "device": "rocm" if getattr(cupy.cuda.runtime, "is_hip", False) else "cuda",
        # CuPy writes 12.1 as 121.
        "compute_capability": f"{capability[:-1]}.{capability[-1]}" if capability.isdigit() else capability,
    }


def _smi_device() -> dict[str, Any] | None:
    line = _smi("name,compute_cap")
    if line is None:
        return None
    name, _, capability = line.rpartition(", ")
    return {"gpu_name": name, "device": "cuda", "compute_capability": capability}


def _smi(what: str) -> str | None:
    lines = (_run("nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader") or "").splitlines()
    return lines[0].strip() if lines else None


def _driver_version(device: str) -> str | None:
    if device == "cuda":
        return _smi("driver_version")
    return _tried(lambda: Path("/sys/module/amdgpu/version").read_text().strip())


def _cpu_name() -> str:
    """The model's name, for which Python itself has only the architecture on Linux."""
    for line in (_tried(_CPU_INFO.read_text) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


def _cuda_version(torch: Any, cupy: Any) -> str | None:
    """13000 for CUDA 13.0 where the runtime says its number, else as torch writes it; ``None`` without a GPU."""
    if cupy is not None and cupy_sees_gpu(cupy):
        return str(cupy.cuda.runtime.runtimeGetVersion())
    if torch is None or not torch_sees_gpu(torch) or torch.version.cuda is None:
        return None
    number = _tried(lambda: int(torch._C._cuda_getCompiledVersion()))
    return str(number or torch.version.cuda)


def _flags(torch: Any) -> dict[str, Any]:
    if torch is None:
        return {}
    return {
        # TF32 is what torch uses when it need not keep to the highest precision.
        "tf32": _tried(lambda: torch.get_float32_matmul_precision() != "highest"),
        "cudnn.benchmark": _tried(lambda: bool(torch.backends.cudnn.benchmark)),
        "deterministic": _tried(lambda: bool(torch.are_deterministic_algorithms_enabled())),
        "num_threads": _tried(lambda: int(torch.get_num_threads())),
    }
