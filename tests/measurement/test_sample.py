"""One request's metrics, with the faults of other tools that must not come back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.sample_json import from_dict, from_line, to_dict, to_line
from tests.measurement.builders import answered, failed, sample_lists


def test_both_clocks_are_kept_and_the_intended_start_comes_first() -> None:
    late = answered(at=1.0, sent_at=3.0, first_token_at=3.5, done_at=4.0)
    assert (late.ttft, late.service_ttft) == (2.5, 0.5)
    assert (late.e2e, late.service_e2e) == (3.0, 1.0)
    assert late.send_lag == 2.0


def test_the_hold_of_a_policy_is_told_from_the_clients_own_lag() -> None:
    held = answered(handed_at=0.25, admitted_at=1.5, sent_at=1.75)
    assert (held.client_lag, held.hold, held.send_lag) == (0.25, 1.25, 1.75)


def test_tpot_leaves_out_the_tokens_of_the_first_chunk() -> None:
    bundled = answered(first_token_at=1.0, last_token_at=3.0, output_tokens=12)
    assert answered(output_tokens=5).tpot == pytest.approx(0.1)
    assert Sample(**{**_fields(bundled), "first_chunk_tokens": 4}).tpot == 2.0 / 8


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 4), (None, 1), (5, None)])
def test_tpot_is_null_without_a_token_after_the_first_chunk(n: int | None, k: int | None) -> None:
    assert answered(output_tokens=n, first_chunk_tokens=k).tpot is None


def test_null_is_never_zero_where_no_token_came() -> None:
    nothing = failed(Outcome.EMPTY)
    found = (nothing.ttft, nothing.service_ttft, nothing.ttfat, nothing.tpot, nothing.e2e)
    assert found == (None,) * 5
    assert (nothing.mean_gap, nothing.longest_gap, nothing.normalised_latency) == (None,) * 3


def test_an_answer_that_was_not_streamed_has_an_end_and_no_first_token() -> None:
    whole = answered(first_token_at=None, last_token_at=None, first_chunk_tokens=None, gaps=())
    assert (whole.ttft, whole.tpot, whole.e2e) == (None, None, 0.5)
    assert whole.normalised_latency == pytest.approx(0.1)


def test_reasoning_counts_for_ttft_and_content_for_ttfat() -> None:
    thought = answered(first_token_at=0.2, first_answer_at=0.9)
    assert (thought.ttft, thought.ttfat) == (0.2, 0.9)


def test_a_stall_shows_as_the_longest_gap() -> None:
    assert answered(gaps=(0.02,) * 500 + (30.0,)).longest_gap == 30.0


def test_gaps_weigh_what_their_chunk_carried() -> None:
    bundled = answered(gaps=(0.4, 0.1), gap_tokens=(4, 1))
    assert bundled.token_gaps == (0.1, 0.1)
    assert bundled.mean_gap == pytest.approx(0.1)
    assert answered(gaps=(0.4, 0.1)).mean_gap == pytest.approx(0.25)


@given(sample_lists())
def test_a_line_brings_back_the_same_sample_to_the_last_bit(samples: list[Sample]) -> None:
    for sample in samples:
        assert from_line(to_line(sample)) == sample
        assert from_dict(json.loads(json.dumps(to_dict(sample)))) == sample
        assert "\n" not in to_line(sample)


def test_a_line_leaves_out_what_is_unknown() -> None:
    shed = Sample(index=0, tenant="acme", intended_at=0.0, outcome=Outcome.SHED)
    assert to_dict(shed) == {"index": 0, "tenant": "acme", "intended_at": 0.0, "outcome": "shed"}


def test_a_line_keeps_any_text() -> None:
    odd = failed(Outcome.MALFORMED, error='<html>\n"é€😀')
    assert from_line(to_line(odd)) == odd


def _fields(sample: Sample) -> dict[str, object]:
    return {name: getattr(sample, name) for name in Sample.__slots__}
