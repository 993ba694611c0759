"""Clients of a simulation come again when refused and go away, as those of a load test do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadtest import recorder
from loadtest.simulation.limiter import VirtualLimiter
from measurement.outcome import Outcome
from measurement.sample import Attempt, Sample
from schedulers.runtime.limiter import Limiter
from tests.loadtest.driven import driven
from tests.loadtest.simulation.policies import Played, play

STORM: dict[str, Any] = {
    "arrivals": {"process": "poisson", "rate": 15}, "duration_s": 6, "drain_s": 8,
}  # fmt: skip
SMALL = {"max_queued_requests": 3}
"""Full with three: about half of the storm is refused at first."""
JITTER = {"law": "full_jitter", "base_ms": 200, "budget": 0.5}
POLICIES: dict[str, dict[str, Any]] = {
    "full_jitter": {"retry": JITTER},
    "decorrelated": {"retry": {"law": "decorrelated", "base_ms": 100, "budget": 1.0}},
    "client_throttle": {"retry": {"law": "client_throttle", "base_ms": 100, "k": 3}},
    "behind a limiter": {"retry": JITTER, "concurrency": {"law": "aimd"}},
    "behind a queue": {
        "retry": JITTER,
        "admission": {"law": "token_bucket", "rate": 4000, "burst": 4000, "max_wait_s": 1},
        "concurrency": {"law": "fixed", "limit": 5},
    },
    "the clients' own": {},
}


def tried(sample: Sample) -> list[tuple[Outcome, int | None]]:
    return [(each.outcome, each.status) for each in sample.attempts]


def times(attempts: tuple[Attempt, ...]) -> list[float]:
    return [each.sent_at or 0.0 for each in attempts]


def reconcile(run: Played) -> None:
    """Each offered request ends in one sample, and tokens and those in flight add up."""
    assert [each.index for each in run.samples] == list(range(run.conclusion.seen.launched))
    windows = run.windows
    assert sum(window.cohort.offered for window in windows) == len(run.samples)
    assert sum(window.events.tokens for window in windows) == sum(
        each.chunks for each in run.samples
    )
    assert all(window.cohort.offered == window.cohort.resolved for window in windows)


@pytest.mark.parametrize("name", POLICIES)
def test_a_storm_is_tried_again_as_the_driver_tries_it(name: str, tmp_path: Path) -> None:
    laws = POLICIES[name]
    load = STORM | ({} if laws else {"retries": {"max": 4, "base_ms": 100, "cap_ms": 800}})
    run = play(tmp_path, laws or None, engine=SMALL, **load)
    reconcile(run)
    samples, decisions = driven(laws, engine=SMALL, **load)
    assert len(samples) == len(run.samples) > 80
    assert sum(len(each.attempts) for each in samples) >= 10
    for ours, theirs in zip(run.samples, samples, strict=True):
        assert (ours.outcome.success, tried(ours)) == (theirs.outcome.success, tried(theirs))
        assert times(ours.attempts) == pytest.approx(times(theirs.attempts), abs=0.002)
        assert (ours.sent_at is None) == (theirs.sent_at is None)
        assert ours.sent_at is None or ours.sent_at == pytest.approx(theirs.sent_at, abs=0.002)
        assert ours.done_at == pytest.approx(theirs.done_at, abs=0.01)
    told = [(str(one.point), str(one.reason)) for one in decisions]
    assert [(one["point"], one["reason"]) for one in run.decisions] == told


def test_laws_hear_of_a_later_attempts_first_token_from_its_own_send_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request's sample counts from its first attempt; a law that learns how fast the engine is
    would take the client's own waits between two attempts for the engine's."""
    heard: dict[type, list[float]] = {}
    for law in (Limiter, VirtualLimiter):
        monkeypatch.setattr(law, "first_token", telling(heard.setdefault(law, []), law))
    laws = POLICIES["behind a limiter"]
    run = play(tmp_path, laws, engine=SMALL, **STORM)
    driven(laws, engine=SMALL, **STORM)
    again = [each for each in run.samples if each.attempts and each.outcome.success]
    assert len(again) > 5
    assert len(heard[Limiter]) > 30
    assert sorted(heard[Limiter]) == pytest.approx(sorted(heard[VirtualLimiter]), abs=0.002)
    assert max(heard[Limiter]) < max(each.service_ttft or 0.0 for each in again)


