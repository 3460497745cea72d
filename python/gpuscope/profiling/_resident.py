"""How much memory this process occupies, as the operating system counts it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The resident set size of this process; 0 where the system does not tell.

    >>> resident_bytes() > 1_000_000
    True
    """
    if _STATM.exists():
        import resource

        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    try:
        psutil = importlib.import_module("psutil")
    except ImportError:
        return _peak_resident_bytes()
    return int(psutil.Process().memory_info().rss)


def _peak_resident_bytes() -> int:
    # Without /proc and psutil only the peak is to be had, and on Windows not even that.
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
