"""Helpers for names of kernels and of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_OPENERS = {">": "<", ")": "("}


def shorten_name(name: str) -> str:
    """The name of an operator or kernel without template arguments, parameters and return type.

    Names of copies and memory sets say in parentheses what they copy, and stay whole.

    >>> shorten_name("void at::native::fill<4, float>(int, float*)")
    'at::native::fill'
    >>> shorten_name("Memcpy DtoH (Device -> Pinned)")
    'Memcpy DtoH (Device -> Pinned)'
    """
    if name.startswith(("Memcpy", "Memset")) or not any(opener in name for opener in _OPENERS.values()):
        return name
    kept: list[str] = []
    for character in name.replace("->", ""):
        opener = _OPENERS.get(character)
        if opener is None:
            kept.append(character)
            continue
        while kept and kept.pop() != opener:
            pass
    return "".join(kept).split(" ")[-1]


def flatten_column_names(df: pd.DataFrame) -> None:
    """Turn the columns ``(a, b)`` of a data frame into ``a_b``, in place."""
    if df.columns.nlevels > 1:
        df.columns = ["_".join(map(str, column)).rstrip("_") for column in df.columns]


def get_memory_kernel_type(name: str) -> str:
    """The kind of a copy or memory set, which its name begins with.

    >>> get_memory_kernel_type("Memcpy DtoH (Device -> Pinned)")
    'Memcpy DtoH'
    >>> get_memory_kernel_type("Memset (Device)")
    'Memset'
    """
    if name.startswith("Memset"):
        return "Memset"
    return name.split(" (", 1)[0] if name.startswith("Memcpy") else "Memcpy Unknown"
