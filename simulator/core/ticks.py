"""The count of decode steps that all decoding sequences share."""

from __future__ import annotations

from array import array


class Ticks:
    """``tick`` decode steps are done, the last of them at ``last_end``."""

    def __init__(self, *, keep: bool) -> None:
        self.tick = 0
        self.last_end = 0.0
        self.ends: array[float] | None = array("d") if keep else None
        """The end of each decode step, where they are kept."""
