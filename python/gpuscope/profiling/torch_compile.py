"""What torch.compile makes of a model: speed, compile time, graph breaks, recompilations, fusion.

>>> from gpuscope.profiling.torch_compile import TorchCompileAnalyzer
>>> TorchCompileAnalyzer(backend="inductor", mode="default").mode
'default'

What was compiled comes from torch's own structured log, the one that ``TORCH_TRACE=folder`` writes and
``gpuscope compile folder`` reads; it is switched on for the time of the analysis (``_compile_log``). Where a
release of torch has no such log, ``torch._dynamo.explain`` and inductor's counters take its place, and the
report says so.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling import _compile_log
from gpuscope.profiling._compile_report import CompileBreak, CompileReport, Recompile
from gpuscope.profiling._compile_timing import Call, Timing, check_counts, largest_difference, timed
from gpuscope.profiling._saving import format_of, save_answer, save_json, save_text
from gpuscope.profiling._torch import accelerator, need_torch

if TYPE_CHECKING:
    from os import PathLike

    from gpuscope import Answer

__all__ = [
    "CompileBreak",
    "CompileError",
    "CompileReport",
    "Recompile",
    "Recording",
    "TorchCompileAnalyzer",
    "record",
    "run_script",
]

DEFAULT_MODES = ("default", "reduce-overhead", "max-autotune")
_SUFFIXES = {"html": ".html", "json": ".json", "md": ".md"}


class TorchCompileAnalyzer:
    """Compares a model with itself under ``torch.compile``.

    With ``fresh_cache`` nothing is taken from inductor's caches of earlier runs, so that compile times are
    those of a first run; without it, the report notes how many graphs came out of a cache. The model is
    called in the grad mode that is on at the time of the analysis; nothing is run backward. What torch has
    compiled before in this process is forgotten (``torch._dynamo.reset()``).
    """

    def __init__(
        self, backend: str = "inductor", mode: str = "default", *, fresh_cache: bool = False
    ) -> None:
        """Remember how to compile."""
        self.backend = backend
        self.mode = mode
        self.fresh_cache = fresh_cache

    def analyze(
        self, model: Callable[..., Any], sample_input: Any, warmup: int = 3, iterations: int = 10
    ) -> CompileReport:
        """Time the model eager and compiled on the same input, and say what the compiler did.

        ``sample_input`` is the only argument, a tuple of positional arguments, or a dictionary of arguments
        by name. Times are medians of ``iterations`` calls after ``warmup`` others, each waited for.
        """
        torch = self._torch(warmup, iterations)
        # Wrong names are said before anything runs.
        compiled = _compile(torch, model, self.backend, self.mode)
        call = Call.of(sample_input)
        eager = timed(torch, model, call, warmup, iterations)
        return self._compiled(torch, (model, compiled), call, self.mode, eager, (warmup, iterations))

    def compare_modes(
        self,
        model: Callable[..., Any],
        sample_input: Any,
        modes: Iterable[str] = DEFAULT_MODES,
        warmup: int = 3,
        iterations: int = 10,
    ) -> dict[str, CompileReport]:
        """Analyse the model in each mode; where compiling fails, the report has an ``error``."""
        torch = self._torch(warmup, iterations)
        compiled = {mode: _compile(torch, model, self.backend, mode) for mode in modes}
        call = Call.of(sample_input)
        eager = timed(torch, model, call, warmup, iterations)
        reports: dict[str, CompileReport] = {}
        for mode in compiled:
            pair = (model, compiled[mode])
            try:
                reports[mode] = self._compiled(torch, pair, call, mode, eager, (warmup, iterations))
            except CompileError as error:
                reports[mode] = CompileReport(
                    backend=self.backend,
                    mode=mode,
                    eager_time_ms=eager.median_ms,
                    torch_version=str(torch.__version__),
                    error=str(error),
                )
        return reports

    def export_report(
        self, report: CompileReport, path: str | PathLike[str], format: str | None = None
    ) -> Path:
        """Write a report as ``html``, ``json`` or ``md``; without a format, the path's ending decides."""
        target = Path(path)
        match format_of(target, format, _SUFFIXES):
            case "json":
                return save_json(report.to_dict(), target)
            case "md":
                return save_text(report.to_markdown(), target)
            case _:
                return save_text(report.to_html(), target)

    def _torch(self, warmup: int, iterations: int) -> Any:
        check_counts(warmup, iterations)
        torch = need_torch("TorchCompileAnalyzer")
        if not hasattr(torch, "compile"):
            raise UsageError(f"torch {torch.__version__} has no torch.compile; it came with torch 2.0")
        return torch

    def _compiled(
        self,
        torch: Any,
        models: tuple[Callable[..., Any], Callable[..., Any]],
        call: Call,
        mode: str,
        eager: Timing,
        counts: tuple[int, int],
    ) -> CompileReport:
        model, compiled = models
        _reset(torch)
        with tempfile.TemporaryDirectory(prefix="gpuscope-compile-") as name, _cache(self.fresh_cache):
            folder = Path(name)
            with _compile_log.structured_log(folder):
                try:
                    timing = timed(torch, compiled, call, *counts)
                except Exception as error:
                    # The same call went well without the compiler.
                    raise CompileError(self.backend, mode, error) from error
            report = _report(folder, torch, model, call, self.backend)
        _reset(torch)
        report.backend, report.mode = self.backend, mode
        report.device = accelerator(torch).name if accelerator(torch).is_gpu else "cpu"
        report.torch_version = str(torch.__version__)
        report.eager_time_ms, report.compiled_time_ms = eager.median_ms, timing.median_ms
        report.first_call_ms = timing.first_ms
        report.speedup = eager.median_ms / max(timing.median_ms, 1e-9)
        if report.compile_time_ms != report.compile_time_ms:
            report.compile_time_ms = max(0.0, timing.first_ms - timing.median_ms)
        _compare(torch, eager, timing, report)
        return report


