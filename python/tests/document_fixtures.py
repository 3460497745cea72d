"""What tests of the documents' blocks share; `pytest_plugins` of their files names this one."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cupti_stand_in import StandIn
from documents import Block, all_blocks

from gpuscope.cupti import registry


@pytest.fixture
def block(request: pytest.FixtureRequest) -> Block:
    """The block that a test asks for."""
    return all_blocks()[request.param]


@pytest.fixture
def place(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that blocks run in, with the trace of a GPU, and one of each rank of a job."""
    packed = corpus / "h100_bert_small.json.gz"
    (tmp_path / "trace.json").write_bytes(gzip.decompress(packed.read_bytes()))
    shutil.copytree(corpus / "two_ranks", tmp_path / "traces")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shown() -> Iterator[list[dict[str, Any]]]:
    """All figures that plotly shows, by a renderer that keeps them."""
    import plotly.io as pio
    from plotly.io.base_renderers import ExternalRenderer

    kept: list[dict[str, Any]] = []

    class Keeping(ExternalRenderer):  # type: ignore[misc]  # plotly has no types.
        def render(self, fig_dict: dict[str, Any]) -> None:
            kept.append(fig_dict)

    pio.renderers["kept"] = Keeping()
    before, pio.renderers.default = pio.renderers.default, "kept"
    yield kept
    pio.renderers.default = before


class WorkingGpu(StandIn):
    """While it is looked at, it copies once and runs a kernel twice."""

    def activity_flush_all(self, flag: int) -> None:
        self.run_copy(4096, 500, 900)
        self.run_kernel("gemm", 1_000, 2_000)
        self.run_kernel("gemm", 3_000, 5_000)
        super().activity_flush_all(flag)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A GPU with CUPTI, as far as gpuscope can tell."""
    gpu = WorkingGpu()
    monkeypatch.setattr(registry, "_registry", None)
    monkeypatch.setattr(registry, "load_cupti", lambda: gpu)
    return gpu


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The figures that the functions of `gpuscope.plots` give, which the blocks pass over."""
    from gpuscope import plots

    figures: dict[str, Any] = {}

    def keeping(name: str, draw: Any) -> Any:
        def kept(*args: Any, **options: Any) -> Any:
            figures[name] = draw(*args, **options)
            return figures[name]

        return kept

    for name in plots.__all__:
        if name.startswith("plot_"):
            monkeypatch.setattr(plots, name, keeping(name, getattr(plots, name)))
    return figures
