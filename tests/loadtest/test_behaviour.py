"""Clients that try again and clients that go away, in virtual time: offered once, all kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.problem import DocumentError
from engines.outcomes import RETRIED
from loadtest.behaviour import Cancellations, Retries
from loadtest.scenario import Scenario
from measurement.outcome import Outcome
from measurement.sample_json import from_line, to_line
from tests.loadtest.fakes import FakeEngine, run
from tests.loadtest.test_driver import reconcile
from tests.loadtest.test_scenario import document, paths

PATIENT = Retries(max=3, base_ms=100.0, cap_ms=150.0)


def refusing(times: int, outcome: Outcome = Outcome.REJECTED_429) -> FakeEngine:
    """Refuses the first requests that come, and then serves."""
    return FakeEngine(lambda nth: (0.1, 0.01, outcome if nth < times else Outcome.OK))


@pytest.mark.parametrize("limit", [None, 1])
def test_a_request_that_is_tried_again_is_offered_once_with_all_its_attempts(
    limit: int | None,
) -> None:
    engine = refusing(2)
    ran = run(engine, process="constant", rate=1.0, duration=0.5, limit=limit, retries=PATIENT)
    reconcile(ran)
    (sample,) = ran.samples
    assert (sample.outcome, len(engine.sent)) == (Outcome.OK, 3)
    assert [attempt.outcome for attempt in sample.attempts] == [Outcome.REJECTED_429] * 2
    assert [attempt.sent_at for attempt in sample.attempts] == pytest.approx(engine.sent[:2])
    assert sample.sent_at == pytest.approx(engine.sent[0])
    assert sample.ttft == pytest.approx(engine.sent[2] + 0.1)
    assert sum(window.events.sent for window in ran.windows) == 1
    assert from_line(to_line(sample)) == sample


def test_attempts_end_at_the_most_asked_for_and_the_last_answer_stands() -> None:
    engine = refusing(100)
    ran = run(engine, process="constant", rate=1.0, duration=0.5, retries=PATIENT)
    reconcile(ran)
    (sample,) = ran.samples
    assert (sample.outcome, len(sample.attempts), len(engine.sent)) == (Outcome.REJECTED_429, 3, 4)


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - RETRIED, key=str))
def test_what_may_have_done_work_is_not_sent_again(outcome: Outcome) -> None:
    engine = FakeEngine(lambda _: (0.1, 0.01, outcome))
    run(engine, process="constant", rate=1.0, duration=0.5, retries=PATIENT)
    assert len(engine.sent) == 1


def test_a_retry_after_is_kept_to_the_full() -> None:
    engine = refusing(1)
    engine.retry_after = 2.0
    ran = run(engine, process="constant", rate=1.0, duration=0.5, retries=PATIENT)
    waited = engine.sent[1] - (engine.sent[0] + 0.1)
    assert 2.0 <= waited <= 2.1
    assert ran.samples[0].attempts[0].retry_after == 2.0


def test_nothing_is_sent_again_after_the_drain_deadline() -> None:
    engine = refusing(100)
    engine.retry_after = 60.0
    ran = run(engine, process="constant", rate=1.0, duration=0.5, drain=5.0, retries=PATIENT)
    reconcile(ran)
    assert ran.outcomes == {"rejected_429": 1}
    assert ran.ended_at < 1.0


@given(
    failed=st.integers(1, 20),
    draw=st.floats(0, 1, exclude_max=True),
    after=st.none() | st.floats(0, 100),
)
def test_the_jitter_is_full_doubles_and_is_capped(
    failed: int, draw: float, after: float | None
) -> None:
    law = Retries(max=20, base_ms=100.0, cap_ms=1_000.0)
    wait = law.wait(failed, after, draw) - (after or 0.0)
    assert wait == pytest.approx(draw * min(1.0, 0.1 * 2 ** (failed - 1)), abs=1e-9)


def test_the_clients_that_go_away_are_a_share_and_leave_when_they_said() -> None:
    engine = FakeEngine(lambda _: (0.5, 0.5, Outcome.OK))
    leaving = Cancellations(share=0.3, after_s=1.2)
    ran = run(engine, duration=40.0, cancellations=leaving)
    reconcile(ran)
    gone = [sample for sample in ran.samples if sample.outcome is Outcome.CANCELLED]
    assert len(gone) / len(ran.samples) == pytest.approx(0.3, abs=0.08)
    for sample in gone:
        assert sample.done_at == pytest.approx(sample.intended_at + 1.2)
        assert sample.output_tokens == 2
    again = run(FakeEngine(lambda _: (0.5, 0.5, Outcome.OK)), duration=40.0, cancellations=leaving)
    assert [s.index for s in again.samples if s.outcome is Outcome.CANCELLED] == [
        sample.index for sample in gone
    ]


def test_who_goes_away_while_the_policy_holds_the_request_never_sends_it() -> None:
    engine = FakeEngine(lambda _: (5.0, 0.0, Outcome.OK))
    leaving = Cancellations(share=1.0, after_s=1.0)
    ran = run(engine, process="constant", rate=4.0, duration=0.5, limit=1, cancellations=leaving)
    reconcile(ran)
    first, second = sorted(ran.samples, key=lambda sample: sample.index)
    assert (first.outcome, second.outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert second.done_at == pytest.approx(1.25)
    assert len(engine.sent) == 2  # the first one's permit came free a quarter second before


def test_an_answer_that_comes_in_time_is_taken() -> None:
    ran = run(FakeEngine(), cancellations=Cancellations(share=1.0, after_s=5.0))
    assert ran.outcomes == {"ok": 100}


def test_faults_are_told_by_path_and_absence_keeps_the_hash() -> None:
    assert paths(retries={"max": 0}) == ["retries.max"]
    assert paths(cancellations={"share": 0, "after_s": 1}) == ["cancellations.share"]
    assert paths(cancellations={"share": 0.5}) == ["cancellations.after_s"]
    with pytest.raises(DocumentError, match="must be a mapping"):
        Scenario.parse(document(retries=3))
    plain = Scenario.parse(document())
    assert plain.sha256 == Scenario.parse(document(retries=None, cancellations=None)).sha256
    asked = Scenario.parse(document(retries={"max": 2}, cancellations={"share": 0.1, "after_s": 2}))
    assert asked.sha256 != plain.sha256
    assert Scenario.parse(asked.to_document()) == asked
