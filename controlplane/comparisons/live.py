"""Tell whoever is watching a comparison; the frames and their way are those of a run."""

from __future__ import annotations

from controlplane.comparisons import frames
from controlplane.comparisons.models import Comparison
from controlplane.runs import live as runs


def announce(comparison: Comparison) -> None:
    """A change that is stored, told as the frame of what changed with it."""
    runs.publish(comparison, frames.build(comparison, since=comparison.seq - 1))
