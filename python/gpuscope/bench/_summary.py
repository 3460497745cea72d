"""What repeated measurements say together; worked out by the native module, as everywhere in gpuscope."""

from __future__ import annotations

from collections.abc import Sequence

from gpuscope import _native


def summarize(samples: Sequence[float], confidence: float) -> dict[str, float]:
    """Mean, spread, percentiles and the confidence interval of the mean, in the unit of the samples."""
    return _native.summarize(samples, confidence)
