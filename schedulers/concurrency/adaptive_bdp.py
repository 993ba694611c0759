"""draft"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from documents.fields import parameter
from schedulers.cohort import Cohort, Median, median, surely_above
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    SIGNALS,
    Observation,
    OutcomeKind,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing

POOL = 800
FAIR = 10.0
UCB = 1.5
SHIFT = 0.15
MOST_ERROR = 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """A cut to be verified: the limit before it, the median then, and its error."""

    limit: float
    value: float
    error: float
    back: float
    startup: bool


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What changes once a cohort: see the law."""

    proven: float
    startup: bool = True
    lows: tuple[float, ...] = ()
    pooled: tuple[float, ...] = ()
    reserve: tuple[float, ...] = ()
    reserve_low: float | None = None
    spread: float | None = None
    weighed: int = 0
    trial: Trial | None = None
    resume: float | None = None
    ceiling: float | None = None
    evidence: float = 0.0
    hold: int = 0
    calm: int = 0
    streak: int = 0
    look: int = 100


@dataclass(frozen=True, slots=True)
class AdaptiveState:
    limit: float
    beliefs: Beliefs
    cohort: Cohort
    rtt: float | None = None
    last_at: float | None = None
    ended: int = 0
    cut_at: float | None = None


@dataclass(frozen=True, slots=True)
class View:
    """One judged cohort beside the pooled epoch and the baseline."""

    one: Median
    error: float
    pool: Median
    pool_error: float
    pooled: tuple[float, ...]
    spread: float
    low: float
    bad: bool
    clean: bool
    evidence: float
    looked: int
    reached: bool
    deep: Median
    weighed: int
    full: bool


