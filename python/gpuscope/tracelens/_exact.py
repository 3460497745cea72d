"""How a time in microseconds becomes whole nanoseconds without losing any.

Traces give times in microseconds with three decimals. A float holds such a time exactly enough up to about
8.8e12 µs (three months of uptime); times counted from 1970 (1.7e15 µs) do not fit. Files read here keep the
text of each number beside its float, so that nothing is lost whatever the clock counts from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from gpuscope.errors import UsageError


class DecimalFloat(float):
    """A float that remembers the decimal text it was read from.

    >>> time = DecimalFloat("1712195495502097.231")
    >>> float(time)  # a float alone has lost the nanoseconds
    1712195495502097.2
    >>> to_ns(time)
    1712195495502097231
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> DecimalFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float's has the number, which has lost digits
        return (self.text,)

    @classmethod
    def from_ns(cls, nanoseconds: int) -> DecimalFloat:
        """The microseconds that so many nanoseconds are.

        >>> DecimalFloat.from_ns(-1_500).text
        '-1.500'
        """
        whole, rest = divmod(abs(nanoseconds), 1000)
        return cls(f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:03}")


def loads(text: str | bytes) -> Any:
    """Parses JSON as :func:`json.loads` does, with floats that keep their text."""
    return json.loads(text, parse_float=DecimalFloat)


def event_json(event: Mapping[str, Any]) -> str:
    """An event as JSON whose times have all the digits they were read with.

    >>> event_json({"name": "gemm", "ts": DecimalFloat("1712195495502097.231")})
    '{"ts":1712195495502097.231,"name":"gemm"}'
    """
    exact = {key for key in ("ts", "dur") if isinstance(event.get(key), DecimalFloat)}
    times = [f'"{key}":{event[key].text}' for key in sorted(exact, reverse=True)]
    others = {key: value for key, value in event.items() if key not in exact}
    rest = json.dumps(others, ensure_ascii=False, separators=(",", ":"), default=_plain)[1:-1]
    return "{" + ",".join([*times, rest] if rest else times) + "}"


def to_ns(microseconds: Any) -> int:
    """Whole nanoseconds of a time in microseconds, rounded to the nearest.

    >>> to_ns(12), to_ns(0.0015), to_ns("4000000000000.123"), to_ns(4000000000000.123)
    (12000, 2, 4000000000000123, 4000000000000123)
    """
    if isinstance(microseconds, DecimalFloat):
        return _decimal_to_ns(microseconds.text)
    if isinstance(microseconds, int):
        return microseconds * 1000
    if isinstance(microseconds, float) and math.isfinite(microseconds):
        # Scaling only what follows the point keeps all digits that the float has.
        whole = math.floor(microseconds)
        return whole * 1000 + math.floor((microseconds - whole) * 1000 + 0.5)
    if isinstance(microseconds, (str, Decimal)):
        return _decimal_to_ns(microseconds)
    unwrapped = getattr(microseconds, "item", None)  # of the scalars of numpy
    if unwrapped is not None:
        return to_ns(unwrapped())
    raise UsageError(f"{microseconds!r} is no time: expected a number of microseconds")


def _plain(value: Any) -> Any:
    """Give the scalars and arrays of numpy as Python's own, and anything else as its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _decimal_to_ns(text: str | Decimal) -> int:
    try:
        return int(Decimal(text).scaleb(3).to_integral_value(ROUND_HALF_UP))
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"{str(text)!r} is no time: expected a number of microseconds") from None
