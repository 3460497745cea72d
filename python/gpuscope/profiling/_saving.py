"""Writing an answer under any name in the format that was asked for."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope._files import write_text
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    from gpuscope import Answer


def format_of(path: Path, wanted: str | None, suffixes: Mapping[str, str]) -> str:
    """The format by name, or by the ending of the path if no name is given.

    >>> format_of(Path("x.html"), None, {"html": ".html", "json": ".json"})
    'html'
    >>> format_of(Path("x.dat"), "json", {"html": ".html", "json": ".json"})
    'json'
    """
    if wanted is not None:
        if wanted.lower() not in suffixes:
            raise UsageError(f"format {wanted!r} is not known; use one of {', '.join(suffixes)}")
        return wanted.lower()
    # The longest ending first: `.speedscope.json` is not `.json`.
    for name, suffix in sorted(suffixes.items(), key=lambda item: -len(item[1])):
        if path.name.lower().endswith(suffix):
            return name
    raise UsageError(
        f"{path}: the ending tells no format; use one of {', '.join(suffixes.values())}, or format="
    )


def save_answer(answer: Answer, path: Path, suffix: str, *, private: bool = False) -> Path:
    """Write ``answer`` to ``path`` in the format that ``suffix`` stands for, whatever the path ends in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.lower().endswith(suffix) and not private:
        answer.save(path)
        return path
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".gpuscope-") as folder:
        written = Path(folder) / f"answer{suffix}"
        answer.save(written)
        take_place(written, path, private=private)
    return path


def take_place(written: Path, path: Path, *, private: bool) -> None:
    """Put a file that is whole in the place of another, whose mode stays; a new private file is its user's alone."""
    if path.is_file() and not path.is_symlink():
        written.chmod(path.stat().st_mode & 0o777)
    elif private:
        written.chmod(0o600)
    written.replace(path)


def save_text(text: str, path: Path, *, private: bool = False) -> Path:
    """Write ``text``, making folders on the way."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text, private=private)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def check_place(path: Path) -> None:
    """Refuse a path that cannot be written to, before the work is done that would be lost."""
    if path.is_dir() or not path.name:
        raise UsageError(f"{path}: is a folder; name a file in it")
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        raise UsageError(f"{path}: cannot be written: {existing} is no folder that can be written to")


def print_or_save_json(value: Any, path: Path | None, *, private: bool = False) -> None:
    """Write ``value`` as JSON to the file, or to standard output if there is none."""
    if path is None:
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        save_json(value, path, private=private)


def save_json(value: Any, path: Path, *, private: bool = False) -> Path:
    """Write ``value`` as JSON that people can read, too."""
    return save_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path, private=private)