@concurrency_law
@dataclass(frozen=True, slots=True)
class AdaptiveBdp:
    """draft"""

    name: ClassVar[str] = "adaptive_bdp"
    summary: ClassVar[str] = "draft."
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = ()

    min: int = parameter(default=2, minimum=1, maximum=LIMIT_CEILING, unit="requests", help="The lowest limit.")
    max: int = parameter(default=256, minimum=1, maximum=LIMIT_CEILING, unit="requests", help="The highest limit.")
    initial: int = parameter(default=8, minimum=1, maximum=LIMIT_CEILING, unit="requests", help="The limit before anything was seen; between min and max.")
    tolerance: float = parameter(default=0.06, minimum=0.02, maximum=0.5, help="x.")
    z_cohort: float = parameter(default=3.3, minimum=1.0, maximum=6.0, help="x.")
    z_epoch: float = parameter(default=2.5, minimum=1.0, maximum=6.0, help="x.")
    cohort: int = parameter(default=25, minimum=10, maximum=500, unit="requests", help="x.")
    epochs: int = parameter(default=30, minimum=2, maximum=500, unit="epochs", help="x.")
    startup_gain: float = parameter(default=1.25, minimum=1.05, maximum=2.0, help="x.")
    max_cut: float = parameter(default=0.6, minimum=0.2, maximum=0.9, help="x.")
    hold: int = parameter(default=4, minimum=0, maximum=100, unit="cohorts", help="x.")
    undo_elasticity: float = parameter(default=0.15, minimum=0.0, maximum=0.9, help="x.")
    signal: str = parameter(default="ttft", choices=SIGNALS, help="x.")

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> AdaptiveState:
        return AdaptiveState(float(self.initial), Beliefs(float(self.initial)), Cohort(1, 0.0))

    def step(self, state, seen, now):
        if not seen.in_order(now) or seen.kind is OutcomeKind.TICK:
            return state, None
        if seen.kind in (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT):
            return self._overload(state, seen, now)
        latency = seen.measured(self.signal)
        if latency is None and seen.kind is OutcomeKind.OK:
            return state, None
        if seen.kind is not OutcomeKind.OK:
            return replace(state, cohort=state.cohort.without(seen), ended=state.ended + 1), None
        granted = seen.granted or state.ended + seen.in_flight
        idle = self._idle(state, seen, now, granted)
        if idle is not None:
            return idle
        rtt = latency if state.rtt is None else state.rtt + 0.1 * (min(latency, 2 * state.rtt) - state.rtt)
        streamed = self.signal == "ttft" and seen.ttft is not None
        cohort = state.cohort.with_answer(seen, math.log(latency), streamed=streamed)
        if cohort.closed is None and self._full(state, cohort.size(granted), (now - cohort.opened) / rtt):
            cohort = cohort.close(granted, now)
        state = AdaptiveState(state.limit, state.beliefs, cohort, rtt, now, state.ended + 1, state.cut_at)
        if cohort.closed is None:
            return state, None
        low = self._low(state.beliefs)
        if cohort.settled(now):
            return self._judge(state, cohort.complete(), now, granted)
        if low is not None and state.beliefs.trial is None and cohort.overdue(now, low + self._alarm(state, cohort)):
            n = cohort.size(granted)
            values = [math.log(max(now - cohort.closed, 1e-9))] * n
            return self._judge(state, values, now, granted, alarm=True)
        if now - cohort.closed > 8.0 * rtt and cohort.values and state.ended % 16 == 0 and now-cohort.closed > 4*math.exp(max(cohort.values)):
            return self._judge(state, sorted(cohort.values), now, granted)
        return state, None

    def _tol(self, limit):
        return math.log(1 + self.tolerance) * (1.0 + FAIR / limit)

    def _low(self, b):
        known = [*b.lows, *([] if b.reserve_low is None else [b.reserve_low])]
        return min(known) if known else None

    def _full(self, state, size, trips):
        need = min(self.cohort, max(10, 16 if state.beliefs.startup else int(state.limit)))
        return trips >= 0.6 and (size >= need or (trips >= 2.0 and size >= 8))

    def _alarm(self, state, cohort):
        spread = state.beliefs.spread or 0.3
        return self._tol(state.limit) + 0.3 + self.z_cohort * 1.253 * spread / math.sqrt(cohort.size(0))

    def _idle(self, state, seen, now, granted):
        if state.rtt is None or state.last_at is None or seen.started_at - state.last_at <= 20 * state.rtt:
            return None
        b = state.beliefs
        after = min(state.limit, max(b.proven, float(self.min)))
        new = AdaptiveState(after, replace(b, pooled=(), look=100) , Cohort(granted + 1, now), state.rtt, now, state.ended + 1, state.cut_at)
        if int(after) == int(state.limit):
            return new, None
        return new, decided(self, now, state.limit, after, Reason.APP_LIMITED, in_flight=seen.in_flight)

    def _overload(self, state, seen, now):
        if state.cut_at is not None and seen.started_at <= state.cut_at:
            return replace(state, cohort=state.cohort.without(seen), ended=state.ended + 1), None
        before = state.limit
        after = max(float(self.min), min(0.85 * before, 0.9 * seen.in_flight))
        b = state.beliefs
        beliefs = replace(self._end_epoch(b, sound=False), startup=False, trial=None, resume=after, ceiling=before, evidence=0.0, hold=self.hold, calm=0, streak=0, proven=min(b.proven, after))
        granted = seen.granted or state.ended + seen.in_flight
        new = AdaptiveState(after, beliefs, Cohort(granted + 1, now), state.rtt, now, state.ended + 1, now)
        reason = Reason.REJECTED_BY_ENGINE if seen.kind is OutcomeKind.REJECTED else Reason.TIMED_OUT
        return new, decided(self, now, before, after, reason, in_flight=seen.in_flight)

    def _end_epoch(self, b, sound=True):
        """Sound epochs add to the reserve; once it is precise it becomes one upper bound."""
        if not sound or not b.pooled or b.spread is None:
            return replace(b, pooled=(), look=100)
        up = b.spread * (1.0 + 2.5 / math.sqrt(max(16, b.weighed)))
        pool = median(sorted(b.pooled))
        ub = pool.value + UCB * pool.error(up)
        reserve = b.pooled if b.reserve_low is not None and ub < b.reserve_low - 0.02 else (*b.reserve, *b.pooled)
        m = median(sorted(reserve))
        err = m.error(up)
        low = m.value + UCB * err
        if err <= 0.5 * math.log(1 + self.tolerance) or len(reserve) >= POOL:
            return replace(b, lows=(*b.lows, low)[-self.epochs:], reserve=(), reserve_low=None, pooled=(), look=100)
        return replace(b, reserve=reserve, reserve_low=low, pooled=(), look=100)

    def _view(self, state, ordered, alarm):
        b = state.beliefs
        one = median(ordered)
        tol = self._tol(state.limit)
        weighed = b.weighed if alarm else min(400, b.weighed + one.size)
        spread = b.spread if alarm or weighed == 0 else (b.spread or 0.0) + (one.spread - (b.spread or 0.0)) * min(1.0, one.size / weighed)
        spread_up = spread * (1.0 + 2.5 / math.sqrt(max(16, weighed)))
        error = one.error(max(spread_up, 0.7 * one.spread))
        most = int(max(100.0, min(float(POOL), 2.0 * (1.253 * spread / (0.5 * tol)) ** 2)))
        pooled = (*b.pooled, *ordered)[-most:]
        pool_ordered = sorted(pooled)
        pool = median(pool_ordered)
        pool_error = pool.error(max(spread_up, 0.7 * pool.spread))
        low = min([*b.lows, pool.value + UCB * pool_error, *([] if b.reserve_low is None else [b.reserve_low])])
        looked = b.look
        evidence = max(0.0, b.evidence + min(5.0, SHIFT / error**2 * (one.value - low - tol - SHIFT / 2)))
        if alarm or (one.value > low + tol + self.z_cohort * error and surely_above(ordered, self.z_cohort) > low + tol):
            deep, bad = one, True
        elif evidence > 6.0:
            deep, bad = pool, True
        elif len(pooled) >= b.look:
            looked = min(2 * b.look, most)
            deep, bad = pool, pool.value > low + tol + self.z_epoch * pool_error and surely_above(pool_ordered, self.z_epoch) > low + tol
        else:
            deep, bad = one, False
        slack = pool_error if b.startup else min(pool_error, 0.5 * tol)
        clean = not bad and pool.value <= low + 0.5 * tol + slack and evidence < 2.0
        reached = state.cohort.peak >= 0.9 * int(state.limit)
        return View(one, error, pool, pool_error, pooled, spread, low, bad, clean, evidence, looked, reached, deep, weighed, len(pooled) >= most)

    def _judge(self, state, ordered, now, granted, alarm=False):
        v = self._view(state, ordered, alarm)
        b = replace(state.beliefs, spread=v.spread, weighed=v.weighed, pooled=v.pooled, look=v.looked, evidence=v.evidence)
        L = state.limit
        tol = self._tol(L)

        def move(after, beliefs, reason, keep=True):
            after = max(float(self.min), min(float(self.max), after))
            if after != L:
                ended = self._end_epoch(beliefs, sound=keep)
            else:
                ended = beliefs
            if after > L:
                ended = replace(ended, trial=None)
            new = AdaptiveState(after, ended, Cohort(granted + 1, now), state.rtt, now, state.ended, now if after < L else state.cut_at)
            return new, decided(self, now, L, after, reason, median=math.exp(v.one.value), baseline=math.exp(v.low), error=v.error, pooled=math.exp(v.pool.value), peak=float(state.cohort.peak), evidence=v.evidence)

        if b.trial is not None:
            t = b.trial
            d = math.log(t.limit / L)
            e = (t.value - v.pool.value) / d if d > 0.01 else 1.0
            unsure = math.hypot(v.pool_error, t.error) / max(d, 0.01)
            shift = v.pool.value - v.low
            if (unsure <= self.undo_elasticity or v.full) and e < self.undo_elasticity and shift > tol:
                if d >= min(0.5, shift / 2):
                    b = replace(b, trial=None, startup=t.startup, lows=(v.pool.value + UCB * v.pool_error,), reserve=(), reserve_low=None, resume=None, hold=0, streak=2, ceiling=None, evidence=0.0)
                    return move(t.back, b, Reason.UNDO, keep=False)
            elif unsure <= self.undo_elasticity or e - 1.5 * unsure > self.undo_elasticity:
                b = replace(b, trial=None)
            elif v.bad and b.calm < 3:
                b = replace(b, calm=b.calm + 1)
                return move(L, b, Reason.PROBE)
        if v.bad and v.reached:
            after = L * math.exp(v.low - v.deep.value) * 1.03
            if b.proven < L * 0.99:
                after = max(after, b.proven * 0.97)
            after = min(0.85 * L, max(self.max_cut * L, after))
            trial = b.trial or (None if alarm else Trial(L, v.deep.value, v.error if v.deep is v.one else v.pool_error, L, b.startup))
            b = replace(b, startup=False, resume=after, ceiling=L, hold=self.hold, calm=0, streak=0, evidence=0.0, trial=trial, proven=min(b.proven, after))
            return move(after, b, Reason.RTT_INFLATED, keep=False)
        if v.bad:
            return move(L, b, Reason.APP_LIMITED)
        if not v.reached:
            return move(L, b, Reason.APP_LIMITED)
        if v.clean:
            b = replace(b, proven=max(b.proven, L))
        if b.startup:
            if v.clean:
                return move(L * self.startup_gain, b, Reason.GROWN)
            return move(L, replace(b, startup=v.pool_error > 0.5 * tol), Reason.STEADY)
        b = replace(b, calm=b.calm + 1, hold=max(0, b.hold - 1))
        if b.resume is not None and L < 0.97 * b.resume:
            return move(min(b.resume, L + max(1.0, 0.08 * L)), b, Reason.GROWN)
        if b.hold == 0 and (b.streak >= 2 or b.calm % 2 == 0) and v.clean:
            stepsize = max(1.0, 0.15 * math.sqrt(L)) * min(6.0, 1.5 ** (b.streak // 2))
            b = replace(b, streak=b.streak + 1 if (b.ceiling is None or not 0.85 * b.ceiling <= L < 0.98 * b.ceiling) and v.pool_error <= MOST_ERROR else 0)
            return move(L + min(stepsize, max(1.0, 0.08 * L)), b, Reason.GROWN)
        return move(L, b, Reason.STEADY)

    def limit(self, state):
        return int(state.limit)

    def until(self, state):
        return math.inf

    def bounds(self):
        return self.min, self.max
