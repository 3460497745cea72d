"""Is this forward or backward?

What was recorded is believed. Where nothing was recorded, names that contain a marker are forward and all
others backward. Without markers, too, the first half is taken for forward, and the figure says that this is a
guess.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuscope.errors import UsageError

FORWARD = "forward"
BACKWARD = "backward"
RECOMPUTE = "recompute"
ALL = (FORWARD, BACKWARD, RECOMPUTE)

GUESSED = "forward and backward are guessed: the first half is taken for forward"

Markers = Sequence[str] | None


def phases_of(
    names: Sequence[str], recorded: Sequence[str | None], forward_markers: Markers
) -> tuple[list[str], bool]:
    """The phase of each of these, and whether some were guessed.

    >>> phases_of(["a", "b"], ["forward", "backward"], None)
    (['forward', 'backward'], False)
    >>> phases_of(["conv", "conv_grad"], [None, None], ["conv_g"])
    (['backward', 'forward'], False)
    >>> phases_of(["a", "b", "c", "d"], [None] * 4, None)
    (['forward', 'forward', 'backward', 'backward'], True)
    """
    markers = _checked(forward_markers)
    unknown = [place for place, phase in enumerate(recorded) if phase is None]
    first_half = set(unknown[: (len(unknown) + 1) // 2])
    found = []
    for place, (name, phase) in enumerate(zip(names, recorded, strict=True)):
        if phase is not None:
            found.append(phase)
        elif markers is not None:
            found.append(FORWARD if any(marker in name for marker in markers) else BACKWARD)
        else:
            found.append(FORWARD if place in first_half else BACKWARD)
    return found, bool(unknown) and markers is None


def _checked(forward_markers: Markers) -> list[str] | None:
    if forward_markers is None:
        return None
    if isinstance(forward_markers, str):
        raise UsageError(f"forward_markers is a list of parts of names: write [{forward_markers!r}]")
    return list(forward_markers)
