"""The sentence under a criterion's figure says what the figure can't."""

from __future__ import annotations

import pytest

from controlplane.rollouts.charting import sentence
from measurement.comparison.verdict import Evidence, judge
from tests.measurement.comparison.builders import blocks, plan


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (60, "0 good requests in 30 blocks: too few for the band to be believed."),
        (0, "0 bad requests in 30 blocks: too rare for the band to be believed."),
    ],
)
def test_a_band_that_nearly_equal_requests_made_is_not_believed(bad: int, said: str) -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.01, "scale": 0.05}, blocks=60)
    verdict = judge(of, Evidence(blocks(of, [bad] * 30, [bad] * 30))).to_json()
    assert sentence(verdict["criteria"][0]) == said


def test_what_a_person_passed_is_not_told_as_passed_by_clean_blocks() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.01, "scale": 0.05}, blocks=60)
    evidence = Evidence(blocks(of, [0] * 30, [1] + [0] * 29), accepted={"attainment": "Ada"})
    verdict = judge(of, evidence).to_json()
    said = "1 bad requests in 30 blocks: too rare for the band to be believed. Ada passed it."
    assert sentence(verdict["criteria"][0]) == said
