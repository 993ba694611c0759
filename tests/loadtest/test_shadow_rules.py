"""A shadow in a scenario: what may stand beside what, and what is said of one that did."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest.scenario import Scenario
from loadtest.shadow_rules import percent, sentences
from schedulers.document import Policy
from schedulers.runtime.shadow import Divergence, ShadowReport
from tests.loadtest.test_scenario import POLICY, document

BEFORE_SHADOWS = "aaa2716610ca34861e0adb7ca915c9fe539e7d1dda53226d5644e6352ce2df48"
"""What ``document()`` hashed to when no scenario could have a shadow."""


def policy(name: str = "q", **concurrency: Any) -> dict[str, Any]:
    given = copy.deepcopy(POLICY)
    given["metadata"]["name"] = name
    given["spec"]["concurrency"].update(concurrency)
    return given


def refusal(**changes: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        Scenario.parse(document(**changes))
    (problem,) = caught.value.problems
    assert problem.path == "shadow"
    return problem.message


@pytest.mark.parametrize("shadow", [..., None])
def test_a_scenario_without_a_shadow_keeps_its_hash(shadow: Any) -> None:
    scenario = Scenario.parse(document(shadow=shadow))
    assert scenario.sha256 == BEFORE_SHADOWS
    assert "shadow" not in scenario.to_document()


def test_a_shadow_is_part_of_the_scenario_and_survives_its_document() -> None:
    scenario = Scenario.parse(document(shadow=policy(limit=8)))
    assert scenario.sha256 != BEFORE_SHADOWS
    assert Scenario.parse(scenario.to_document()) == scenario


def test_a_fault_inside_the_shadow_is_told_below_it() -> None:
    with pytest.raises(DocumentError) as caught:
        Scenario.parse(document(shadow=policy(limit=-1)))
    assert [it.path for it in caught.value.problems] == ["shadow.spec.concurrency.limit"]


def test_the_active_policy_itself_shows_nothing() -> None:
    assert "is the active policy itself" in refusal(shadow=POLICY)


def test_another_name_for_the_same_laws_shows_nothing() -> None:
    assert "it would show nothing" in refusal(shadow=policy("other"))


def test_without_an_active_concurrency_law_there_is_nothing_to_see() -> None:
    assert "needs an active policy" in refusal(policy=None, shadow=policy(limit=8))


def test_a_shadow_that_fills_no_decision_point_of_a_load_test_shows_nothing() -> None:
    empty = Policy(Policy.parse(policy()).metadata, {})
    given = Scenario.parse(document())
    with pytest.raises(DocumentError, match="has no concurrency law"):
        Scenario(given.endpoint, given.workload, given.arrivals, 60.0, given.policy, empty)


def test_what_came_of_it_is_said_in_two_sentences() -> None:
    report = ShadowReport(
        steps=1_000,
        agreeing=999,
        diverged=Divergence(4.26, 40, 26),
        would_have_held=12,
        granted=1_200,
        would_have_sent=1,
    )
    agreed, held = sentences(report, over=True)
    assert agreed == (
        "Agreed in 99.9 % of 1,000 steps; first diverged at 4.3 s, active 40, shadow 26."
    )
    assert held == (
        "It would have held back 12 of 1,200 requests, and would have sent more at 1 step, "
        "at which requests waited and it had room."
    )


def test_a_shadow_that_never_differed_says_so() -> None:
    agreed, held = sentences(ShadowReport(steps=1, agreeing=1, granted=1), over=True)
    assert agreed == "Agreed in 100.0 % of 1 step; the limits never differed by more than a tenth."
    assert held.endswith("and never had room while requests waited.")


def test_before_a_request_has_ended_nothing_is_claimed() -> None:
    assert sentences(ShadowReport(), over=False)[0].startswith("Nothing to compare yet")
    assert "never compared" in sentences(ShadowReport(), over=True)[0]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (1e-6, "0.1 %"), (0.5, "50.0 %"), (0.999999, "99.9 %"), (1.0, "100.0 %")],
)
def test_a_share_reads_as_all_or_nothing_only_when_it_is(share: float, text: str) -> None:
    assert percent(share) == text
