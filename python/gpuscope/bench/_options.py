"""Options of command lines that measure, and how their values are written."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gpuscope.bench.limits import LimitOptions, Limits


def sizes(text: str) -> list[int]:
    """Sizes with commas between them.

    >>> sizes("1,4")
    [1, 4]
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: use whole numbers above 0, such as 1,4")
    return found


def size(text: str) -> int:
    """One size.

    >>> size("64")
    64
    """
    found = sizes(text)
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"{text!r}: use one whole number")
    return found[0]


def flag(text: str) -> tuple[str, Any]:
    """A name and a value; numbers, true, false and null are what they are, anything else is text.

    >>> flag("tf32=true"), flag("driver=new")
    (('tf32', True), ('driver', 'new'))
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: use KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The options that say how long to measure."""
    usual = Limits()
    group = parser.add_argument_group("how long to measure")
    group.add_argument(
        "--warmup", type=int, metavar="N", help=f"calls before the clock runs [{usual.warmup}]"
    )
    group.add_argument(
        "--min-repeats", type=int, metavar="N", help=f"the fewest repeats [{usual.min_repeats}]"
    )
    group.add_argument("--max-repeats", type=int, metavar="N", help=f"the most repeats [{usual.max_repeats}]")
    group.add_argument(
        "--precision",
        type=float,
        metavar="PART",
        help=f"stop when the mean is known to this part of itself [{usual.precision}]",
    )
    group.add_argument(
        "--confidence", type=float, metavar="PART", help=f"how sure the interval is [{usual.confidence}]"
    )
    group.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        dest="time_limit_s",
        help=f"the longest for each configuration [{usual.time_limit_s:g}]",
    )


def limits_of(options: argparse.Namespace) -> LimitOptions:
    """Those that were given."""
    given: Any = {
        name: getattr(options, name)
        for name in LimitOptions.__annotations__
        if getattr(options, name) is not None
    }
    limits: LimitOptions = given
    return limits


def add_history(parser: argparse.ArgumentParser) -> None:
    """The options that say what becomes of the results later."""
    parser.add_argument("--db", metavar="DB", help="the database of the history, if not the usual one")
    parser.add_argument("--no-history", action="store_true", help="add nothing to the history")
