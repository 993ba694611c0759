"""Who waits behind a lane right now, and since when its engines have said nothing.

A request counts for attainment when it ends. An engine that freezes ends none: until a time-out,
a minute later, every figure would stay as good as it was. So the lane also says how many of those
that have no answer yet are past their objective already, and how long nothing has come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from measurement.slo import Slo

_STREAMS = re.compile(rb'(?<!\\)"stream"\s*:\s*true')
"""Within a JSON string the quotes would be escaped, so it is a field."""


class Open(Protocol):
    """What is looked at of a request that has not ended. Times are the gateway's, in seconds."""

    @property
    def intended_at(self) -> float: ...

    @property
    def sent_at(self) -> float | None: ...

    @property
    def heard_at(self) -> float | None:
        """When its engine last sent anything of this answer; None while it has not."""
        ...

    @property
    def first_token_at(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """How a lane's open requests stand at one moment."""

    overdue: int = 0
    """Open requests that have missed an objective already, whatever becomes of them."""
    oldest_s: float = 0.0
    """Age of the oldest of those, seconds; 0 without one."""
    quiet_s: float = 0.0
    """Seconds for which engines that owe an answer have sent no byte; 0 where none is owed."""
    by: Mapping[str, int] = field(default_factory=dict)
    """Overdue ones by the objective that they have missed; one may have missed several."""
    tenants: Mapping[str, int] = field(default_factory=dict)
    """Overdue ones by whose they are."""


@dataclass(frozen=True, slots=True)
class _Asked:
    tenant: str
    streams: bool
    prompt_tokens: int


class Waits:
    """The open requests of one lane."""

    def __init__(self) -> None:
        self._open: dict[Open, _Asked] = {}
        self._heard_at = float("-inf")
        """When the last answer ended that had begun."""

    def begin(self, request: Open, *, tenant: str, body: bytes, prompt_tokens: int) -> None:
        """It was offered; ``prompt_tokens`` is an estimate, for objectives with bands."""
        self._open[request] = _Asked(tenant, bool(_STREAMS.search(body)), prompt_tokens)

    def end(self, request: Open) -> None:
        """It has its outcome, or its client has gone."""
        if self._open.pop(request, None) is not None and request.heard_at is not None:
            self._heard_at = max(self._heard_at, request.heard_at)

    def standing(self, now: float, slo: Slo | None) -> Standing:
        """How they stand. Without an SLO nothing is overdue, but silence is seen."""
        quiet = self._quiet(now)
        if slo is None:
            return Standing(quiet_s=quiet)
        by, tenants, oldest = Counter[str](), Counter[str](), 0.0
        for request, asked in self._open.items():
            if missed := _missed(request, asked, now, slo):
                by.update(missed)
                tenants[asked.tenant] += 1
                oldest = max(oldest, now - request.intended_at)
        return Standing(tenants.total(), oldest, quiet, dict(by), dict(tenants))

    def _quiet(self, now: float) -> float:
        """Since the last byte, or since the first of those that wait was sent after it."""
        sent = [one.sent_at for one in self._open if one.sent_at is not None]
        if not sent:
            return 0.0
        heard = (one.heard_at for one in self._open if one.heard_at is not None)
        last = max((self._heard_at, *heard))
        return max(0.0, now - max(last, min(sent)))


def _missed(request: Open, asked: _Asked, now: float, slo: Slo) -> list[str]:
    """What can't be met any more: by its first token where it streams, by its end always."""
    age = now - request.intended_at
    names = ["e2e_ms"]
    if asked.streams and request.first_token_at is None:
        names.append("ttft_ms")
    found = []
    for name in names:
        top = slo.maximum(name, tenant=asked.tenant, prompt_tokens=asked.prompt_tokens)
        if top is not None and age * 1e3 > top:
            found.append(name)
    return found
