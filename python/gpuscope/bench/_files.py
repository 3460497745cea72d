"""Results on disk: whole at every moment, whatever ends the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpuscope._files import write_text
from gpuscope.errors import InputError, UsageError


def write_json(value: Any, path: Path) -> Path:
    """Write JSON so that the file is either the old one or the new one, and never a part."""
    # What JSON cannot say, such as the dates of TOML, is said in words.
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def read_results(path: Path, parts: tuple[str, ...]) -> dict[str, Any]:
    """Read a file of results, which has these parts."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: this is no JSON: {error}") from error
    for part in parts:
        if not isinstance(value, dict) or not isinstance(value.get(part), dict):
            raise InputError(f'{path}: expected an object with "{part}"; is this a file of bench results?')
    results: dict[str, Any] = value
    return results
