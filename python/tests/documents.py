"""The documents that say what people want to write, and the blocks of code in them.

They lie beside the corpus. What they show is run as it stands there, but for the names of packages: the
documents speak of the packages that gpuscope takes the place of.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

#: What the documents import, and what gpuscope has in its place.
NAMES = {
    r"experiments\.flops\.plots": "gpuscope.plots",
    r"experiments\.thru_com\.main": "gpuscope.cupti",
    r"core\.profiling": "gpuscope.profiling",
    r"TraceLens(?= import)": "gpuscope.tracelens",
    r"\bhta\.trace_analysis": "gpuscope.hta.trace_analysis",
    r"(?<=from )visualize_performance(?= import)": "gpuscope.visualize_performance",
    r"uv run python (visualize_\w+)\.py": r"python -m gpuscope.\1",
}

_QUOTED = re.compile(r'"([\d.]+)"')
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(
    r"^\.\. code-block:: (?P<language>\w+)\n\n(?P<text>(?:[ \t]+.*\n|\s*\n)+)", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """One block: the document's number and its place there, `003.2` is the second of document 003."""

    name: str
    language: str
    text: str

    @property
    def code(self) -> str:
        """What is run: the text with gpuscope's names."""
        return renamed(self.text)


def blocks(*names: str) -> pytest.MarkDecorator:
    """Run the test for each of these blocks, which it gets as `block`."""
    return pytest.mark.parametrize("block", names, indirect=True)


def folder() -> Path:
    """Where the documents are; without them the test is skipped, and says so."""
    corpus = os.environ.get("GPUSCOPE_CORPUS")
    if not corpus:
        pytest.skip("CORPUS TESTS SKIPPED: GPUSCOPE_CORPUS is not set")
    return Path(corpus) / "seeds"


def document(number: str) -> str:
    """The text of one document."""
    (path,) = folder().glob(f"{number}_*.txt")
    return path.read_text(encoding="utf-8")


@cache
def all_blocks() -> dict[str, Block]:
    """The blocks of all documents, by name."""
    numbers = sorted(path.name[:3] for path in folder().glob("[0-9]*.txt"))
    return {block.name: block for number in numbers for block in blocks_in(number, document(number))}


def blocks_in(number: str, text: str) -> Iterator[Block]:
    """The blocks of a text, in their order."""
    found = sorted([*_FENCE.finditer(text), *_DIRECTIVE.finditer(text)], key=lambda match: match.start())
    for place, match in enumerate(found, start=1):
        yield Block(f"{number}.{place}", match["language"], _without_margin(match["text"]))


def renamed(text: str) -> str:
    """The text with gpuscope's names in the place of the old ones.

    >>> renamed("from TraceLens import GPUEventAnalyser")
    'from gpuscope.tracelens import GPUEventAnalyser'
    """
    for old, new in NAMES.items():
        text = re.sub(old, new, text)
    return text


def tried() -> list[str]:
    """The blocks that tests ask for by `blocks`, in all files of tests, also in those that need torch."""
    marks = re.compile(r"^@blocks\((.*?)\)$", re.MULTILINE | re.DOTALL)
    files = Path(__file__).parent.rglob("test_documents*.py")
    return [
        name for file in files for mark in marks.findall(file.read_text()) for name in _QUOTED.findall(mark)
    ]


def run(block: Block, **names: Any) -> tuple[dict[str, Any], str]:
    """What the block leaves behind in these names, and what it prints, under gpuscope's names."""
    return run_code(block.code, block.name, **names)


def run_code(code: str, name: str, **names: Any) -> tuple[dict[str, Any], str]:
    """The same of any code."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, name, "exec", dont_inherit=True), names)
    return names, printed.getvalue()


def run_shell(block: Block, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run all commands of a block, up to the first that fails; `python` is this interpreter."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-e", "-c", block.code],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _without_margin(text: str) -> str:
    lines = text.rstrip().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines) + "\n"
