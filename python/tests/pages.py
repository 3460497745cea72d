"""The pages on the Python package, and the blocks of code in them.

A block of `text` below one of `python` is what that one prints; a line `…` stands for any lines. Blocks that import
torch are run by the tests in `live`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from documents import Block, blocks_in

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/python.md", "docs/migrating.md")


def text_of(page: str) -> str:
    """The page."""
    return (ROOT / page).read_text(encoding="utf-8")


def programs(page: str, *, with_torch: bool) -> Iterator[tuple[Block, str | None]]:
    """The blocks of Python of a page that do or do not import torch, each with what it prints, if that is shown."""
    found = list(blocks_in(page, text_of(page)))
    for number, block in enumerate(found):
        if block.language != "python" or needs_torch(block) != with_torch:
            continue
        below = found[number + 1] if number + 1 < len(found) else None
        yield block, below.text if below is not None and below.language == "text" else None


def needs_torch(block: Block) -> bool:
    """Whether it imports torch."""
    return re.search(r"^(import|from) torch\b", block.text, re.MULTILINE) is not None


def prints(shown: str, printed: str) -> bool:
    """Whether this was printed, any lines in the place of `…`; spaces that do not break are spaces.

    >>> prints("a\\n…\\nd\\n", "a\\nb\\nc\\nd\\n"), prints("a\\n", "b\\n")
    (True, False)
    """
    lines = [
        r"(?:.*\n)*" if line == "…" else re.escape(line) + r" *\n" for line in shown.strip().splitlines()
    ]
    return re.fullmatch("".join(lines), printed.strip().replace("\u202f", " ") + "\n") is not None
