"""Windows of several workers, merged, are the windows that one worker would have made."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtest.window_merge import WindowMerge
from measurement.window import Window, WindowFold
from tests.measurement.builders import answered

SECONDS = 6


def folded(samples: list[object], *, at: list[float]) -> list[list[Window]]:
    """What a fold of these samples gives out at each of these moments, and at the end."""
    fold = WindowFold()
    for sample in samples:
        fold.offered(sample.index, sample.tenant, sample.intended_at)
        fold.sent(sample.sent_at)
        fold.resolved(sample)
    return [*(fold.changed(moment) for moment in at), fold.finish(float(SECONDS))]


@settings(deadline=None, max_examples=40)
@given(workers=st.integers(1, 5), count=st.integers(0, 60), seed=st.integers(0, 2**32 - 1))
def test_merged_windows_are_those_of_one_worker_bucket_by_bucket(
    workers: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, SECONDS - 2, count)).tolist()
    firsts = [at + float(rng.uniform(0.01, 0.4)) for at in times]
    samples = [
        answered(i, at, first_token_at=first)
        for i, (at, first) in enumerate(zip(times, firsts, strict=True))
    ]
    merge = WindowMerge(workers)
    newest: dict[int, Window] = {}
    told = [folded(samples[k::workers], at=[1.0, 3.0]) for k in range(workers)]
    for turn in zip(*told, strict=True):
        for worker, windows in enumerate(turn):
            merge.take(worker, windows)
        for window in merge.changed():
            assert window.index not in newest or newest[window.index].revision < window.revision
            newest[window.index] = window
    whole = {window.index: window for window in folded(samples, at=[])[0]}
    assert newest.keys() == whole.keys()
    for index, window in newest.items():
        assert window.cohort == whole[index].cohort
        assert window.events == whole[index].events
        assert window.final


def test_a_window_waits_for_every_worker_and_for_none_that_is_gone() -> None:
    merge = WindowMerge(2)
    one, other = (folded([answered(k, 0.1)], at=[1.0, 2.0]) for k in range(2))
    merge.take(0, one[0])
    assert merge.changed() == []
    merge.take(1, other[0])
    assert [window.cohort.offered for window in merge.changed()] == [2]
    merge.take(0, one[1])
    assert merge.changed() == []
    merge.ended(1)
    (alone,) = merge.changed()
    assert (alone.index, alone.cohort.offered) == (1, 0)
