"""The memory timeline that torch.profiler exports in raw form, as a figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ._figures import show

if TYPE_CHECKING:
    from gpuscope import Answer


class MemoryAnalysis:
    """How much memory was taken over time, by category.

    The file is what ``torch.profiler.profile.export_memory_timeline("memory.raw.json.gz")`` writes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Name the file; it is read when it is asked about."""
        self.path = str(Path(path).expanduser())

    def answer(self) -> Answer:
        """Peak, when it was, and what it consisted of."""
        import gpuscope

        return gpuscope.open(self.path).memory()

    def plot_memory_timeline(self, save_graph: bool = False) -> None:
        """Show the memory of each category over time, or save it as ``images/memory_plot.png``."""
        answer = self.answer()
        if not save_graph:
            show(answer.figures)
            return
        folder = Path("images")
        folder.mkdir(exist_ok=True)
        answer.save(str(folder / "memory_plot.png"))
