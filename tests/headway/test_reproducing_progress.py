"""How far a long play is, where whoever waits for it looks."""

from __future__ import annotations

from headway.reproducing import progress
from loadtest.reproduce.watched import Watch


def test_what_is_done_and_left_counts_the_run_that_goes_on() -> None:
    watch = Watch((1, 2), 3)
    assert progress.said("batching", watch, 0.0) == "batching: 0.0 of 6 runs with a seed, 0:00"
    for _ in range(2):
        watch.part(0.4)
        watch.ended()
    watch.part(0.5)
    assert (watch.runs, watch.done, watch.of) == (2, 2.5, 6)
    said = "batching: 2.5 of 6 runs with a seed, 50:00, about 1:10:00 left"
    assert progress.said("batching", watch, 3000.0) == said
    for _ in range(4):
        watch.ended()
    watch.part(0.9)
    assert watch.done == 6.0
