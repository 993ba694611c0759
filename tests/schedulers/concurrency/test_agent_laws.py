"""The laws that count agents: what they do with what a host of agents sees."""

from __future__ import annotations

from typing import Any

import pytest

from documents.problem import DocumentError
from schedulers.concurrency.base import AgentLoad, Observation, OutcomeKind, laws


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


def limits(it: Any, loads: list[AgentLoad], every: float = 6.0) -> list[int]:
    state, found = it.start(), []
    for turn, load in enumerate(loads):
        now = 1.0 + turn * every
        seen = Observation(started_at=now, in_flight=1, kind=OutcomeKind.TICK, agents=load)
        state, _ = it.step(state, seen, now)
        found.append(it.limit(state))
    return found


def load(**given: Any) -> AgentLoad:
    facts: dict[str, Any] = {"active": 40, "contexts": 100_000.0, "kv_tokens": 400_000}
    return AgentLoad(**(facts | given))


def test_concur_grows_when_empty_cuts_when_prefixes_are_lost_and_else_holds() -> None:
    empty, between = load(kv_used=0.1, hit_rate=0.9), load(kv_used=0.4, hit_rate=0.1)
    full = load(kv_used=0.9, hit_rate=0.1)
    assert limits(law("concur"), [empty, empty, between, full, full]) == [32, 34, 34, 17, 8]
    idle = load(kv_used=0.1, hit_rate=0.9, active=3)
    assert limits(law("concur"), [idle] * 4) == [32] * 4


def test_the_sources_formula_and_code_are_two_laws() -> None:
    busy = [load(kv_used=0.9, evicted=1, turns=10)] * 3
    assert limits(law("concur_reference", congestion="formula"), busy) == [32, 34, 36]
    assert limits(law("concur_reference", congestion="code"), busy) == [32, 25, 20]


def test_a_reserve_admits_to_its_target_and_pauses_over_the_hard_mark() -> None:
    it = law("kv_reserve_agents", growth=1000.0)
    room = load(active=10, contexts=340_000.0, next_context=2_000.0)
    tight = load(active=10, contexts=354_000.0, next_context=2_000.0)
    over = load(active=10, contexts=385_000.0, next_context=2_000.0)
    alone = load(active=10, contexts=100_000.0, next_context=None)
    assert limits(it, [room, tight, over, alone]) == [11, 10, 9, 10]


def test_growth_is_learned() -> None:
    it = law("kv_reserve_agents", growth=100.0)
    near = load(active=50, contexts=345_000.0, next_context=2_000.0, grown=1000.0)
    found = limits(it, [near] * 30)
    assert found[0] == 51, "by the growth that is assumed there is room"
    assert found[-1] < 50, "by the growth that is seen there is none"


def test_without_an_agent_load_they_stand_still() -> None:
    for name in ("concur", "concur_reference", "kv_reserve_agents"):
        it = law(name)
        seen = Observation(started_at=0.0, in_flight=99, latency=1.0)
        assert it.step(it.start(), seen, 5.0) == (it.start(), None)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("concur", {"u_low": 0.6}), ("kv_reserve_agents", {"target": 0.97, "hard": 0.9})],
)
def test_marks_out_of_order_are_refused(name: str, parameters: dict[str, float]) -> None:
    with pytest.raises(DocumentError, match="must not be above"):
        law(name, **parameters)
