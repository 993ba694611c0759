"""The waiting room: bounded, displaced from below, expired in time, and never stuck behind one."""

from __future__ import annotations

from typing import Any

import pytest

from schedulers.admission.base import Ended
from schedulers.admission.base import laws as admission
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.ordering.base import Backlog, Waiting
from schedulers.ordering.base import laws as ordering
from schedulers.runtime.caps import Caps
from schedulers.runtime.leaving import Leaving
from schedulers.runtime.waiting_room import Admitted, Sent, WaitingRoom
from schedulers.signals import Signals
from tests.schedulers.request_cases import a_request, idle


def room(take: str = "always", order: str = "priority", caps: Caps | None = None) -> WaitingRoom:
    taking: Any = admission.get(take)
    ranking: Any = ordering.get(order)
    return WaitingRoom(taking(), ranking(), caps or Caps(), lambda: 0.5)


def wait(serial: int, **given: Any) -> Waiting:
    return Waiting(request=a_request(serial, **given))


def went(it: WaitingRoom, seen: Signals | None = None, now: float = 0.0) -> list[str]:
    """Everybody who goes now, by serial; those sent away by reason."""
    found = []
    while (what := it.next(seen, now)) is not None:
        found.append(str(what.request.serial if isinstance(what, Admitted) else what.reason))
    return found


def test_a_full_room_displaces_the_newest_of_the_lowest_tier_and_never_an_equal() -> None:
    it = room(caps=Caps(total=3))
    for serial, tier in ((1, "batch"), (2, "batch"), (3, "normal")):
        assert it.join(wait(serial, tier=tier), 0.0) == []
    (gone,) = it.join(wait(4, tier="vip"), 0.0)
    assert (gone.request.serial, gone.reason) == (2, Reason.DISPLACED)
    (refused,) = it.join(wait(5, tier="batch"), 0.0)
    assert (refused.request.serial, refused.reason) == (5, Reason.QUEUE_FULL)
    (next_gone,) = it.join(wait(6, tier="vip"), 0.0)
    (then,) = it.join(wait(7, tier="vip"), 0.0)
    (last,) = it.join(wait(8, tier="vip"), 0.0)
    assert [s.request.serial for s in (next_gone, then, last)] == [1, 3, 8]
    assert all(s.retry_after_s >= 1.0 for s in (gone, refused, next_gone, then, last))


def test_a_tier_has_a_cap_of_its_own() -> None:
    it = room(caps=Caps(batch=1))
    it.join(wait(1, tier="batch"), 0.0)
    assert it.join(wait(2, tier="batch"), 0.0)[0].reason is Reason.QUEUE_FULL
    assert it.join(wait(3, tier="normal"), 0.0) == []


def test_who_waits_past_its_tiers_time_is_sent_away() -> None:
    it = room(caps=Caps(vip_ttl_s=5.0, batch_ttl_s=50.0))
    it.join(wait(1, tier="vip", arrived_at=0.0), 0.0)
    it.join(wait(2, tier="batch", arrived_at=0.0), 0.0)
    assert it.wake_at() == 5.0
    assert it.expired(4.9) == []
    assert [s.reason for s in it.expired(5.0)] == [Reason.EXPIRED]
    assert (len(it), it.wake_at()) == (1, 50.0)


def test_nobody_of_its_tier_or_below_passes_what_the_engine_has_no_room_for() -> None:
    it = room("kv_reserve", order="fcfs")
    seen = idle(0.0, kv_tokens=10_000)
    facts = {"expected_output": 10.0}
    it.join(wait(1, tier="vip", prompt_tokens=7000, **facts), 0.0)
    it.join(wait(2, tier="vip", prompt_tokens=5000, **facts), 0.0)
    it.join(wait(3, tier="vip", prompt_tokens=10, **facts), 0.0)
    it.join(wait(4, tier="batch", prompt_tokens=10, **facts), 0.0)
    first = it.next(seen, 0.0)
    assert isinstance(first, Admitted)
    assert went(it, seen) == []
    over = Ended(request=first.request, reservation=first.reservation, admitted_at=0.0)
    it.ended(first, over, 1.0)
    assert went(it, seen, 1.0) == ["2", "3"], "5,000 tokens to prefill are too many before batch"


