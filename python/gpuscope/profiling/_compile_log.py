"""torch.compile's structured log, switched on inside a running process.

Torch reads the environment variable ``TORCH_TRACE`` once, when it is imported, and then writes every record
of its logger ``torch.__trace`` through one handler, ``torch._logging._internal.LazyTraceHandler``, into a new
file in that folder. The logger is always on; records are made whenever it has a handler. To record from here
to there, a handler of our own is added for a while. Two things must be seen to:

- the handler that torch adds itself, when ``TORCH_TRACE`` is not set, takes itself off at the first record,
  while the logger walks over its handlers: ours would miss that record, so it steps aside first;
- file names are written once and are numbers from then on (``torch._logging.structured.INTERN_TABLE``): the
  table is emptied before, so that our log has the names, and after, so that a log of the user's has them
  again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

TORCH_TRACE = "TORCH_TRACE"


@contextmanager
def structured_log(folder: Path) -> Iterator[bool]:
    """Write torch.compile's log into ``folder`` for a while; gives whether this torch can.

    Logs that the program writes itself (``TORCH_TRACE``) go on beside it.
    """
    handler = _new_handler(folder)
    if handler is None:
        yield False
        return
    logger = logging.getLogger("torch.__trace")
    idle = [other for other in logger.handlers if getattr(other, "root_dir", folder) is None]
    for other in idle:
        logger.removeHandler(other)
    _forget_names()
    logger.addHandler(handler)
    try:
        yield True
    finally:
        logger.removeHandler(handler)
        handler.close()
        _forget_names()
        for other in idle:
            logger.addHandler(other)


def _new_handler(folder: Path) -> logging.Handler | None:
    # Private to torch, but the only door to the records; without it there is less to tell, which is no error.
    try:
        from torch._logging import _internal as internal

        handler: logging.Handler = internal.LazyTraceHandler(str(folder))
        handler.setFormatter(internal.TorchLogsFormatter(trace=True))
    except (ImportError, AttributeError, TypeError):
        return None
    return handler


def _forget_names() -> None:
    with suppress(ImportError, AttributeError):
        from torch._logging import structured

        structured.INTERN_TABLE.clear()


def environment(folder: Path) -> dict[str, str]:
    """The environment of a program whose torch is to log into ``folder``."""
    return {**os.environ, TORCH_TRACE: str(folder)}


def has_logs(folder: Path) -> bool:
    """Whether anything was compiled, and therefore logged."""
    return any(path.stat().st_size > 0 for path in folder.rglob("*.log"))


def read_logs(folder: Path) -> dict[str, Any]:
    """What the logs in ``folder`` say, as ``gpuscope compile --json`` has it under ``data``."""
    import gpuscope

    return dict(gpuscope.compile_log(folder).data)
