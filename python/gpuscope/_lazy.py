"""Libraries that are imported when somebody asks for what needs them, and not before."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from gpuscope.errors import MissingDependency

#: The extra of the package that brings a library, where it has another name.
_EXTRAS = {"pyarrow": "arrow", "plotly": "plot", "plotly.graph_objects": "plot", "plotly.io": "plot"}


def need(library: str, what_for: str) -> ModuleType:
    """Import a library, or say what needs it and how to get it.

    >>> need("json", "this example").dumps([1])
    '[1]'
    >>> need("no_such_library", "this example")
    Traceback (most recent call last):
    ...
    gpuscope.errors.MissingDependency: this example needs no_such_library: pip install 'gpuscope[no_such_library]'
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        extra = _EXTRAS.get(library, library.partition(".")[0])
        name = library.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != name:
            raise
        raise MissingDependency(f"{what_for} needs {name}: pip install 'gpuscope[{extra}]'") from error


def attributes(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names live in submodules that are imported when asked for.

    >>> found, _ = attributes("json", {"JSONDecoder": "decoder"})
    >>> found("JSONDecoder").__name__
    'JSONDecoder'
    """

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{home}"), name)
        # Found at once from now on.
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__
