"""What gpuscope raises: one tree, so that `except GpuscopeError` catches everything it says no to."""

from __future__ import annotations

__all__ = ["GpuscopeError", "InputError", "InternalError", "MissingDependency", "NoSuchName", "UsageError"]


class GpuscopeError(Exception):
    """The base of all errors of this package."""


class UsageError(GpuscopeError, ValueError):
    """The request was wrong: an argument, a rank that is not there, a file that cannot be written."""


class NoSuchName(GpuscopeError, KeyError):
    """A rank, a table or a column was asked for that is not there; the message says which are."""

    def __str__(self) -> str:
        """Say it as other errors do: a KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class InputError(GpuscopeError, OSError, ValueError):
    """A trace could not be read; the message names the file, the place and what was expected there.

    It is what Python raises for files that cannot be read, and for content that is not what it should be.
    """


class MissingDependency(GpuscopeError, ImportError):
    """A library that is only needed for what was asked is not installed."""


class InternalError(GpuscopeError, RuntimeError):
    """A bug in gpuscope."""
