"""A load test held to a whole policy, in virtual time: taken, ranked, sent again, or shed."""

from __future__ import annotations

import asyncio
import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from loadtest import facts as run_facts
from loadtest.behaviour import Retries
from loadtest.conclusion import FINISHED, Seen, conclude
from loadtest.crew_rules import problems as crew_problems
from loadtest.scenario import Scenario, Tenant
from measurement.column_builder import columns_of
from measurement.outcome import Outcome
from measurement.slo import Slo
from schedulers.runtime.first_tokens import FirstTokens
from schedulers.signals import Signals
from tests.loadtest.driven import driven
from tests.loadtest.fakes import FakeEngine, Ran, run
from tests.loadtest.simulation.policies import FIXED, play, policy, slo
from tests.loadtest.test_driver import reconcile
from tests.loadtest.test_scenario import document

ONE = {"concurrency": {"law": "fixed", "limit": 1}}
FEW = {"law": "fixed", "limit": 6}
SLOW = (1.0, 0.0, Outcome.OK)


def refusing(times: int, outcome: Outcome = Outcome.REJECTED_429) -> FakeEngine:
    return FakeEngine(lambda nth: (0.1, 0.01, outcome if nth < times else Outcome.OK))


def test_what_the_admission_law_refuses_is_shed_and_never_sent() -> None:
    """A bucket of 120 weighted tokens holds 7 requests of 16, and 10 more come in 10 seconds."""
    bucket = {"law": "token_bucket", "rate": 16, "burst": 120, "max_wait_s": 0}
    ran = run(FakeEngine(), policy=policy(admission=bucket), process="constant", rate=3.0)
    reconcile(ran)
    assert set(ran.outcomes) == {"ok", "shed"}
    assert 15 <= ran.outcomes["ok"] <= 18
    shed = [sample for sample in ran.samples if sample.outcome is Outcome.SHED]
    assert all(each.sent_at is None and (each.retry_after or 0) > 0 for each in shed)
    assert all("spent its budget" in each.error for each in shed)
    assert len(ran.engine.requests) == ran.outcomes["ok"]
    assert ran.reasons("admission").count("tenant_budget") == len(shed)


def test_the_ordering_law_says_who_of_those_that_wait_is_next() -> None:
    tiers = {"urgent": Tenant("vip"), "patient": Tenant("batch")}
    ran = run(
        FakeEngine(lambda _: SLOW), policy=policy(**ONE, ordering={"law": "priority"}),
        tenants=tiers, process="constant", rate=4.0, duration=5.0, drain=60,
    )  # fmt: skip
    reconcile(ran)
    waits = {
        name: [each.hold or 0.0 for each in ran.samples if each.tenant == name] for name in tiers
    }
    assert ran.outcomes == {"ok": 20}
    assert max(waits["urgent"]) < sum(waits["patient"]) / len(waits["patient"])
    assert "in_turn" in ran.reasons("ordering")


def test_what_could_not_be_in_time_is_dropped_as_soon_as_the_pace_is_known() -> None:
    ran = run(
        FakeEngine(lambda _: SLOW), policy=policy(**ONE, ordering={"law": "edf"}),
        slo=Slo.parse(slo(1500)), process="constant", rate=2.0, duration=10.0,
    )  # fmt: skip
    reconcile(ran)
    assert ran.outcomes["shed"] > 5
    late = [each.index for each in ran.samples if each.ttft is not None and each.ttft > 1.5]
    assert all(index < 3 for index in late), "they came before the first token had told the pace"
    assert ran.reasons("ordering").count("hopeless") == ran.outcomes["shed"]


def test_the_policys_retry_law_wins_over_the_clients_own_and_keeps_every_attempt() -> None:
    engine = refusing(2)
    ran = run(
        engine,
        policy=policy(retry={"law": "full_jitter", "base_ms": 100, "max_attempts": 2}),
        retries=Retries(max=5, base_ms=10.0),
        process="constant", rate=1.0, duration=0.5,
    )  # fmt: skip
    reconcile(ran)
    (sample,) = ran.samples
    assert (sample.outcome, len(engine.sent)) == (Outcome.REJECTED_429, 2)
    assert [each.outcome for each in sample.attempts] == [Outcome.REJECTED_429]
    assert ran.reasons("retry") == ["retried", "attempts_spent"]


