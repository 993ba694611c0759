"""The states of a rollout as frozen values: which event moves it where, and what that sets off.

Pure: no clock, no database, no gateway. Whoever applies a step carries out its effect in the same
transaction, so neither stands without the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Phase(StrEnum):
    """Where a rollout stands."""

    DRAFT = "draft"
    """Written, not started; the only phase in which its plan can be edited."""
    WAITING = "waiting"
    """The next stage may begin once its approvals are there and no freeze window is open."""
    RUNNING = "running"
    """The stage gathers its evidence."""
    HELD = "held"
    """Something is not good enough to go on, or a person said stop: a person decides."""
    DONE = "done"
    ROLLED_BACK = "rolled_back"
    """By itself, on harm."""
    ABORTED = "aborted"
    """By a person."""


LIVE = frozenset({Phase.WAITING, Phase.RUNNING, Phase.HELD})
OPEN = LIVE | {Phase.DRAFT}
"""It has not ended."""


class Finding(StrEnum):
    """What the evidence of the stage says at one look."""

    GOING = "going"
    PASS = "pass"  # noqa: S105 - a finding
    HARM = "harm"
    INCONCLUSIVE = "inconclusive"
    """At its end or its deadline."""
    INVALID = "invalid"
    """No evidence: stale, gaps, wrong versions, unequal arms."""


class Effect(StrEnum):
    """What is to be done in the transaction of a step."""

    NONE = "none"
    ENTER = "enter"
    """Begin the stage's run: a comparison, a shadow, a canary, the active version."""
    LEAVE = "leave"
    """The stage has passed; the next one waits."""
    STOP = "stop"
    """Undo all that the rollout did to the gateway, and stop what it started."""
    FINISH = "finish"
    """Aliases move; the rollout is over."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A rollout's state. ``needed`` holds each stage's number of approvals, in order."""

    needed: tuple[int, ...]
    phase: Phase = Phase.DRAFT
    stage: int = 0
    attempt: int = 1
    """Of the stage: evidence gathered anew is another attempt."""
    kept: bool = False
    """A hold by a person keeps the stage's run; another hold needs a fresh one."""

    @property
    def last(self) -> bool:
        return self.stage == len(self.needed) - 1


@dataclass(frozen=True, slots=True)
class Start:
    """A person starts a draft."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. ``approvals`` are those that hold at this moment, counted afresh."""

    approvals: int
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Stuck:
    """The stage that waits can't begin as things are."""


@dataclass(frozen=True, slots=True)
class Look:
    """The evidence was looked at, for this stage and attempt."""

    stage: int
    attempt: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class Hold:
    """A person stops promotions; what gathers evidence goes on."""


@dataclass(frozen=True, slots=True)
class Resume:
    """A person lets a held rollout go on."""


@dataclass(frozen=True, slots=True)
class Reconsider:
    """A person accepted a bound: the same evidence is looked at again."""


@dataclass(frozen=True, slots=True)
class Abort:
    """A person ends it; a rejection is one, too."""


Event = Start | Tick | Stuck | Look | Hold | Resume | Reconsider | Abort


@dataclass(frozen=True, slots=True)
class Step:
    standing: Standing
    effect: Effect = Effect.NONE


class Refused(Exception):  # noqa: N818 - a state of the rollout, told to a person
    """The event has no place in this phase; the message says why."""


def step(now: Standing, event: Event) -> Step:  # noqa: PLR0911 - one for each kind of event
    """What an event does. A look or a tick that comes too late changes nothing; a person's word
    that can't be followed is Refused."""
    match event:
        case Start():
            return _start(now)
        case Tick():
            return _tick(now, event)
        case Stuck():
            return _stuck(now)
        case Look():
            return _look(now, event)
        case Abort():
            return _abort(now)
        case Hold():
            return _hold(now)
        case Resume() | Reconsider():
            return _go_on(now, event)


def _start(now: Standing) -> Step:
    if now.phase is not Phase.DRAFT:
        raise Refused(f"It is {_word(now)}; only a draft can be started.")
    return Step(replace(now, phase=Phase.WAITING))


def _tick(now: Standing, event: Tick) -> Step:
    ready = event.approvals >= now.needed[now.stage] and not event.frozen
    if now.phase is not Phase.WAITING or not ready:
        return Step(now)
    return Step(replace(now, phase=Phase.RUNNING), Effect.ENTER)


def _stuck(now: Standing) -> Step:
    return Step(replace(now, phase=Phase.HELD, kept=False) if now.phase is Phase.WAITING else now)


def _look(now: Standing, event: Look) -> Step:
    if now.phase not in LIVE:
        return Step(now)
    if event.finding is Finding.HARM:  # of whatever stage: what harms goes
        return Step(replace(now, phase=Phase.ROLLED_BACK), Effect.STOP)
    if now.phase is not Phase.RUNNING or (event.stage, event.attempt) != (now.stage, now.attempt):
        return Step(now)
    if event.finding is Finding.PASS:
        return _pass(now)
    if event.finding in (Finding.INCONCLUSIVE, Finding.INVALID):
        return Step(replace(now, phase=Phase.HELD, kept=False))
    return Step(now)


def _pass(now: Standing) -> Step:
    if now.last:
        return Step(replace(now, phase=Phase.DONE), Effect.FINISH)
    following = replace(now, phase=Phase.WAITING, stage=now.stage + 1, attempt=1)
    return Step(following, Effect.LEAVE)


def _abort(now: Standing) -> Step:
    if now.phase not in OPEN:
        raise Refused(f"It is {_word(now)} already; there is nothing left to stop.")
    return Step(replace(now, phase=Phase.ABORTED), Effect.STOP)


def _hold(now: Standing) -> Step:
    if now.phase is not Phase.RUNNING:
        raise Refused(f"It is {_word(now)}; only what is running can be held.")
    return Step(replace(now, phase=Phase.HELD, kept=True))


def _go_on(now: Standing, event: Resume | Reconsider) -> Step:
    if now.phase is not Phase.HELD:
        raise Refused(f"It is {_word(now)}; only what is held can go on.")
    if now.kept or isinstance(event, Reconsider):
        return Step(replace(now, phase=Phase.RUNNING, kept=False))
    # Its evidence was no good: the stage waits for its approvals again, and gathers anew.
    return Step(replace(now, phase=Phase.WAITING, attempt=now.attempt + 1))


def _word(now: Standing) -> str:
    return now.phase.value.replace("_", " ")
