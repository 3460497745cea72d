"""In which unit is an amount read most easily? One unit for all values of an axis."""

from __future__ import annotations

from typing import NamedTuple


class Unit(NamedTuple):
    """Values are divided by the divisor to be shown with the name."""

    name: str
    divisor: float

    def heading(self, label: str) -> str:
        """The title of an axis.

        >>> Unit("ms", 1e6).heading("time")
        'time (ms)'
        """
        return f"{label} ({self.name})"


TIMES = (Unit("ns", 1.0), Unit("µs", 1e3), Unit("ms", 1e6), Unit("s", 1e9))
BYTES = (
    Unit("B", 1.0),
    Unit("KiB", 2.0**10),
    Unit("MiB", 2.0**20),
    Unit("GiB", 2.0**30),
    Unit("TiB", 2.0**40),
)
RATES = (Unit("MFLOP/s", 1e6), Unit("GFLOP/s", 1e9), Unit("TFLOP/s", 1e12))


def unit_for(largest: float, units: tuple[Unit, ...]) -> Unit:
    """The largest unit in which the largest value is at least one.

    >>> [unit_for(ns, TIMES).name for ns in (0, 999, 1_000, 2_500_000, 3e9)]
    ['ns', 'ns', 'µs', 'ms', 's']
    """
    fitting = [unit for unit in units if abs(largest) >= unit.divisor]
    return fitting[-1] if fitting else units[0]


def in_words(amount: float, units: tuple[Unit, ...]) -> str:
    """An amount with four digits, in a unit of its own.

    >>> in_words(1_234_567, TIMES), in_words(80, TIMES), in_words(4096, BYTES)
    ('1.235 ms', '80 ns', '4 KiB')
    """
    unit = unit_for(amount, units)
    return f"{amount / unit.divisor:.4g} {unit.name}"