def test_a_batch_head_that_is_held_lets_vip_pass() -> None:
    it = room("kv_reserve", order="fcfs")
    seen = idle(0.0, kv_tokens=10_000)
    for serial, tier, prompt in ((1, "batch", 6000), (2, "batch", 3000), (3, "vip", 1000)):
        it.join(wait(serial, tier=tier, prompt_tokens=prompt, expected_output=1.0), 0.0)
    assert went(it, seen) == ["1", "3"]


def test_a_tenant_without_budget_lets_other_tenants_pass() -> None:
    taking: Any = admission.get("token_bucket")
    bucket = taking(rate=100.0, burst=2000.0, estimate="max_tokens", max_wait_s=60.0)
    ranking: Any = ordering.get("fcfs")
    it = WaitingRoom(bucket, ranking(), Caps(), lambda: 0.0)
    for serial, tenant in ((1, "a"), (2, "a"), (3, "a"), (4, "b")):
        it.join(wait(serial, tenant=tenant, max_tokens=300), 0.0)
    assert went(it) == ["1", "4"]
    assert it.wake_at() == pytest.approx(12.0)
    assert went(it, now=12.0) == ["2"]


def test_what_could_not_be_in_time_is_sent_away_when_its_turn_is_looked_for() -> None:
    it = room(order="slack_density")
    it.join(wait(1, deadline_at=1.0, service_s=0.5), 0.0)
    it.join(wait(2, deadline_at=9.0, service_s=0.5), 0.0)
    assert went(it, now=0.8) == ["hopeless", "2"]


def test_what_could_not_go_after_all_is_first_again() -> None:
    it = room(order="vtc")
    for serial in (1, 2):
        it.join(wait(serial, tenant="a"), 0.0)
    first = it.next(None, 0.0)
    assert isinstance(first, Admitted)
    it.back(first, 0.0)
    assert went(it) == ["1", "2"]


def test_those_sent_away_are_told_times_that_do_not_meet() -> None:
    drain = Leaving()
    for tick in range(1, 501):
        drain.left(tick * 0.02)
    assert drain.rate(10.0) == pytest.approx(50.0, rel=0.05)
    told = [drain.come_back(10.0, 100, 0.5, 30.0) for _ in range(500)]
    assert told[0] == pytest.approx(2.0, rel=0.1)
    assert told[-1] == pytest.approx(12.0, rel=0.1)
    in_a_tenth = max(sum(at <= t < at + 0.1 for t in told) for at in told)
    assert in_a_tenth <= 7
    assert 15.0 <= drain.come_back(10.0, 10**6, 0.3, 30.0) <= 30.0


def test_nobody_is_told_less_than_a_second() -> None:
    assert Leaving().come_back(0.0, 0, 0.0, 30.0) >= 1.0
    sent = room(caps=Caps(vip=0)).join(wait(1, tier="vip"), 0.0)
    assert isinstance(sent[0], Sent)


@pytest.mark.parametrize(
    ("take", "order"), [("token_bucket", "vtc"), ("circuit_breaker", "las"), ("saturation", "edf")]
)
def test_what_could_not_go_after_all_was_charged_to_nobody(take: str, order: str) -> None:
    taking: Any = admission.get(take)
    ranking: Any = ordering.get(order)
    it = WaitingRoom(taking(), ranking(), Caps(), lambda: 0.5)
    seen = idle(0.0, kv_tokens=20_000)
    for serial, tenant in ((1, "a"), (2, "b")):
        it.join(wait(serial, tenant=tenant), 0.0)
    before = (it.laws.admitting, it.laws.order)
    first = it.next(seen, 0.0)
    assert isinstance(first, Admitted)
    it.back(first, 0.0)
    assert (it.laws.admitting, it.laws.order) == before
    again = it.next(seen, 0.0)
    assert isinstance(again, Admitted)
    assert again.request.serial == first.request.serial


