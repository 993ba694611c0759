"""The events part: beside each other for workers, one after the other for roll-ups."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from measurement.events import MICRO, Events
from measurement.outcome import Outcome

counts = st.integers(0, 1000)
gauges = st.none() | st.floats(0, 100)


@st.composite
def events(draw: st.DrawFn) -> Events:
    known = draw(st.booleans())
    return Events(
        sent=draw(counts),
        tokens=draw(counts),
        completed=draw(st.dictionaries(st.sampled_from(Outcome), st.integers(1, 9), max_size=3)),
        in_flight_us=draw(st.integers(0, 10**12)) if known else 0,
        in_flight_span_us=MICRO if known else 0,
        in_flight_max=draw(counts) if known else None,
        limit=draw(st.none() | counts),
        running=draw(gauges),
        waiting=draw(gauges),
        kv_use=draw(gauges),
    )


@given(events(), events(), events())
def test_beside_is_associative_and_commutative(a: Events, b: Events, c: Events) -> None:
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))


@given(events(), events(), events())
def test_then_is_associative(a: Events, b: Events, c: Events) -> None:
    assert a.then(b).then(c) == a.then(b.then(c))


@given(events())
def test_nothing_beside_or_before_or_after_changes_nothing(a: Events) -> None:
    assert a.merge(Events()) == Events().then(a) == a.then(Events()) == a


@given(st.lists(events(), min_size=1, max_size=30))
def test_json_is_exact_however_long_the_stretch(several: list[Events]) -> None:
    whole = several[0]
    for later in several[1:]:
        whole = whole.then(later)
    assert Events.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def second(mean: int, top: int, **gauges: float) -> Events:
    return Events(in_flight_us=mean * MICRO, in_flight_span_us=MICRO, in_flight_max=top, **gauges)  # type: ignore[arg-type]


def test_two_workers_add_what_they_hold_and_share_one_engine() -> None:
    both = second(2, 5, limit=8, kv_use=0.5).merge(second(3, 4, limit=8, kv_use=0.75))
    assert (both.in_flight_mean, both.in_flight_max, both.limit) == (5.0, 9, 16)
    assert both.kv_use == 0.75


def test_two_seconds_average_over_time_and_keep_the_last_gauge() -> None:
    both = second(2, 5, limit=8, kv_use=0.75).then(second(3, 4, limit=6, kv_use=0.5))
    assert (both.in_flight_mean, both.in_flight_max, both.limit) == (2.5, 5, 6)
    assert both.kv_use == 0.5


def test_seconds_in_which_nobody_counted_do_not_thin_the_mean() -> None:
    assert second(4, 4).then(Events()).in_flight_mean == 4.0
    assert Events().in_flight_mean is None
