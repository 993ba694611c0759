"""Python's garbage collector stops everything while it looks; a load test can't have that.

A request that ends leaves no cycles (tested), so there is nothing to find but what failures leave;
yet what a run keeps of its requests makes each look longer: pauses of 15 to 30 ms, twenty in ten
seconds of 200 requests/s, each of which made every stream's tokens late.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""New objects before the young ones are looked through: some ms, every ten seconds or so."""
NEVER = 1_000_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look through young objects seldom, through what a run keeps not before its end."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, NEVER, NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
