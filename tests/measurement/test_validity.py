"""Whether the stimulus was what was asked for, and what to do when not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from measurement.column_builder import columns_of
from measurement.histogram import Histogram
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.stimulus import Expected, dispersion_range, gaps_of
from measurement.validity import Validity, check
from tests.measurement.builders import answered, failed

POISSON, CONSTANT = Expected(cv=1.0, dispersion=1.0), Expected(cv=0.0, dispersion=0.0)


def poisson(n: int = 6000, rate: float = 10.0, seed: int = 3) -> list[Sample]:
    at = np.random.default_rng(seed).uniform(0, n / rate, n)
    return [answered(i, float(t)) for i, t in enumerate(np.sort(at))]


def constant(n: int = 1000, rate: float = 10.0) -> list[Sample]:
    return [answered(i, i / rate) for i in range(n)]


def checked(samples: list[Sample], **facts: object) -> Validity:
    given = {"duration": len(samples) / 10, "scheduled": len(samples)} | facts
    return check(columns_of(samples), **given)  # type: ignore[arg-type]


def test_a_run_on_time_is_valid_and_its_numbers_are_given() -> None:
    found = checked(poisson(), expected=POISSON, loop_lag=Histogram.of([0.001] * 600))
    assert (found.status, found.valid, found.reasons, found.warnings) == ("valid", True, (), ())
    numbers = found.numbers
    assert (numbers["offered"], numbers["sent"], numbers["on_time_share"]) == (6000, 6000, 1.0)
    assert (numbers["offered_rate"], numbers["achieved_rate"]) == (10.0, 10.0)
    assert (numbers["send_lag_ms"]["p99"], numbers["send_lag_ms"]["max"]) == (0.0, 0.0)
    assert numbers["loop_lag_ms"]["p99"] == pytest.approx(1.0, rel=1e-3)
    assert numbers["cv"] == pytest.approx(1.0, abs=0.05)
    assert json.loads(json.dumps(found.to_json()))["numbers"]["expected_cv"] == 1.0


@pytest.mark.parametrize(("late", "valid"), [(20, True), (21, False)])
def test_98_percent_must_reach_the_policy_within_10_ms(late: int, valid: bool) -> None:
    samples = [
        answered(i, i / 10, handed_at=i / 10 + (0.02 if i < late else 0.0)) for i in range(1000)
    ]
    found = checked(samples)
    assert found.valid is valid
    if not valid:
        assert found.reasons[0].startswith("Only 97.90 % of 1,000 requests reached the policy")
        assert "Run it where less else runs" in found.reasons[0]


def test_what_the_policy_holds_or_sheds_is_no_fault_of_the_stimulus() -> None:
    held = [answered(i, i / 10, sent_at=i / 10 + 5.0) for i in range(500)]
    shed = [failed(Outcome.SHED, 500 + i, 50 + i / 10, sent_at=None) for i in range(500)]
    assert checked([*held, *shed]).valid


def test_one_dropped_request_makes_it_invalid() -> None:
    gone = failed(Outcome.DROPPED, 999, 99.9, handed_at=None, sent_at=None)
    [reason] = checked([*constant(999), gone]).reasons
    assert reason.startswith("1 request was dropped, more than 1 s late")


def test_what_the_clients_machine_had_no_connection_for_makes_it_invalid_and_says_why() -> None:
    late = failed(Outcome.DROPPED, 998, 99.8, handed_at=None, sent_at=None)
    lacking = failed(Outcome.DROPPED, 999, 99.9, sent_at=None, error="Too many open files; ulimit")
    [reason] = checked([*constant(998), late, lacking]).reasons
    assert reason == (
        "2 requests were dropped, at least one because the client's machine could make no "
        "connection for it: Too many open files; ulimit."
    )


@pytest.mark.parametrize(
    ("lag", "target", "valid"),
    [(0.004, None, True), (0.006, None, False), (0.03, 0.8, True), (0.05, 0.8, False)],
)
def test_lag_may_be_5_ms_or_5_percent_of_the_ttft_target(
    lag: float, target: float | None, valid: bool
) -> None:
    found = checked(constant(), loop_lag=Histogram.of([lag] * 100), ttft_target=target)
    assert found.valid is valid
    assert valid or "fewer streams" in found.reasons[0]


def test_counts_must_reconcile_to_the_request() -> None:
    [missing] = checked(constant(), scheduled=1002).reasons
    assert "1,002 requests were due and 1,000 have a sample" in missing
    [double] = checked([*constant(), answered(0, 0.0)], scheduled=1000).reasons
    assert "1,001 samples were recorded for 1,000 requests" in double


def test_a_cancel_leaves_no_fault_behind() -> None:
    never = [failed(Outcome.CANCELLED, i, i / 10, handed_at=None, sent_at=None) for i in range(900)]
    assert checked([*never, *(answered(900 + i, 90 + i / 10) for i in range(100))]).valid


def test_every_reason_is_told_at_once() -> None:
    gone = [failed(Outcome.DROPPED, i, i / 10, handed_at=None, sent_at=None) for i in range(100)]
    found = checked(gone, scheduled=200, loop_lag=Histogram.of([1.0]))
    assert len(found.reasons) == 4


def test_an_empty_run_has_null_numbers_and_no_fault() -> None:
    found = check(columns_of([]), duration=0.0)
    assert found.valid
    assert (found.numbers["offered_rate"], found.numbers["on_time_share"]) == (None, None)
    assert found.numbers["send_lag_ms"]["p99"] is None


def test_a_bursty_load_is_told_from_the_poisson_it_should_be() -> None:
    burst = [answered(i, float(i // 10)) for i in range(6000)]
    [warning] = checked(burst, expected=POISSON, duration=600.0).warnings
    assert "index of dispersion" in warning
    assert "where the process gives 1" in warning


def test_constant_arrivals_have_no_dispersion_and_poisson_is_told_from_them() -> None:
    assert checked(constant(), expected=CONSTANT).warnings == ()
    assert gaps_of(columns_of(constant()), 100.0).cv == pytest.approx(0, abs=1e-9)
    assert checked(poisson(), expected=CONSTANT).warnings != ()
    assert checked(constant(), expected=POISSON).warnings != ()


def test_true_poisson_is_warned_of_in_about_one_run_of_a_thousand() -> None:
    low, high = dispersion_range(1.0, 50)
    runs = (columns_of(poisson(500, seed=seed)) for seed in range(200))
    found = [gaps_of(run, 50.0).dispersion or 0 for run in runs]
    assert sum(low <= dispersion <= high for dispersion in found) >= 198


def test_too_few_arrivals_say_nothing_of_their_shape() -> None:
    assert checked(poisson(50), expected=POISSON).warnings == ()
    assert gaps_of(columns_of([answered()]), 1.0).cv is None


def test_the_later_of_event_loop_and_kernel_is_judged() -> None:
    late, prompt = Histogram.of([0.05] * 600), Histogram.of([0.001] * 600)
    assert checked(poisson(), loop_lag=prompt, receive_lag=prompt).valid
    masked = checked(poisson(), loop_lag=late, receive_lag=prompt)
    assert "event-loop lag P99 was 50.0 ms" in masked.reasons[0]
    found = checked(poisson(), loop_lag=prompt, receive_lag=late)
    assert found.status == "invalid"
    assert "receive lag P99 was 50.0 ms" in found.reasons[0]
    assert found.numbers["receive_lag_ms"]["p99"] == pytest.approx(50.0, rel=1e-3)


def test_what_samples_can_not_show_makes_a_run_invalid_too() -> None:
    valid = checked(poisson())
    assert valid.worsened(()) is valid
    lost = valid.worsened(("A worker was lost.",))
    assert (lost.status, lost.reasons) == ("invalid", ("A worker was lost.",))