def telling(heard: list[float], law: Any) -> Any:
    """The law's own method, and each TTFT that it is told."""
    told = law.first_token

    def first_token(self: Any, *given: Any) -> None:
        heard.append(given[-1])
        told(self, *given)

    return first_token


def test_a_request_that_is_tried_again_is_one_sample_sent_with_its_first(tmp_path: Path) -> None:
    run = play(tmp_path, {"retry": JITTER}, engine=SMALL, **STORM)
    again = [each for each in run.samples if each.attempts and each.outcome.success]
    assert again
    for sample in again:
        assert sample.sent_at == sample.admitted_at == sample.attempts[0].sent_at
        assert sample.ttft is not None
        assert sample.ttft > times(sample.attempts)[-1] - sample.intended_at
    assert sum(window.events.sent for window in run.windows) == len(run.samples)


def test_the_same_seed_gives_the_same_bytes_through_a_storm(tmp_path: Path) -> None:
    runs = [play(tmp_path, {"retry": JITTER}, engine=SMALL, **STORM) for _ in range(2)]
    one, two = sorted(tmp_path.iterdir())
    for file in (recorder.SAMPLES, recorder.WINDOWS, recorder.SUMMARY):
        assert (one / file).read_bytes() == (two / file).read_bytes()
    other = play(tmp_path, {"retry": JITTER}, engine=SMALL, **STORM, seed=2)
    assert other.samples != runs[0].samples


def test_a_law_that_refuses_itself_sheds_what_was_never_sent(tmp_path: Path) -> None:
    run = play(tmp_path, POLICIES["client_throttle"], engine=SMALL, **STORM)
    shed = [each for each in run.samples if each.outcome is Outcome.SHED]
    assert shed
    assert all(each.sent_at is None and not each.attempts for each in shed)
    throttled = [each for each in run.lines("retry") if each["reason"] == "throttled"]
    assert len(throttled) >= len(shed)


def test_clients_go_away_when_they_said_wherever_their_request_is(tmp_path: Path) -> None:
    load = STORM | {"cancellations": {"share": 0.4, "after_s": 0.5}}
    laws = {"concurrency": {"law": "fixed", "limit": 2}, "admission": {"law": "always"}}
    run = play(tmp_path, laws, **load)
    reconcile(run)
    gone = [each for each in run.samples if each.outcome is Outcome.CANCELLED]
    assert len(gone) > 10
    assert all(each.done_at == pytest.approx(each.intended_at + 0.5) for each in gone)
    assert any(each.sent_at is None for each in gone), "some while the policy held them"
    assert any(each.chunks for each in gone), "some in the middle of their answer"
    samples, decisions = driven(laws, **load)
    assert [each.index for each in samples if each.outcome is Outcome.CANCELLED] == [
        each.index for each in gone
    ]
    told = [(str(one.point), str(one.reason)) for one in decisions]
    assert [(one["point"], one["reason"]) for one in run.decisions] == told


def test_who_waits_to_come_again_at_the_end_is_unfinished_and_keeps_its_attempts(
    tmp_path: Path,
) -> None:
    load = STORM | {"drain_s": 0, "retries": {"max": 9, "base_ms": 2_000, "cap_ms": 2_000}}
    run = play(tmp_path, None, engine=SMALL, **load)
    reconcile(run)
    waiting = [each for each in run.samples if each.outcome is Outcome.UNFINISHED]
    assert any(each.attempts for each in waiting)
    assert all(each.done_at == 6.0 for each in waiting)
