"""``python -m gpuscope.dashboard.api.server [DIR] [--port 6970]`` is ``gpuscope serve``, with the same options."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gpuscope._native import main as _main

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a folder of runs until it is told to end; the exit code of the command.

    >>> ended = main(["--help"])
    >>> ended
    0
    """
    words = sys.argv[1:] if arguments is None else arguments
    return _main(["serve", *words])


if __name__ == "__main__":
    sys.exit(main())