def test_all_requests_share_the_retry_budget() -> None:
    law = {"law": "full_jitter", "base_ms": 10, "budget": 0.0, "reserve": 5}
    engine = refusing(10_000)
    ran = run(engine, policy=policy(retry=law), process="constant", rate=10.0)
    reconcile(ran)
    assert len(engine.sent) == 100 + 5
    assert sum(len(each.attempts) for each in ran.samples) == 5


def test_a_request_that_is_tried_again_waits_for_its_turn_again() -> None:
    engine = refusing(1)
    laws = {**ONE, "admission": {"law": "always"}, "retry": {"law": "full_jitter", "base_ms": 50}}
    ran = run(engine, policy=policy(**laws), process="constant", rate=2.0, duration=1.0)
    reconcile(ran)
    assert ran.outcomes == {"ok": 2}
    assert ran.reasons("admission") == ["admitted"] * 3


@pytest.mark.parametrize("outcome", [Outcome.HTTP_4XX, Outcome.INCOMPLETE, Outcome.TIMEOUT_IDLE])
def test_what_may_have_done_work_is_not_sent_again(outcome: Outcome) -> None:
    engine = refusing(1, outcome)
    ran = run(
        engine, policy=policy(retry={"law": "full_jitter"}),
        process="constant", rate=1.0, duration=0.5,
    )  # fmt: skip
    assert (len(engine.sent), ran.reasons("retry")) == (1, ["not_retryable"])


def test_a_client_that_throttles_itself_sheds_without_sending() -> None:
    law = {"law": "client_throttle", "max_attempts": 1}
    engine = refusing(10_000)
    ran = run(engine, policy=policy(retry=law), process="constant", rate=10.0)
    reconcile(ran)
    assert ran.outcomes["shed"] > 20
    assert len(engine.sent) == 100 - ran.outcomes["shed"]
    assert ran.reasons("retry").count("throttled") == ran.outcomes["shed"]


def test_a_law_that_reads_the_engine_takes_one_at_a_time_while_its_reading_is_stale() -> None:
    """Three polls after the last reading, and before the first."""

    def until(last: float) -> Ran:
        def read() -> Signals:
            now = asyncio.get_running_loop().time()
            return Signals(read_at=min(math.floor(now), last), running=0, waiting=0, kv_used=0.1)

        laws = policy(admission={"law": "saturation", "queue_depth": 50})
        slow = FakeEngine(lambda _: (3.0, 0.01, Outcome.OK))
        return run(slow, policy=laws, signals=read, process="constant", rate=2.0, drain=1.0)

    seen, lost, never = until(math.inf), until(2.0), until(-math.inf)
    for ran in (seen, lost, never):
        reconcile(ran)
    assert set(seen.reasons("admission")) == {"admitted"}
    assert seen.engine.most_open > 5
    fresh = [at for at in lost.engine.sent if at <= 5.0]
    assert (len(fresh), set(lost.reasons("admission"))) == (11, {"admitted", "stale_signals"})
    assert len(lost.engine.sent) <= 12, "the last of those ends at 8"
    assert (never.engine.most_open, set(never.reasons("admission"))) == (1, {"stale_signals"})


def test_whoever_waits_in_the_queue_is_given_up_at_the_end_and_leaves_nothing() -> None:
    laws = policy(**ONE, admission={"law": "kv_reserve"}, ordering={"law": "vtc"})
    ran = run(FakeEngine(lambda _: (60.0, 0.0, Outcome.OK)), policy=laws, cancel_at=5.0)
    reconcile(ran)
    assert set(ran.outcomes) == {"cancelled"}


