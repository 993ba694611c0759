"""The engine model as a plant: a client's law before continuous batching, in virtual time.

Unlike the congestion plant it has a first token, and no knee: every request in flight makes each
step, and so every token of all others, a little slower. Chat: prompts of 220 tokens in the mean
(lognormal, σ 0.9), answers of 160 (σ 0.7).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

import numpy as np

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind
from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.core.request import Request, Sequence

TTFT_S, TPOT_S = 0.8, 0.1
"""Objectives: first token from the intended time on, with waiting; time per token after it."""


@dataclass(frozen=True, slots=True)
class Chat:
    """Lengths in tokens: means, and the spread of the logarithm."""

    prompt: float = 220.0
    prompt_sigma: float = 0.9
    output: float = 160.0
    output_sigma: float = 0.7

    def draw(self, rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
        """So many requests' lengths."""
        prompts = _lengths(rng, self.prompt, self.prompt_sigma, 8, 8000, count)
        outputs = _lengths(rng, self.output, self.output_sigma, 4, 2000, count)
        return list(zip(prompts, outputs, strict=True))


def _lengths(
    rng: np.random.Generator, mean: float, sigma: float, least: int, most: int, count: int
) -> list[int]:
    drawn = rng.lognormal(math.log(mean) - sigma**2 / 2, sigma, count)
    return [int(n) for n in np.clip(drawn, least, most)]


@dataclass(slots=True)
class Played:
    """One request: offered when, sent when, and what the engine made of it."""

    offered_at: float
    sent_at: float
    serial: int
    sequence: Sequence

    @property
    def ttft(self) -> float:
        """With waiting at the client; infinity while there is none."""
        at = self.sequence.first_token_at
        return math.inf if at is None else at - self.offered_at

    @property
    def tpot(self) -> float:
        """Seconds a token after the first; infinity while it isn't over."""
        first, last = self.sequence.first_token_at, self.sequence.last_token_at
        said = self.sequence.request.output_tokens
        if first is None or last is None or self.sequence.emitted < said:
            return math.inf
        return (last - first) / max(1, said - 1)

    @property
    def good(self) -> bool:
        """It met both objectives."""
        return self.ttft <= TTFT_S and self.tpot <= TPOT_S

    @property
    def kept(self) -> bool:
        """It met both, counted from when it was sent."""
        return self.ttft - (self.sent_at - self.offered_at) <= TTFT_S and self.tpot <= TPOT_S


@dataclass(slots=True)
class Outcome:
    """What a run showed; ``never_sent``: offered times of what still waited at the end."""

    played: list[Played] = field(default_factory=list)
    never_sent: list[float] = field(default_factory=list)
    limits: list[tuple[float, int]] = field(default_factory=list)

    def attained(self, start: float, end: float) -> float:
        """The share of what was offered in [start, end) that met both objectives."""
        good = [one.good for one in self.played if start <= one.offered_at < end]
        lost = sum(start <= at < end for at in self.never_sent)
        return sum(good) / max(1, len(good) + lost)

    def held(self, start: float, end: float) -> float:
        """The share of what was *sent* in [start, end) that met both objectives from then on."""
        kept = [one.kept for one in self.played if start <= one.sent_at < end]
        return sum(kept) / max(1, len(kept))

    def kept(self, start: float, end: float) -> int:
        """Output tokens of requests that ended in [start, end) and met both objectives once sent:
        a backlog's waiting before that is its own."""
        return sum(
            one.sequence.request.output_tokens
            for one in self.played
            if one.kept and start <= (one.sequence.last_token_at or math.inf) < end
        )


def play(  # noqa: PLR0913 - what a run is
    law: ConcurrencyLaw[Any],
    config: EngineConfig,
    *,
    rate: float | None,
    end_s: float,
    seed: int,
    chat: Chat | None = None,
    then: tuple[float, float] | None = None,
) -> Outcome:
    """Poisson arrivals at ``rate`` a second, or a backlog without end where it is None.

    ``then``: from so many seconds on, at another rate.
    """
    rng = np.random.default_rng([seed, 17])
    count = int(max(rate or 80.0, then[1] if then else 0.0) * end_s * 1.2) + 100
    lengths = deque((chat or Chat()).draw(rng, count))
    times = np.cumsum(rng.exponential(1.0 / rate, count)) if rate else np.zeros(count)
    if rate and then:
        step_s, after = then
        times = np.where(times < step_s, times, step_s + (times - step_s) * rate / after)
    offered = deque(at for at in times.tolist() if at < end_s)
    return _Host(law, Engine(config, seed=seed), offered, lengths).go(end_s)


class _Host:
    def __init__(
        self,
        law: ConcurrencyLaw[Any],
        engine: Engine,
        offered: deque[float],
        lengths: deque[tuple[int, int]],
    ) -> None:
        self._law, self._state = law, law.start()
        self._engine, self._offered, self._lengths = engine, offered, lengths
        self._limit = law.limit(self._state)
        self._out: dict[str, Played] = {}
        self._seen = Outcome(limits=[(0.0, self._limit)])

    def go(self, end_s: float) -> Outcome:
        now = 0.0
        while now < end_s:
            self._send(now)
            due = self._engine.next_step_at()
            arrival = self._offered[0] if self._offered else math.inf
            room = len(self._out) < self._limit
            if due is None and not (room and arrival < math.inf):
                break
            if due is None or (room and arrival < due):
                now = arrival
                continue
            step = self._engine.step(max(now, due))
            now = step.end
            for sequence in step.emitted:
                if sequence.first_token_at == now:
                    self._learn(sequence, now, OutcomeKind.FIRST_TOKEN)
            for sequence in step.finished:
                self._learn(sequence, now)
        self._seen.never_sent = [at for at in self._offered if at <= now]
        return self._seen

    def _send(self, now: float) -> None:
        while self._offered and self._offered[0] <= now and len(self._out) < self._limit:
            at = self._offered.popleft()
            prompt, output = self._lengths.popleft()
            serial = len(self._seen.played) + 1
            sequence = self._engine.add(Request(str(serial), prompt, output), now)
            one = Played(at, now, serial, sequence)
            self._seen.played.append(one)
            self._out[str(serial)] = one

    def _waiting(self, now: float) -> int:
        """Who would be let go next if there were room, as far as it can matter to a law."""
        there = islice(self._offered, self._limit)
        return sum(1 for _ in takewhile(lambda at: at <= now, there))

    def _learn(self, sequence: Sequence, now: float, kind: OutcomeKind = OutcomeKind.OK) -> None:
        one = self._out[sequence.request.id]
        first = sequence.first_token_at
        seen = Observation(
            started_at=one.sent_at,
            in_flight=len(self._out),
            kind=kind,
            latency=now - one.sent_at,
            ttft=None if first is None else first - one.sent_at,
            serial=one.serial,
            granted=len(self._seen.played),
            prompt_tokens=sequence.request.prompt_tokens,
            output_tokens=sequence.request.output_tokens,
            told=kind is OutcomeKind.OK,
            waiting=self._waiting(now),
        )
        if kind is OutcomeKind.OK:
            del self._out[sequence.request.id]
        self._state, _ = self._law.step(self._state, seen, now)
        limit = self._law.limit(self._state)
        if limit != self._limit:
            self._limit = limit
            self._seen.limits.append((now, limit))
