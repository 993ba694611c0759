"""What makes a request bad."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from documents.problem import DocumentError
from measurement.comparison.criterion import Criterion, frozen_threshold
from measurement.outcome import Outcome
from measurement.slo import judge
from tests.measurement.builders import answered, failed, sample_lists, slo

ATTAINMENT = Criterion.parse({"kind": "attainment"})
ERRORS = Criterion.parse({"kind": "errors"})
TTFT = Criterion.parse({"kind": "exceedance", "metric": "ttft_ms", "threshold": 500})


def bad(criterion: Criterion, sample: Any, under: Any = None) -> bool | None:
    return criterion.bad(sample, judge(sample, under))


@pytest.mark.parametrize(
    "outcome",
    [o for o in Outcome if not o.success and o is not Outcome.CANCELLED],
)
def test_whatever_fails_is_rejected_or_shed_is_bad_by_every_criterion(outcome: Outcome) -> None:
    sample = failed(outcome)
    assert [bad(c, sample, slo()) for c in (ATTAINMENT, ERRORS, TTFT)] == [True, True, True]


def test_an_answer_is_bad_where_it_misses_the_slo_or_passes_tau() -> None:
    slow = answered(first_token_at=0.6)
    assert bad(ATTAINMENT, slow, slo({"metric": "ttft_ms", "max": 550})) is True
    assert bad(ATTAINMENT, slow, slo({"metric": "ttft_ms", "max": 650})) is False
    assert bad(TTFT, slow, slo({"metric": "ttft_ms", "max": 650})) is True
    assert bad(ERRORS, slow) is False


def test_an_answer_without_the_value_is_neither() -> None:
    unstreamed = answered(first_token_at=None, first_answer_at=None)
    assert bad(TTFT, unstreamed) is None
    assert bad(ATTAINMENT, unstreamed, slo()) is None


@given(sample_lists())
def test_attainment_is_what_the_slo_says(samples: list[Any]) -> None:
    under = slo({"metric": "ttft_ms", "max": 900}, {"metric": "error", "max": 0})
    for sample in samples:
        judgement = judge(sample, under)
        if not judgement.excluded:
            assert (bad(ATTAINMENT, sample, under) is not True) is judgement.met


def test_each_kind_has_its_margin_and_a_name() -> None:
    assert (ATTAINMENT.pass_margin, TTFT.pass_margin, ERRORS.pass_margin) == (0.01, 0.005, 0.001)
    assert TTFT.base == 0.01
    assert (TTFT.name, TTFT.label) == ("ttft_ms_p99", "TTFT P99 ≤ 500 ms")
    for criterion in (ATTAINMENT, ERRORS, TTFT):
        assert Criterion.parse(criterion.to_document()) == criterion


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"kind": "mann_whitney"}, "kind"),
        ({"kind": "exceedance", "threshold": 5}, "metric"),
        ({"kind": "exceedance", "metric": "ttft_ms"}, "threshold"),
        ({"kind": "errors", "threshold": 5}, "metric"),
        ({"kind": "attainment", "pass_margin": 0}, "pass_margin"),
        ({"kind": "attainment", "margin": 0.1}, "margin"),
        ("attainment", ""),
    ],
)
def test_a_criterion_that_makes_no_sense_is_refused_with_its_path(given: Any, path: str) -> None:
    with pytest.raises(DocumentError) as error:
        Criterion.parse(given)
    assert path in [problem.path for problem in error.value.problems]


def test_tau_is_the_baselines_percentile_and_a_margin_with_failures_as_infinite() -> None:
    run = [answered(first_token_at=(k + 1) / 1000) for k in range(99)]
    run.append(failed(Outcome.SHED))
    assert frozen_threshold(run, "ttft_ms", 0.99, 0.1) == pytest.approx(99 * 1.1)
    with pytest.raises(DocumentError, match="fails more often"):
        frozen_threshold([*run, failed(Outcome.SHED)], "ttft_ms", 0.99, 0.1)
    with pytest.raises(DocumentError, match="no sample has a TTFT"):
        frozen_threshold([], "ttft_ms", 0.99, 0.1)
