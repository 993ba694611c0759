"""Steps of the count in flight: what is packed is what was reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from measurement.in_flight_changes import Changes

TIMES = st.one_of(
    st.floats(-10.0, 10.0, allow_nan=False),
    st.floats(0.0, 1e6, allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, 100.0]),
    st.integers(0, 1000).map(lambda micro: 1000.0 + micro / 1e6),
)
STEPS = st.lists(st.tuples(TIMES, st.integers(-1000, 1000)), max_size=40)


def _of(steps: list[tuple[float, int]]) -> Changes:
    changes = Changes()
    for at, delta in steps:
        changes.add(at, delta)
    return changes


@given(before=STEPS, after=STEPS)
def test_packing_at_any_moment_changes_nothing(
    before: list[tuple[float, int]], after: list[tuple[float, int]]
) -> None:
    packed = _of(before)
    packed.pack()
    assert list(packed) == list(_of(before))
    for at, delta in after:
        packed.add(at, delta)
    packed.pack()
    packed.pack()
    plain = _of(before + after)
    assert list(packed) == list(plain) == sorted(before + after, key=lambda step: step[0])
    assert packed.total == plain.total
    assert bool(packed) == bool(plain)


def test_a_busy_second_packs_into_five_bytes_a_step() -> None:
    steps = [(300.0 + place / 10_000, 1 if place % 2 else -1) for place in range(10_000)]
    changes = _of(steps)
    assert 90_000 <= changes.size < 100_000
    changes.pack()
    assert changes.size == 50_000 - 4
    assert list(changes) == steps
