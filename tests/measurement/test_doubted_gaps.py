"""Longest gaps that may be the client's own, of streams whose true gaps are known."""

from __future__ import annotations

import pytest

from measurement.doubted_gaps import DoubtedGaps, error_of

EVEN = (0.02,) * 50
STALL = (1.2, 1.6)
"""Of a stream that begins at 1.0 and ends at 2.0."""
JOINED = (*(0.02,) * 10, 0.34, *(0.0,) * 16, 0.06, 0.0, 0.0, *(0.02,) * 20)
"""The even stream as a client reads it that stood still: the kernel joined up to 17 packets."""


def test_a_gap_that_a_stall_made_is_doubted_by_what_it_is_too_long() -> None:
    assert error_of(1.0, JOINED, [STALL]) == pytest.approx(0.32)


def test_what_was_read_late_but_stamped_in_time_is_not_doubted() -> None:
    assert error_of(1.0, EVEN, [STALL]) == 0.0


def test_a_stall_elsewhere_doubts_nothing() -> None:
    assert error_of(1.0, JOINED, [(1.6, 1.7)]) == 0.0
    assert error_of(1.0, JOINED, []) == 0.0


def test_an_engines_own_stall_is_believed_though_the_client_stood_still_for_a_moment() -> None:
    stalled = (*(0.02,) * 10, 0.5, *(0.02,) * 10)
    assert error_of(1.0, stalled, [(1.4, 1.42)]) == 0.0
    assert error_of(1.0, stalled, [(1.4, 1.45)]) == pytest.approx(0.05)


def test_a_stream_that_stood_still_as_a_whole_has_nothing_clean_to_show() -> None:
    assert error_of(1.0, (0.2,), [(1.0, 1.2)]) == pytest.approx(0.2)


def test_one_percent_of_the_answers_may_be_doubted() -> None:
    found = sum([DoubtedGaps(100, 1, 0.2), DoubtedGaps(100, 1, 0.1)], DoubtedGaps())
    assert found.sentence() is None
    said = (found + DoubtedGaps(0, 1, 0.3)).sentence()
    assert said is not None
    assert said.startswith("The longest gap of 1.5 % of the answers may be up to 300 ms too long")
    assert DoubtedGaps().sentence() is None
