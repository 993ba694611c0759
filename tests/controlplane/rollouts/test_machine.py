"""Laws of the state machine: whatever happens, in whatever order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.rollouts.machine import (
    LIVE,
    OPEN,
    Abort,
    Effect,
    Event,
    Finding,
    Hold,
    Look,
    Phase,
    Reconsider,
    Refused,
    Resume,
    Standing,
    Start,
    Step,
    Stuck,
    Tick,
    step,
)

ENDED = set(Phase) - OPEN
BEFORE = {Finding.GOING, Finding.INCONCLUSIVE, Finding.INVALID}

standings = st.integers(1, 6).flatmap(
    lambda stages: st.builds(
        Standing,
        needed=st.lists(st.integers(0, 3), min_size=stages, max_size=stages).map(tuple),
        phase=st.sampled_from(Phase),
        stage=st.integers(0, stages - 1),
        attempt=st.integers(1, 3),
        kept=st.booleans(),
    )
)
looks = st.builds(
    Look, stage=st.integers(0, 5), attempt=st.integers(1, 3), finding=st.sampled_from(Finding)
)
events = st.one_of(
    st.just(Start()),
    st.builds(Tick, approvals=st.integers(0, 4), frozen=st.booleans()),
    st.just(Stuck()),
    looks,
    st.just(Hold()),
    st.just(Resume()),
    st.just(Reconsider()),
    st.just(Abort()),
)


def stepped(now: Standing, event: Event) -> Step:
    """A refusal leaves everything as it is."""
    try:
        return step(now, event)
    except Refused:
        return Step(now)


@given(now=standings, look=looks)
def test_harm_rolls_back_at_once_from_every_live_state(now: Standing, look: Look) -> None:
    done = step(now, replace(look, finding=Finding.HARM))
    if now.phase in LIVE:
        assert (done.standing.phase, done.effect) == (Phase.ROLLED_BACK, Effect.STOP)
    else:
        assert done == Step(now)


@given(now=standings)
def test_a_person_can_abort_in_every_state_that_has_not_ended(now: Standing) -> None:
    if now.phase in OPEN:
        done = step(now, Abort())
        assert (done.standing.phase, done.effect) == (Phase.ABORTED, Effect.STOP)
    else:
        with pytest.raises(Refused, match="already"):
            step(now, Abort())


@given(now=standings, event=events)
def test_nothing_but_a_pass_of_the_very_stage_and_attempt_leads_on(
    now: Standing, event: Event
) -> None:
    done = stepped(now, event)
    if done.standing.stage != now.stage or done.standing.phase is Phase.DONE != now.phase:
        assert isinstance(event, Look)
        assert event.finding is Finding.PASS
        assert (event.stage, event.attempt) == (now.stage, now.attempt)
        assert now.phase is Phase.RUNNING
        assert done.standing.stage in (now.stage, now.stage + 1)


@given(now=standings, event=events)
def test_a_stage_begins_only_with_all_its_approvals_and_outside_freezes(
    now: Standing, event: Event
) -> None:
    done = stepped(now, event)
    if done.effect is Effect.ENTER:
        assert isinstance(event, Tick)
        assert not event.frozen
        assert event.approvals >= now.needed[now.stage]
        assert now.phase is Phase.WAITING


@given(now=standings, event=events)
def test_what_has_ended_stays_ended(now: Standing, event: Event) -> None:
    if now.phase in ENDED:
        assert stepped(now, event) == Step(now)


@given(now=standings, event=events)
def test_what_did_anything_is_undone_or_finished_when_it_ends(now: Standing, event: Event) -> None:
    done = stepped(now, event)
    if done.standing.phase in ENDED and now.phase not in ENDED:
        undone = Effect.FINISH if done.standing.phase is Phase.DONE else Effect.STOP
        assert done.effect is undone
    if done.effect is Effect.FINISH:
        assert now.last


@given(now=standings, look=looks)
def test_missing_or_undecided_evidence_never_promotes_and_never_goes_unnoticed(
    now: Standing, look: Look
) -> None:
    for finding in BEFORE - {Finding.GOING}:
        done = step(now, replace(look, finding=finding))
        assert done.standing.stage == now.stage
        own = (look.stage, look.attempt) == (now.stage, now.attempt)
        if own and now.phase is Phase.RUNNING:
            assert done.standing.phase is Phase.HELD
        else:
            assert done.standing == now


@given(now=standings, look=looks)
def test_the_same_look_twice_is_one_look(now: Standing, look: Look) -> None:
    once = step(now, look).standing
    assert step(once, look) == Step(once) or once == now


@settings(max_examples=100, deadline=None)
@given(
    needed=st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple),
    story=st.lists(events, max_size=40),
)
def test_no_story_reaches_the_end_around_a_stage(
    needed: tuple[int, ...], story: list[Event]
) -> None:
    now, passed, begun = Standing(needed), set(), set()
    for event in story:
        done = stepped(now, event)
        if done.effect is Effect.ENTER:
            begun.add(now.stage)
            assert set(range(now.stage)) <= passed
        if isinstance(event, Look) and event.finding is Finding.PASS and done.standing != now:
            passed.add(now.stage)
            assert now.stage in begun
        now = done.standing
    if now.phase is Phase.DONE:
        assert passed == set(range(len(needed)))


def test_the_straight_way_goes_stage_by_stage() -> None:
    now = step(Standing((0, 1)), Start()).standing
    assert step(now, Tick(0, frozen=True)).standing == now
    now = step(now, Tick(0)).standing
    now = step(now, Look(0, 1, Finding.PASS)).standing
    assert (now.phase, now.stage) == (Phase.WAITING, 1)
    assert step(now, Tick(0)).standing == now, "its approval is missing"
    now = step(now, Tick(1)).standing
    done = step(now, Look(1, 1, Finding.PASS))
    assert (done.standing.phase, done.effect) == (Phase.DONE, Effect.FINISH)


def test_a_persons_hold_keeps_the_evidence_and_the_machines_own_needs_it_anew() -> None:
    running = Standing((1,), Phase.RUNNING)
    held = step(running, Hold()).standing
    assert step(held, Look(0, 1, Finding.PASS)).standing == held, "nothing is promoted meanwhile"
    assert step(held, Resume()).standing == running
    held = step(running, Look(0, 1, Finding.INVALID)).standing
    again = step(held, Resume()).standing
    assert (again.phase, again.attempt) == (Phase.WAITING, 2)
    assert step(held, Reconsider()).standing == running


def test_a_draft_only_starts_and_a_stage_that_cannot_begin_is_held() -> None:
    with pytest.raises(Refused, match="only a draft"):
        step(Standing((0,), Phase.RUNNING), Start())
    assert step(Standing((0,), Phase.WAITING), Stuck()).standing.phase is Phase.HELD
    with pytest.raises(Refused, match="only what is held"):
        step(Standing((0,), Phase.WAITING), Resume())
    with pytest.raises(Refused, match="only what is running"):
        step(Standing((0,), Phase.WAITING), Hold())
