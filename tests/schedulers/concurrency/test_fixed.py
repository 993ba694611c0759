"""Fixed: nothing moves it."""

from __future__ import annotations

from documents.parse import build
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from tests.schedulers.congestion import bulk

Fixed = laws.get("fixed")


def test_the_limit_is_what_the_document_says_whatever_happens() -> None:
    law = build(Fixed, {"limit": 7})
    state = law.start()
    for kind in OutcomeKind:
        seen = Observation(started_at=0.0, in_flight=7, kind=kind, latency=60.0)
        state, decision = law.step(state, seen, 61.0)
        assert (law.limit(state), decision) == (7, None)


def test_it_is_as_good_as_the_number_chosen() -> None:
    at = {n: bulk(build(Fixed, {"limit": n}), tasks=2000, sigma=0.1, seed=1) for n in (8, 50, 64)}
    assert 17.0 < at[50].seconds < 19.0
    assert 98.0 < at[8].seconds < 102.0
    assert 69.0 < at[64].seconds < 73.0