class CompileError(GpuscopeError, RuntimeError):
    """A model that runs could not be compiled."""

    def __init__(self, backend: str, mode: str, cause: BaseException) -> None:
        """Say what was tried and how it ended."""
        # What follows the first paragraph is how to report it.
        paragraph = str(cause).strip().split("\n\n")[0]
        reason = " ".join(paragraph.split()) or "no reason is given"
        super().__init__(
            f"torch.compile(backend={backend!r}, mode={mode!r}) failed with {type(cause).__name__}: {reason}; "
            "the model itself runs, so try another backend or mode; the traceback has the cause"
        )


def _compile(torch: Any, model: Callable[..., Any], backend: str, mode: str) -> Callable[..., Any]:
    try:
        # Only inductor knows modes; others would be handed an option they do not take.
        options = {"mode": mode} if backend == "inductor" else {}
        compiled: Callable[..., Any] = torch.compile(model, backend=backend, **options)
    except Exception as error:
        raise UsageError(
            f"torch.compile(backend={backend!r}, mode={mode!r}): {error}; "
            f"backends are {', '.join(_backends(torch))}, modes {', '.join(DEFAULT_MODES)}"
        ) from error
    if backend != "inductor" and mode != "default":
        raise UsageError(f"mode={mode!r}: only the backend inductor has modes, not {backend!r}")
    return compiled


def _backends(torch: Any) -> list[str]:
    try:
        return sorted({"inductor", *map(str, torch.compiler.list_backends())})
    except AttributeError:
        return ["inductor"]


def _reset(torch: Any) -> None:
    torch._dynamo.reset()
    # Modules hold on to what was compiled for them until they are collected.
    gc.collect()


@contextmanager
def _cache(fresh: bool) -> Iterator[None]:
    with _fresh_cache() if fresh else nullcontext():
        yield


def _fresh_cache() -> Any:
    from torch._inductor import utils

    fresh = getattr(utils, "fresh_cache", None) or getattr(utils, "fresh_inductor_cache", None)
    if fresh is None:
        raise UsageError("fresh_cache=True: this torch cannot set its caches aside; leave it out")
    return fresh()


def _report(folder: Path, torch: Any, model: Callable[..., Any], call: Call, backend: str) -> CompileReport:
    if _compile_log.has_logs(folder):
        return of_log(_compile_log.read_logs(folder), backend)
    from gpuscope.profiling._compile_fallback import explained

    return explained(torch, model, call)


