"""What is no question to a run: simulated traces, the list of charts, logs of torch.compile."""

from __future__ import annotations

import os

from gpuscope import _native
from gpuscope._flags import flags
from gpuscope.answer import Answer
from gpuscope.run import Run, open

__all__ = ["charts", "compile_log", "demo"]


def demo(
    folder: str | os.PathLike[str] = "gpuscope-demo", *, ranks: int | None = None, bytes: int | None = None
) -> Run:
    """Write the traces of a simulated job with planted faults into a folder, and open them.

    Args:
        folder: Where to; made if it is not there.
        ranks: How many, eight unless told.
        bytes: About how large each rank's trace is.
    """
    words = ["demo", *flags(output=folder, ranks=ranks, bytes=bytes), "--only-write"]
    _command(words)
    return open(folder)


def charts() -> dict[str, str]:
    """The charts that `run.plot(name)` draws, and what each shows."""
    lines = _command(["plot", "--list"]).splitlines()
    return {name: shows.strip() for name, _, shows in (line.partition(" ") for line in lines)}


def compile_log(path: str | os.PathLike[str]) -> Answer:
    """What torch.compile did, from its structured log (`TORCH_TRACE=folder`): graphs, breaks, recompiles, fusion."""
    name = os.fspath(path)
    return Answer(_native.Traces.of_text(b"[]", "compile", []), ["compile", name])


def _command(words: list[str]) -> str:
    """What a command prints that reads no traces."""
    text, _ = _native.Traces.of_text(b"[]", "nothing", []).text(words)
    return text
