"""The engine model as a plant: what a law holds there, and that the waits are the law's."""

from __future__ import annotations

from typing import Any

from schedulers.concurrency.base import laws
from simulator.plants.engine import Outcome, play
from simulator.profile import DEFAULT, load


def played(name: str, rate: float | None, end_s: float, **parameters: Any) -> Outcome:
    cls: Any = laws.get(name)
    return play(cls(**parameters), load(DEFAULT).config(), rate=rate, end_s=end_s, seed=1)


def test_a_limit_below_what_the_load_needs_makes_it_wait_at_the_client() -> None:
    low, free = (played("fixed", 10.0, 30.0, size=size) for size in (7, 1000))
    assert free.attained(5.0, 25.0) > 0.9
    assert low.attained(5.0, 25.0) < 0.5
    assert low.never_sent
    assert not free.never_sent


def test_following_the_first_token_no_longer_starves_a_continuous_batch() -> None:
    """It held 7 in flight where 45 met all objectives: TTFT creeps there with no queue at all."""
    seen = played("adaptive_bdp", 10.0, 150.0, signal="ttft")
    assert seen.limits[-1][1] >= 40
    assert seen.attained(100.0, 140.0) > 0.95


def test_a_run_repeats() -> None:
    one, two = (played("adaptive_bdp", 8.0, 20.0) for _ in range(2))
    assert one.limits == two.limits
    assert [p.sequence.last_token_at for p in one.played] == [
        p.sequence.last_token_at for p in two.played
    ]
