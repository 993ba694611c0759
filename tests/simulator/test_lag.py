"""Lag is remembered long enough to be scraped, and forgotten after."""

from __future__ import annotations

from simulator.lag import LagWatch


def test_the_worst_is_kept_for_five_to_ten_seconds() -> None:
    watch = LagWatch()
    watch.saw(1.0, 0.3)
    watch.saw(2.0, 0.1)
    assert watch.worst(2.0) == 0.3
    assert watch.worst(6.0) == 0.3
    assert watch.worst(11.5) == 0.0


def test_a_long_silence_forgets_at_once() -> None:
    watch = LagWatch()
    watch.saw(1.0, 0.3)
    assert watch.worst(100.0) == 0.0
