"""The driver under virtual time: on schedule, honest about lateness, one outcome a request."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtest.inflight import Flight
from loadtest.schedule import Job
from loadtest.workloads.base import Shape
from measurement.outcome import Outcome
from measurement.window import roll_up
from tests.loadtest.fakes import FakeEngine, Ran, run
from tests.measurement.builders import slo


def reconcile(ran: Ran) -> None:
    """Each offered request has exactly one outcome, in the samples and in the windows alike."""
    indices = [sample.index for sample in ran.samples]
    assert len(set(indices)) == len(indices) == ran.driver.offered
    for whole in roll_up(ran.windows, 3_600.0, ended=True):
        assert whole.cohort.offered == len(indices)
        assert whole.cohort.pending == 0
        assert {str(k): v for k, v in whole.cohort.outcomes.items()} == ran.outcomes
    assert ran.windows or not indices
    assert ran.engine.open == 0
    assert ran.driver.in_flight == 0
    assert ran.limiter is None or (ran.limiter.in_flight, ran.limiter.waiting) == (0, 0)


def test_every_request_goes_out_at_its_intended_time() -> None:
    ran = run(FakeEngine())
    reconcile(ran)
    assert len(ran.samples) == 100
    assert all(sample.send_lag == pytest.approx(0, abs=1e-6) for sample in ran.samples)
    assert ran.engine.sent == pytest.approx([i / 10 for i in range(100)])


def test_times_are_measured_from_the_intended_start() -> None:
    (first, *_) = run(FakeEngine(lambda _: (0.25, 0.05, Outcome.OK))).samples
    assert first.ttft == pytest.approx(0.25)
    assert first.tpot == pytest.approx(0.05)
    assert first.e2e == pytest.approx(0.25 + 3 * 0.05)


def test_what_the_policy_holds_is_hold_and_not_the_clients_lag() -> None:
    ran = run(FakeEngine(lambda _: (1.0, 0.0, Outcome.OK)), limit=2, drain=600)
    reconcile(ran)
    assert ran.engine.most_open == 2
    held = max(ran.samples, key=lambda sample: sample.hold or 0.0)
    assert held.client_lag == pytest.approx(0, abs=1e-6)
    assert held.hold == pytest.approx(held.send_lag)
    assert (held.ttft or 0) > (held.service_ttft or 0) + 1.0


def test_a_short_stall_of_the_client_is_charged_as_lag_and_never_re_anchors() -> None:
    ran = run(FakeEngine(), stall=(2.05, 0.5))
    reconcile(ran)
    samples = sorted(ran.samples, key=lambda sample: sample.index)
    lags = [sample.client_lag or 0.0 for sample in samples]
    assert max(lags) == pytest.approx(0.45, abs=0.01)
    assert [sample.intended_at for sample in samples] == pytest.approx([i / 10 for i in range(100)])
    assert lags[40:] == pytest.approx([0.0] * 60, abs=1e-6)


def test_what_is_over_a_second_late_for_our_own_cause_is_dropped_and_never_sent() -> None:
    ran = run(FakeEngine(), stall=(2.05, 3.0))
    reconcile(ran)
    dropped = [sample for sample in ran.samples if sample.outcome is Outcome.DROPPED]
    assert len(dropped) == 20
    assert all(sample.sent_at is None and sample.handed_at is None for sample in dropped)
    assert len(ran.engine.requests) == 80


def test_what_the_policy_holds_for_long_is_not_dropped() -> None:
    ran = run(FakeEngine(lambda _: (3.0, 0.0, Outcome.OK)), limit=1, duration=1.0, drain=60)
    assert ran.outcomes == {"ok": 10}


def test_failures_are_data_and_the_limiter_gets_every_permit_back() -> None:
    bad = (Outcome.REJECTED_429, Outcome.CONNECT, Outcome.IN_BAND_ERROR, Outcome.OK)
    ran = run(FakeEngine(lambda nth: (0.05, 0.0, bad[nth % 4])), limit=3)
    reconcile(ran)
    assert ran.outcomes == dict.fromkeys(map(str, bad), 25)
    assert {s.error for s in ran.samples if not s.outcome.success} == {"refused"}


def test_what_is_still_open_at_the_drain_deadline_is_unfinished() -> None:
    ran = run(FakeEngine(lambda nth: (0.1 if nth < 90 else 1e6, 0.0, Outcome.OK)), drain=5)
    reconcile(ran)
    assert ran.outcomes == {"ok": 90, "unfinished": 10}
    assert ran.ended_at == pytest.approx(15.0, abs=0.1)


def test_tokens_of_an_attempt_that_broke_are_not_those_of_the_next() -> None:
    """As in a simulation: they were thrown away when the request was asked again."""
    flight = Flight(Job(0, 1.0, Shape(8, 4, tenant="acme")))
    assert flight.sent(1.0)
    flight.received([1.5, 1.6], [1, 1])
    flight.failed(flight.given_up(Outcome.INCOMPLETE, 1.7))
    assert not flight.sent(2.0)
    assert (flight.sent_at, flight.tried_at) == (1.0, 2.0)
    sample = flight.given_up(Outcome.UNFINISHED, 5.0)
    assert (sample.chunks, sample.first_token_at, sample.gaps) == (0, None, ())
    assert (sample.sent_at, len(sample.attempts)) == (1.0, 1)


def test_what_came_while_the_client_stood_still_past_the_drain_deadline_is_no_failure() -> None:
    """The last answers end 0.2 s before the deadline; the client stops 0.8 s before them."""
    ran = run(FakeEngine(lambda _: (4.9, 0.01, Outcome.OK)), stall=(14.0, 3.0), drain=5)
    reconcile(ran)
    assert ran.outcomes == {"ok": 100}
    assert ran.ended_at == pytest.approx(17.0, abs=0.2)


def test_what_still_waits_for_the_policy_at_the_drain_deadline_is_unfinished() -> None:
    ran = run(FakeEngine(lambda _: (1e6, 0.0, Outcome.OK)), limit=1, drain=1)
    reconcile(ran)
    assert ran.outcomes == {"unfinished": 100}
    assert len(ran.engine.requests) == 1


def test_a_run_ends_with_its_last_answer_and_does_not_wait_for_the_deadline() -> None:
    ran = run(FakeEngine(lambda _: (0.5, 0.0, Outcome.OK)), drain=600)
    assert ran.ended_at == pytest.approx(9.9 + 0.5, abs=0.01)


def test_an_open_loop_lasts_as_long_as_its_schedule() -> None:
    ran = run(FakeEngine(), process="constant", rate=1.0, duration=3.0)
    assert ran.engine.sent == pytest.approx([0.0, 1.0, 2.0])
    assert ran.driver.closed_at == pytest.approx(3.0)


def test_cancel_closes_what_is_open_at_once_and_offers_nothing_more() -> None:
    ran = run(FakeEngine(lambda _: (2.0, 0.0, Outcome.OK)), cancel_at=5.05)
    reconcile(ran)
    assert ran.ended_at == pytest.approx(5.05)
    assert ran.driver.offered == 51
    assert set(ran.outcomes) == {"ok", "cancelled"}
    assert ran.outcomes["cancelled"] == 20


def test_a_cancelled_stream_keeps_the_tokens_that_came() -> None:
    ran = run(FakeEngine(lambda _: (1.0, 1.0, Outcome.OK)), duration=0.1, cancel_at=2.5)
    (sample,) = ran.samples
    assert sample.outcome is Outcome.CANCELLED
    assert sample.output_tokens == sample.chunks == 2
    assert (sample.first_token_at, sample.last_token_at) == pytest.approx((1.0, 2.0))


def test_a_cancelled_stream_is_judged_by_all_the_times_that_it_had() -> None:
    ran = run(FakeEngine(lambda _: (1.0, 1.0, Outcome.OK)), duration=0.1, cancel_at=3.5)
    (sample,) = ran.samples
    assert sample.ttfat == pytest.approx(1.0)
    assert sample.gaps == pytest.approx((1.0, 1.0))
    assert (sample.first_chunk_tokens, sample.gap_tokens) == (1, None)
    slow = slo({"metric": "longest_gap_ms", "max": 900}).judge(sample)
    assert (slow.missed, slow.excluded) == (("longest_gap_ms",), False)
    assert slo({"metric": "ttfat_ms", "max": 1100}).judge(sample).excluded


def test_tokens_that_came_together_are_kept_with_their_gaps() -> None:
    flight = Flight(Job(0, 0.0, Shape(8, 4, "default")))
    flight.received((1.0, 1.5), (2, 3))
    flight.received((2.5,), (1,))
    sample = flight.given_up(Outcome.CANCELLED, 3.0)
    assert (sample.gaps, sample.gap_tokens) == ((0.5, 1.0), (3, 1))
    assert (sample.first_chunk_tokens, sample.output_tokens) == (2, 6)


def test_a_fault_of_our_own_ends_the_run_and_is_not_counted_as_the_engines() -> None:
    def broken(nth: int) -> tuple[float, float, Outcome]:
        if nth == 30:
            raise ZeroDivisionError
        return (0.1, 0.0, Outcome.OK)

    with pytest.raises(ZeroDivisionError):
        run(FakeEngine(broken))


def test_a_closed_loop_holds_its_concurrency_and_asks_again_when_answered() -> None:
    engine = FakeEngine(lambda _: (0.4, 0.2, Outcome.OK))
    ran = run(engine, process="closed", concurrency=5, duration=20.0)
    reconcile(ran)
    assert engine.most_open == 5
    assert len(ran.samples) == 5 * 20
    assert all(sample.send_lag == pytest.approx(0, abs=1e-6) for sample in ran.samples)


def test_a_closed_loop_thinks_between_answer_and_next_request() -> None:
    ran = run(FakeEngine(), process="closed", concurrency=1, think_s=0.87, duration=10.0)
    intended = [sample.intended_at for sample in ran.samples]
    assert intended == pytest.approx([i * 1.0 for i in range(10)])


def test_a_closed_loop_does_not_hammer_a_dead_target() -> None:
    ran = run(
        FakeEngine(lambda _: (0.0, 0.0, Outcome.CONNECT)),
        process="closed",
        concurrency=2,
        duration=10.0,
    )
    reconcile(ran)
    assert len(ran.samples) <= 2 * 101


def test_the_event_side_counts_what_was_sent_and_received() -> None:
    ran = run(FakeEngine())
    (whole,) = roll_up(ran.windows, 3_600.0, ended=True)
    assert (whole.events.sent, whole.events.tokens) == (100, 400)
    assert whole.events.in_flight_max == 2


@settings(deadline=None)
@given(
    outcomes=st.lists(
        st.tuples(
            st.floats(0.01, 5),
            st.floats(0, 0.5),
            st.sampled_from(["ok", "connect", "rejected_503"]),
        ),
        min_size=1,
        max_size=20,
    ),
    limit=st.none() | st.integers(1, 10),
    cancel_at=st.none() | st.floats(0, 12),
    stall=st.none() | st.tuples(st.floats(0, 9), st.floats(0, 4)),
    drain=st.floats(0, 5),
    closed=st.booleans(),
    ahead=st.booleans(),
    ready=st.booleans(),
)
def test_whatever_happens_every_offered_request_has_one_outcome(
    *,
    outcomes: list[tuple[float, float, str]],
    limit: int | None,
    cancel_at: float | None,
    stall: tuple[float, float] | None,
    drain: float,
    closed: bool,
    ahead: bool,
    ready: bool,
) -> None:
    def serve(nth: int) -> tuple[float, float, Outcome]:
        first, each, outcome = outcomes[nth % len(outcomes)]
        return first, each, Outcome(outcome)

    process = (
        {"process": "closed", "concurrency": 4} if closed else {"process": "poisson", "rate": 7.0}
    )
    engine = FakeEngine(serve, ready=ready)
    ran = run(
        engine, limit=limit, cancel_at=cancel_at, stall=stall, drain=drain, ahead=ahead, **process
    )
    reconcile(ran)
    late = max(stall[1] if stall else 0.0, 0.0)
    assert ran.ended_at <= 10.0 + drain + late + 0.01


def test_flights_are_told_apart_even_when_they_look_the_same() -> None:
    assert len({Flight(None), Flight(None)}) == 2  # type: ignore[arg-type]


def test_the_limiter_hears_of_each_first_token_and_of_each_end() -> None:
    ran = run(FakeEngine(lambda _: (0.05, 0.5, Outcome.OK)), limit=50)
    reconcile(ran)
    assert ran.limiter is not None
    assert ran.limiter.steps == 2 * len(ran.samples)
