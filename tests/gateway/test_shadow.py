"""A gateway's shadow decides on what each lane sees; nobody obeys it, and it may fail alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from documents.problem import DocumentError
from gateway.config_reader import parse
from gateway.criteria import CriterionConfig, count_into
from gateway.lane_shadow import LaneShadow
from measurement.comparison.block import Count, count_arm
from measurement.comparison.criterion import Criterion
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo
from schedulers.concurrency.base import Observation, OutcomeKind
from tests.controlplane.gateways.saying import Process
from tests.gateway.serving import document, lane, policy, slo

URL = "http://127.0.0.1:8000"
ACTIVE, BESIDE = policy("active", limit=4), policy("beside", limit=2)


def shadowed(**more: Any) -> dict[str, Any]:
    return document(URL, policies=(ACTIVE, BESIDE), shadow=BESIDE.sha256, **more)


@pytest.mark.parametrize(
    ("shadow", "says"),
    [("0" * 64, "none of the policies"), (ACTIVE.sha256, "at no point that acts here"),
     ("steady", "64 hex digits"), (7, "64 hex digits")],
)  # fmt: skip
def test_a_shadow_that_can_not_be_one_is_refused(shadow: Any, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        parse(document(URL, policies=(ACTIVE, BESIDE), shadow=shadow))


def seen() -> Observation:
    return Observation(started_at=0.0, in_flight=3, kind=OutcomeKind.OK, latency=0.1)


async def test_it_sees_every_grant_and_observation_of_its_lane(tmp_path: Any) -> None:
    process = Process(shadowed(), tmp_path, 100.0)
    (one,) = process.router.lanes.values()
    permits = [one.limiter.try_acquire() for _ in range(4)]
    assert all(permits)
    for permit in permits:
        one.limiter.release(permit)
    (said,) = process.batch()["shadow"]
    assert (said["lane"], said["policy"]) == ("p", BESIDE.sha256)
    report = said["report"]
    assert (report["granted"], report["would_have_held"], report["steps"]) == (4, 2, 4)
    assert report["agreement"] == 0.0
    assert report["diverged"] == {"at": 100.0, "active": 4, "shadow": 2}
    assert one.limiter.limit == 4


async def test_it_goes_on_when_the_lane_takes_another_version(tmp_path: Any) -> None:
    process = Process(shadowed(), tmp_path, 100.0)
    (one,) = process.router.lanes.values()
    one.limiter.release(one.limiter.try_acquire())
    third = policy("third", limit=9)
    process.configure(document(URL, policies=(third, BESIDE), shadow=BESIDE.sha256, revision=2))
    one.limiter.release(one.limiter.try_acquire())
    assert process.batch()["shadow"][0]["report"]["steps"] == 2
    process.configure(document(URL, policies=(third,), revision=3))
    assert process.batch()["shadow"] == []


def test_a_shadow_that_fails_ends_alone_and_says_why() -> None:
    class Broken:
        def start(self) -> int:
            return 0

        def limit(self, state: int) -> int:
            return 5

        def step(self, state: int, seen: Observation, now: float) -> Any:
            raise ZeroDivisionError("no latency")

    beside = LaneShadow(lambda: 0.0)
    beside.run(BESIDE, Broken())  # type: ignore[arg-type]
    beside.granted(1)
    beside.observed(seen(), 1.0, 4)
    beside.observed(seen(), 2.0, 4)
    assert beside.fault == "ZeroDivisionError: no latency"
    assert beside.report is None


def sample(outcome: Outcome, ttft: float | None) -> Sample:
    first = None if ttft is None else 10.0 + ttft
    return Sample(
        index=1, tenant="a", intended_at=10.0, handed_at=10.0, sent_at=10.0, outcome=outcome,
        first_token_at=first, last_token_at=first, done_at=12.0, output_tokens=4,
    )  # fmt: skip


def test_criteria_count_as_a_load_tests_do() -> None:
    objectives = Slo.parse(slo(ttft_ms=500))
    criteria = [
        Criterion.parse({"kind": "attainment"}),
        Criterion.parse({"kind": "errors"}),
        Criterion.parse({"kind": "exceedance", "metric": "ttft_ms", "threshold": 300}),
    ]
    samples = [
        sample(Outcome.OK, 0.1), sample(Outcome.OK, 0.4), sample(Outcome.OK, 0.9),
        sample(Outcome.SHED, None), sample(Outcome.CANCELLED, None), sample(Outcome.HTTP_5XX, None),
    ]  # fmt: skip
    told = tuple(CriterionConfig(c.name, c.kind, c.metric, c.threshold) for c in criteria)
    counts: dict[str, Count] = {}
    for one in samples:
        count_into(counts, one, objectives, told)
    assert counts == count_arm(samples, objectives, criteria).counts
    assert counts["ttft_ms_p99"] == Count(offered=6, bad=5)  # cancelled too late


def test_a_canarys_criteria_come_back_as_they_were_and_name_it() -> None:
    canary = {"candidate": BESIDE.sha256, "seed": 1, "starts_at": 0, "blocks": 40, "slot_s": 30,
              "lanes": ["p", "q"]}  # fmt: skip
    two = {"lanes": [lane("p", URL), lane("q", URL)], "policies": (ACTIVE, BESIDE)}
    criteria = [{"name": "fast", "kind": "exceedance", "metric": "ttft_ms", "threshold": 300}]
    config = parse(document(URL, **two, canary=canary | {"criteria": criteria}))
    assert parse(json.loads(json.dumps(config.to_document()))) == config
    assert config.canary is not None
    assert config.canary.to_document()["criteria"] == criteria
    plain = parse(document(URL, **two, canary=canary))
    assert plain.canary is not None
    assert plain.canary.sha256 != config.canary.sha256
    bad = [{"name": "x", "kind": "exceedance"}, {"name": "x", "kind": "errors"}]
    with pytest.raises(DocumentError) as error:
        parse(document(URL, **two, canary=canary | {"criteria": bad}))
    paths = {problem.path for problem in error.value.problems}
    assert "canary.criteria.0.metric" in paths
