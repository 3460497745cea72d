"""Results on disk: whole at every moment, whatever ends the process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gpuscope.errors import InputError, UsageError


def write_json(value: Any, path: Path) -> Path:
    """Write JSON so that the file is either the old one or the new one, and never a part.

    The new text goes to a file of its own in the same folder, is forced to the disk, and takes the place of
    the old file in one step.
    """
    # What JSON cannot say, such as the dates of TOML, is said in words.
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        _settle(path.parent)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def _settle(folder: Path) -> None:
    # The new name is on the disk only when the folder is; not every system can be asked for that.
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


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
