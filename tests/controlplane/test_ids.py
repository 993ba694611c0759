"""UUIDv7: valid, unique, in order of time."""

from __future__ import annotations

import time
import uuid

from controlplane.ids import uuid7


def test_it_is_a_version_7_of_the_rfc_variant() -> None:
    made = uuid7()
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_its_front_is_the_time_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    millis = uuid7().int >> 80
    assert before <= millis <= time.time_ns() // 1_000_000


def test_later_ones_sort_after_earlier_ones_and_none_is_made_twice() -> None:
    made = [uuid7() for _ in range(10_000)]
    assert len(set(made)) == len(made)
    # The fraction of a millisecond in its bits is finer than two calls are apart.
    assert [one.int >> 64 for one in made] == sorted(one.int >> 64 for one in made)
