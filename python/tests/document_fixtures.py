"""What tests of the documents' blocks share; `pytest_plugins` of their files names this one."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import Block, all_blocks


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