def test_times_to_live_still_end_in_order_after_one_could_not_go() -> None:
    """The younger one is due first; put back at the head it would hide that the elder is over."""
    it = room(order="edf", caps=Caps(normal_ttl_s=5.0))
    it.join(wait(1, arrived_at=0.0, deadline_at=90.0), 0.0)
    it.join(wait(2, arrived_at=4.0, deadline_at=80.0), 4.0)
    first = it.next(None, 4.0)
    assert isinstance(first, Admitted)
    assert first.request.serial == 2
    it.back(first, 4.0)
    assert it.expires_at() == pytest.approx(5.0)
    assert [sent.request.serial for sent in it.expired(5.0)] == [1]


def test_the_hopeless_of_one_moment_are_found_in_one_look() -> None:
    """A look for each would hold up everything for half a minute where ten thousand wait."""
    edf: Any = ordering.get("edf")
    asked = 0

    class Counting(edf):  # type: ignore[misc]
        def hopeless(self, one: Waiting, now: float) -> bool:
            nonlocal asked
            asked += 1
            return bool(super().hopeless(one, now))

    always: Any = admission.get("always")
    it = WaitingRoom(always(), Counting(), Caps(), lambda: 0.5)
    for serial in range(1, 301):
        it.join(wait(serial, tenant=f"t{serial % 7}", deadline_at=float(serial % 50 == 0)), 0.0)
    told = went(it, now=0.5)
    assert told.count("hopeless") == 294
    assert asked < 3 * 300


@pytest.mark.parametrize("order", ["vtc", "fcfs"])
def test_a_law_that_takes_over_hears_of_each_that_waits_and_of_those_before_it(order: str) -> None:
    law: Any = ordering.get(order)
    heard: list[tuple[int, Backlog]] = []

    class Listening(law):  # type: ignore[misc]
        def arrived(self, state: Any, one: Waiting, others: Backlog, now: float) -> Any:
            heard.append((one.request.serial, others))
            return super().arrived(state, one, others, now)

    it = room(order=order)
    every = [wait(n, tenant=f"t{n % 3}", tier=("vip", "batch")[n % 2]) for n in range(1, 9)]
    for one in every:
        it.join(one, 0.0)
    it.adopt("next", it.laws.admission, Listening(), 0.0)
    assert heard == [(n, Backlog.of(every[: n - 1])) for n in range(1, 9)]
    assert len({id(others) for _, others in heard}) < len(heard), "made anew only where it changes"


def test_a_laws_own_time_to_come_back_is_capped_too() -> None:
    """A tenant that asks for a billion tokens is told half a minute, not a year."""
    bucket: Any = admission.get("token_bucket")
    fcfs: Any = ordering.get("fcfs")
    for draw in (0.0, 0.999):
        it = WaitingRoom(bucket(estimate="max_tokens"), fcfs(), Caps(), lambda draw=draw: draw)
        for serial in (1, 2):
            it.join(wait(serial, max_tokens=999_999_999), 0.0)
        assert isinstance(it.next(None, 0.0), Admitted)
        sent = it.next(None, 0.0)
        assert isinstance(sent, Sent)
        assert 20.0 <= sent.retry_after_s <= 30.0


@pytest.mark.parametrize("order", ["vtc", "las"])
def test_a_law_that_comes_back_has_refunded_what_was_refused_while_another_decided(
    order: str,
) -> None:
    it = room(order=order)
    own, law = it.laws.admission, it.laws.ordering
    it.join(wait(1, tenant="a"), 0.0)
    went = it.next(None, 0.0)
    assert isinstance(went, Admitted)
    charged = it.laws.order
    it.adopt("next", own, law, 0.0)
    over = Ended(
        request=went.request,
        reservation=went.reservation,
        admitted_at=0.0,
        kind=OutcomeKind.REJECTED,
        prefilled=False,
    )
    it.ended(went, over, 0.0)
    it.adopt("", own, law, 0.0)
    probe = wait(2, tenant="a")
    assert law.rank(charged, probe, 0.0) > law.rank(it.laws.order, probe, 0.0)
    assert law.rank(it.laws.order, probe, 0.0) == law.rank(law.start(), probe, 0.0)