def test_first_tokens_are_foretold_along_a_line_in_prompt_tokens() -> None:
    line = FirstTokens()
    assert line.foretold(100, 0.0) is None
    for tokens in itertools.islice(itertools.cycle((100, 400, 900)), 30):
        line.heard(tokens, 0.05 + tokens / 10_000, 1.0)
    assert line.foretold(2000, 1.0) == pytest.approx(0.25)
    assert line.foretold(2000, 1.25) == pytest.approx(0.25), "one may be on its way"
    assert line.foretold(2000, 1.4) == pytest.approx(0.1), "what stood there is worked off"
    assert line.foretold(2000, 9.0) == 0.0
    alike = FirstTokens()
    for _ in range(30):
        alike.heard(500, 0.2, 1.0)
    assert alike.foretold(5000, 1.0) == pytest.approx(0.2)


def test_a_law_that_must_see_every_request_has_one_worker() -> None:
    def asked(**laws: Any) -> list[str]:
        scenario = Scenario.parse(document() | {"policy": policy(**laws)})
        return [problem.message for problem in crew_problems(scenario, 2)]

    fixed = {"concurrency": {"law": "fixed", "limit": 8}}
    assert asked(**fixed, ordering={"law": "fcfs"}, retry={"law": "none"}) == []
    for point, name in (("admission", "kv_reserve"), ("ordering", "edf"), ("retry", "full_jitter")):
        (told,) = asked(**fixed, **{point: {"law": name}})
        assert f"the {point} law {name}" in told


def test_where_both_say_who_is_tried_again_the_notes_say_that_the_policy_did() -> None:
    both = {"policy": policy(retry={"law": "none"}), "retries": {"max": 2}}
    notes = []
    for given in (both, {"retries": {"max": 2}}):
        scenario = Scenario.parse(document() | given)
        facts = run_facts.Facts(0.0, "1", 0, "s")
        notes.append(conclude(columns_of([]), scenario, facts, Seen([], 10.0), FINISHED).notes)
    assert any("retry law (none)" in note for note in notes[0])
    assert not any("retry law" in note for note in notes[1])


TENANTS = {
    "workload": FIXED | {"tenants": {"urgent": 1, "patient": 1}},
    "tenants": {"urgent": {"tier": "vip"}, "patient": {"tier": "batch"}},
    "arrivals": {"process": "poisson", "rate": 20},
    "duration_s": 8,
    "slo": slo(800),
}
WHOLE_POLICIES = (
    {"admission": {"law": "token_bucket", "rate": 2000, "burst": 9000, "max_wait_s": 1}},
    {"admission": {"law": "watermark", "yellow": 0.05, "red": 0.3}, "concurrency": FEW},
    {"admission": {"law": "kv_reserve", "max_running": 8}, "ordering": {"law": "vtc"}},
    {
        "admission": {"law": "kv_reserve"},
        "ordering": {"law": "slack_density"},
        "concurrency": {"law": "adaptive_bdp"},
    },
    {
        "admission": {"law": "codel", "target_ms": 50, "interval_ms": 500},
        "ordering": {"law": "edf"},
        "concurrency": {"law": "aimd"},
    },
)


@pytest.mark.parametrize("laws", WHOLE_POLICIES, ids=lambda laws: laws["admission"]["law"])
def test_the_same_document_decides_the_same_in_the_model_and_in_a_load_test(
    laws: dict[str, Any], tmp_path: Path
) -> None:
    """The whole trace, line by line: who is taken, who is next, how many may be in flight.

    An event loop wakes up to a millisecond after a law's time has come, the model to the instant.
    """
    simulated = play(tmp_path, laws, **TENANTS)
    samples, decisions = driven(laws, **TENANTS)
    ours = [one.to_json() for one in decisions]
    theirs = simulated.decisions
    for one, other in zip(ours, theirs, strict=True):
        assert one["at"] == pytest.approx(other["at"], abs=0.002)
        assert one["inputs"] == pytest.approx(other["inputs"], abs=0.005)
        assert {**one, "at": 0, "inputs": 0} == {**other, "at": 0, "inputs": 0}
    assert len(samples) == len(simulated.samples) > 130
    for sample, other in zip(samples, simulated.samples, strict=True):
        assert (sample.outcome is Outcome.SHED) == (other.outcome is Outcome.SHED)
