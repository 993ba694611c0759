"""Times that may be the client's own, of streams whose true times are known."""

from __future__ import annotations

import pytest

from measurement.doubted import Doubted, first_error, gap_error

EVEN = (0.02,) * 50
STALL = (1.2, 1.6)
"""Of a stream that begins at 1.0 and ends at 2.0."""
JOINED = (*(0.02,) * 10, 0.34, *(0.0,) * 16, 0.06, 0.0, 0.0, *(0.02,) * 20)
"""The even stream as a client reads it that stood still: the kernel joined up to 17 packets."""


def test_a_gap_that_a_stall_made_is_doubted_by_what_it_is_too_long() -> None:
    assert gap_error(1.0, JOINED, [STALL]) == pytest.approx(0.32)


def test_what_was_read_late_but_stamped_in_time_is_not_doubted() -> None:
    assert gap_error(1.0, EVEN, [STALL]) == 0.0


def test_a_stall_elsewhere_doubts_nothing() -> None:
    assert gap_error(1.0, JOINED, [(1.63, 1.7)]) == 0.0
    assert gap_error(1.0, JOINED, []) == 0.0


def test_an_engines_own_stall_is_believed_though_the_client_stood_still_for_a_moment() -> None:
    stalled = (*(0.02,) * 10, 0.5, *(0.02,) * 10)
    assert gap_error(1.0, stalled, [(1.4, 1.4)]) == 0.0
    assert gap_error(1.0, stalled, [(1.4, 1.45)]) == pytest.approx(0.07)


def test_a_stream_that_stood_still_as_a_whole_has_nothing_clean_to_show() -> None:
    assert gap_error(1.0, (0.2,), [(1.0, 1.2)]) == pytest.approx(0.2)


def test_a_first_token_that_was_read_as_the_client_stood_still_came_while_it_did() -> None:
    assert first_error(1.5, [(0.2, 0.4), STALL]) == pytest.approx(0.3)
    assert first_error(1.7, [STALL]) == first_error(1.5, []) == 0.0
    assert first_error(1.61, [STALL], within=0.02) == pytest.approx(0.41), "read in the next turn"


def test_one_percent_of_the_answers_may_be_doubted_and_three_of_a_few() -> None:
    found = sum([Doubted(200, 2, 0.2), Doubted(200, 2, 0.1)], Doubted())
    assert found.sentence("first token", "late") is None
    said = (found + Doubted(0, 1, 0.3)).sentence("first token", "late")
    assert said is not None
    assert said.startswith("The first token of 1.2 % of the answers may be up to 300 ms too late")
    assert Doubted().sentence("first token", "late") is None
    assert Doubted(10, 3, 1.0).sentence("first token", "late") is None
    assert Doubted(10, 4, 1.0).sentence("first token", "late") is not None