def of_log(data: dict[str, Any], backend: str) -> CompileReport:
    """What a log says of a model, without times of running it."""
    phases: dict[str, float] = {}
    for row in data["phases"]:
        phases[row["phase"]] = phases.get(row["phase"], 0.0) + row["time_ns"] / 1e6
    report = CompileReport(
        compile_time_ms=data["compile_time_ns"] / 1e6,
        graph_breaks=[CompileBreak.of(row) for row in data["breaks"]],
        recommendations=list(data["recommendations"]),
        recompiles=[Recompile.of(row) for row in data["recompiles"]],
        frames=len(data["frames"]),
        phases_ms=phases,
        cache_hits=sum(rank["cache_hits"] for rank in data["ranks"]),
        cache_misses=sum(rank["cache_misses"] for rank in data["ranks"]),
    )
    if data["fusion_ratio"] is not None:
        report.ops_before_fusion = data["ops_before_fusion"]
        report.ops_after_fusion = data["ops_after_fusion"]
        report.fusion_ratio = data["fusion_ratio"]
    elif backend != "inductor":
        operators = sum(frame["ops_captured"] for frame in data["frames"])
        report.ops_before_fusion = report.ops_after_fusion = operators
        report.fusion_ratio = 1.0
        report.notes.append(f"the backend {backend} writes no kernels: operators run as they are")
    else:
        report.notes.append("no kernels were written that could be counted: the fusion ratio is not known")
    if report.cache_hits:
        report.notes.append(
            f"{report.cache_hits} graphs came out of a cache: compiling for the first time takes longer "
            "(fresh_cache=True measures it)"
        )
    return report


def _compare(torch: Any, eager: Timing, compiled: Timing, report: CompileReport) -> None:
    report.outputs_match, report.max_difference = largest_difference(torch, eager.result, compiled.result)
    if not report.outputs_match:
        report.notes.append(
            f"the compiled model's outputs differ from the eager ones by up to {report.max_difference:.3g}: "
            "dropout and other randomness do that, as does a mistake; check in eval mode"
        )
    if report.speedup < 1.0:
        report.recommendations.append(
            f"Compiled, the model is slower ({report.compiled_time_ms:.3f} ms instead of "
            f"{report.eager_time_ms:.3f} ms): "
            "it may be too small for the calls around it to pay, or broken into too many graphs."
        )


@dataclass(frozen=True)
class Recording:
    """A program that was run while torch.compile logged."""

    exit_code: int
    answer: Answer | None
    """What was compiled; ``None`` if nothing was."""


def record(
    script: str | PathLike[str], args: Sequence[str] = (), *, quiet: bool = False, folder: Path | None = None
) -> Recording:
    """Run a Python program unchanged, with its own arguments, and say what torch.compile did in it.

    The program runs in a process of its own, as torch looks at ``TORCH_TRACE`` when it is imported; every
    process that it starts logs too, and is a rank of the answer. The logs go to ``folder``, else they are
    removed together with the answer. With ``quiet`` the program's output goes to standard error.
    """
    import gpuscope

    temporary = tempfile.TemporaryDirectory(prefix="gpuscope-compile-")
    logs = folder or Path(temporary.name)
    sys.stdout.flush()
    ended = subprocess.run(
        [sys.executable, str(script), *args],
        env=_compile_log.environment(logs),
        stdout=sys.stderr.fileno() if quiet else None,
        check=False,
    )
    answer = gpuscope.compile_log(logs) if _compile_log.has_logs(logs) else None
    if answer is None:
        temporary.cleanup()
    else:
        # It looks into the logs again when it is shown or saved.
        weakref.finalize(answer, temporary.cleanup)
    return Recording(ended.returncode, answer)


def run_script(argv: Sequence[str], output: str | PathLike[str] | None = None, as_json: bool = False) -> int:
    """Run a program, show or write what was compiled in it, and give its exit code.

    This is ``python -m gpuscope.profiling compile SCRIPT.py [ARGS]``.
    """
    if not argv:
        raise UsageError("compile: name the program to run, SCRIPT.py [ARGS ...]")
    recording = record(argv[0], list(argv[1:]), quiet=as_json and output is None)
    answer = recording.answer
    if answer is None:
        print(
            f"{argv[0]}: torch compiled nothing in it; is torch.compile called, and the result?",
            file=sys.stderr,
        )
        return recording.exit_code or 1
    if as_json:
        envelope = {
            "command": "compile",
            "inputs": answer.inputs,
            "quality": answer.quality,
            "data": answer.data,
        }
        _write_json(envelope, output)
    elif output is not None:
        target = Path(output)
        if target.is_dir() or not target.suffix:
            answer.save(output)
        else:
            save_answer(answer, target, target.suffix.lower(), private=True)
    else:
        print(answer)
    return recording.exit_code


def _write_json(value: Any, output: str | PathLike[str] | None) -> None:
    if output is not None:
        save_json(value, Path(output), private=True)
        return
    import json

    print(json.dumps(value, ensure_ascii=False))
