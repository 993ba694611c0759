"""What a policy may know of a live request before it has run: lengths, owner, when it is due.

Prompt tokens are estimated from the body's bytes by what engines said of earlier ones; nothing of
the text is read, and of the JSON only the bound on the answer.
"""

from __future__ import annotations

import re

from gateway.config_parts import TenantConfig
from measurement.slo import Slo
from schedulers.request import Request
from schedulers.runtime.first_tokens import FirstTokens

_ASSUMED = 0.25
"""Tokens in a byte, before an engine has said."""
_MEMORY = 100.0
_BOUND = re.compile(rb'(?<!\\)"max_(?:completion_)?tokens"\s*:\s*(\d{1,9})')
"""Within a JSON string the quotes would be escaped, so it is a field."""


class Lengths:
    """Of one lane: tokens in a byte, and how long first tokens take; both learned."""

    def __init__(self) -> None:
        self._n = 0.0
        self._bytes = 0.0
        self._tokens = 0.0
        self._first = FirstTokens()

    def request(
        self, body: bytes, tenant: TenantConfig, slo: Slo | None, at: float, attempt: int = 1
    ) -> Request:
        """As laws see it; ``at`` is when it came whole. The queue stamps serial and arrival."""
        prompt = self.tokens(len(body))
        most = (
            None
            if slo is None
            else slo.maximum("ttft_ms", tenant=tenant.name, prompt_tokens=prompt)
        )
        bound = _BOUND.search(body)
        return Request(
            serial=0,
            arrived_at=at,
            tenant=tenant.name,
            tier=tenant.tier,
            prompt_tokens=prompt,
            max_tokens=max(1, int(bound[1])) if bound else None,
            service_s=None if most is None else self._first.foretold(prompt, at),
            deadline_at=None if most is None else at + most / 1e3,
            attempt=attempt,
        )

    def tokens(self, size: int) -> int:
        """Prompt tokens that so many bytes of a body hold, about."""
        rate = self._tokens / self._bytes if self._bytes else _ASSUMED
        return max(1, round(size * rate))

    def first_token(self, size: int, ttft: float, now: float) -> None:
        """The first token of one has come now, so many seconds after it was sent.

        Told as it comes: an answer may go on for minutes, in which nothing would be heard of an
        engine that begins one answer after another.
        """
        self._first.heard(self.tokens(size), ttft, now)

    def counted(self, size: int, prompt_tokens: int | None) -> None:
        """What an engine said of one's length."""
        if prompt_tokens and size:
            self._n = min(_MEMORY, self._n + 1.0)
            self._bytes += (size - self._bytes) / self._n
            self._tokens += (prompt_tokens - self._tokens) / self._n
