"""Whether live traffic was shared out evenly: an exact sign-flip test on counts by block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNEQUAL = 0.001
"""Under this p the arms' load was not the same."""
_CELLS = 1 << 16


def sign_flip_p(differences: Sequence[int]) -> float:
    """Two-sided p of |Σd| when each block's difference was as likely to be its opposite.

    The whole distribution of the sum is built block by block, so there is nothing to draw. Sums
    too large for the table are counted in coarser units.
    """
    sizes = np.abs(np.asarray(differences, dtype=np.int64))
    unit = max(1, -(-int(sizes.sum()) // _CELLS))
    steps = np.rint(sizes / unit).astype(np.int64)
    seen = min(abs(round(sum(differences) / unit)), int(steps.sum()))
    if not seen:
        return 1.0
    chances = np.ones(1)
    for step in steps[steps > 0].tolist():
        wider = np.zeros(len(chances) + 2 * step)
        wider[: len(chances)] += chances / 2
        wider[2 * step :] += chances / 2
        chances = wider
    middle = len(chances) // 2
    return float(min(1.0, 2 * chances[middle + seen :].sum()))
