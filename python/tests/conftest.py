"""What several test files need: the corpus of real traces, where there is one, and simulated traces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gpuscope


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real traces; without it the test is skipped, and says so."""
    folder = os.environ.get("GPUSCOPE_CORPUS")
    if not folder:
        pytest.skip("CORPUS TESTS SKIPPED: GPUSCOPE_CORPUS is not set")
    return Path(folder) / "traces"


@pytest.fixture(scope="session")
def oracle(corpus: Path) -> Path:
    """The folder of right answers for the corpus."""
    return corpus.parent / "oracle"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated job of two ranks with planted faults."""
    folder = tmp_path_factory.mktemp("demo")
    gpuscope.demo(folder, ranks=2, bytes=2_000_000)
    return folder
