"""Thresholds on runs: the bound decides, failures count, and too few requests decide nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from measurement.column_builder import columns_of
from measurement.gate_verdict import combine
from measurement.outcome import Outcome
from measurement.proportion import lower_bound
from measurement.sample import Sample
from measurement.threshold_verdict import ThresholdVerdict, judge_thresholds
from measurement.thresholds import Threshold
from measurement.verdict import judge_samples
from tests.measurement.builders import answered, failed, slo

SECONDS = 100


def judged(text: str, samples: Sequence[Sample], *, start: float = 0.0) -> ThresholdVerdict:
    threshold = Threshold.parse(text)
    [found] = judge_thresholds([threshold], columns_of(samples), slo(), start=start, end=SECONDS)
    return found


def run(n: int, *, bad: int = 0, outcome: Outcome | None = None) -> list[Sample]:
    """n requests over the run; each n/bad-th is slow (2 s to its first token), or ends like so."""
    every = n // bad if bad else n + 1
    made = []
    for index in range(n):
        at = index * SECONDS / n
        if (index + 1) % every:
            made.append(answered(index, at))
        elif outcome is None:
            made.append(answered(index, at, first_token_at=at + 2.0))
        else:
            made.append(failed(outcome, index, at))
    return made


def test_a_percentile_passes_when_the_lower_bound_of_the_share_within_reaches_it() -> None:
    found = judged("ttft_ms: p(95)<800", run(1_000))
    assert (found.outcome, found.share, found.value) == ("pass", 1.0, pytest.approx(100))
    assert found.lower == pytest.approx(lower_bound(1_000, 1_000, 0.95))
    assert "100.00 % of 1,000 offered requests had TTFT ≤ 800 ms" in found.because


def test_it_fails_when_the_upper_bound_is_under() -> None:
    found = judged("ttft_ms: p(95)<800", run(1_000, bad=100))
    assert found.outcome == "fail"
    assert found.upper is not None
    assert found.upper < 0.95
    assert found.because.startswith("Fails because 90.00 % of 1,000")


def test_between_the_bounds_it_is_inconclusive_and_says_how_many_more() -> None:
    found = judged("ttft_ms: p(95)<800", run(200, bad=8))
    assert found.outcome == "inconclusive"
    assert found.needed
    assert f"about {found.needed:,} more" in found.because


def test_failures_are_beyond_every_limit() -> None:
    found = judged("ttft_ms: p(95)<800", run(1_000, bad=100, outcome=Outcome.HTTP_5XX))
    assert found.outcome == "fail"
    assert found.value == pytest.approx(100), "of the successes"


def test_below_the_sample_size_rule_there_is_no_value_and_nothing_is_decided() -> None:
    found = judged("ttft_ms: p(95)<800", run(71))
    assert (found.outcome, found.value, found.needed) == ("inconclusive", None, 1)
    assert "71 requests say something of TTFT, and P95 takes 72" in found.because
    assert judged("ttft_ms: p(95)<800", run(72)).outcome == "pass"


def test_warm_up_is_cut() -> None:
    slow = [answered(i, i / 10, first_token_at=i / 10 + 5) for i in range(100)]
    rest = [answered(i, i / 10) for i in range(100, 1_000)]
    assert judged("ttft_ms: p(95)<800", slow + rest, start=10.0).outcome == "pass"
    assert judged("ttft_ms: p(95)<800", slow + rest).outcome != "pass"


@pytest.mark.parametrize("text", ["itl_ms: p(95)<500", "longest_gap_ms: p(50)<500"])
def test_every_latency_of_a_request_can_be_asked(text: str) -> None:
    assert judged(text, run(1_000)).value == pytest.approx(100)


@pytest.mark.parametrize(("bad", "outcome"), [(0, "pass"), (20, "inconclusive"), (100, "fail")])
def test_the_error_rate_is_what_is_left_of_the_good(bad: int, outcome: str) -> None:
    found = judged("errors<=0.02", run(1_000, bad=bad, outcome=Outcome.CONNECT))
    assert found.outcome == outcome
    assert found.value == pytest.approx(bad / 1_000)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= bad / 1_000 <= found.upper


def test_a_rejection_is_no_error_and_an_error_no_rejection() -> None:
    rejections = run(1_000, bad=100, outcome=Outcome.REJECTED_429)
    assert judged("errors<=0.02", rejections).outcome == "pass"
    assert judged("rejected<=0.02", rejections).outcome == "fail"


def test_attainment_is_judged_as_the_verdict_judges_the_joint() -> None:
    samples = run(1_000, bad=20)
    found = judged("attainment>=0.99", samples)
    verdict = judge_samples(columns_of(samples), slo())
    joint = verdict.objectives[0]
    assert (found.outcome, found.value) == (joint.outcome, joint.attainment)
    assert (found.lower, found.upper) == (joint.lower, joint.upper)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("goodput_rps>9", "pass"), ("goodput_rps>9.5", "inconclusive"), ("goodput_rps>9.9", "fail")],
)
def test_goodput_is_a_share_of_the_offered_rate(text: str, outcome: str) -> None:
    found = judged(text, run(1_000, bad=50))
    assert found.outcome == outcome
    assert found.value == pytest.approx(9.5)


def test_goodput_over_the_offered_rate_can_t_be() -> None:
    found = judged("goodput_rps>=12", run(1_000))
    assert found.outcome == "fail"
    assert "only 10.00 requests/s were offered" in found.because


@pytest.mark.parametrize(
    ("text", "outcome"), [("achieved_rate>=10", "pass"), ("achieved_rate<10", "fail")]
)
def test_a_fact_of_the_run_is_compared_as_it_stands(text: str, outcome: str) -> None:
    assert judged(text, run(1_000)).outcome == outcome


def test_of_no_requests_nothing_is_said() -> None:
    for text in ("ttft_ms: p(50)<800", "attainment>=0.9", "errors<=0.1"):
        assert judged(text, []).outcome == "inconclusive"


def a_threshold(outcome: str) -> ThresholdVerdict:
    return ThresholdVerdict("errors<=0.01", "error rate <= 1 %", "errors", outcome, "So it is.")


@pytest.mark.parametrize(
    ("own", "thresholds", "outcome", "code"),
    [
        ("pass", ["pass", "pass"], "pass", 0),
        ("pass", ["pass", "fail"], "fail", 10),
        ("pass", ["inconclusive"], "inconclusive", 12),
        ("inconclusive", ["pass"], "inconclusive", 12),
        ("inconclusive", ["fail"], "fail", 10),
        ("fail", ["inconclusive"], "fail", 10),
        ("invalid", ["fail"], "invalid", 13),
        ("pass", [], "pass", 0),
    ],
)
def test_a_gates_outcome_is_the_worst_of_both_and_invalid_before_all(
    own: str, thresholds: list[str], outcome: str, code: int
) -> None:
    judgement = {"outcome": own, "because": "The run said so.", "label": ""}
    found = combine(judgement, [a_threshold(word) for word in thresholds])
    assert (found.outcome, found.exit_code) == (outcome, code)
    assert found.because


def test_a_run_without_objectives_leaves_the_word_to_the_thresholds() -> None:
    judgement = {"outcome": "pass", "because": "No objectives.", "label": "no objectives"}
    found = combine(judgement, [a_threshold("pass")])
    assert (found.outcome, found.because) == ("pass", "error rate <= 1 %: So it is.")


def test_a_run_in_which_nothing_succeeded_passes_no_gate() -> None:
    judgement = {"outcome": "pass", "because": "No objectives.", "label": "no objectives"}
    assert combine(judgement, [a_threshold("pass")], silent=True).exit_code == 30
