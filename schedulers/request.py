"""What a law may know of a request before it has run: lengths, owner, urgency. Never its text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from schedulers.tiers import PLACES


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as laws see it. Times are seconds on the host's clock."""

    serial: int
    """The order of arrival, from 1: it breaks every tie."""
    arrived_at: float
    tenant: str = ""
    tier: str = "normal"
    weight: float = 1.0
    """The tenant's share against others of its tier."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that a prefix cache is expected to hold."""
    max_tokens: int | None = None
    expected_output: float | None = None
    """Output tokens foretold by the host; None: the law learns or assumes."""
    service_s: float | None = None
    """Seconds of the engine that it is foretold to take; None: not known."""
    deadline_at: float | None = None
    """When its first token is due; None: it has no objective of its own."""
    attempt: int = 1

    @property
    def band(self) -> int:
        """The tier as a number, 0 first."""
        return PLACES.get(self.tier, 1)

    @property
    def uncached_tokens(self) -> int:
        """Prompt tokens that must be computed."""
        return max(0, self.prompt_tokens - self.cached_tokens)

    def output(self, learned: float | None = None, otherwise: float = 256.0) -> float:
        """Output tokens to reckon with: foretold, learned or assumed; never over its cap."""
        known = self.expected_output
        if known is None or not math.isfinite(known):
            known = otherwise if learned is None or not math.isfinite(learned) else learned
        most = self.max_tokens
        return max(1.0, known if most is None or known <= most else float(most))

    def size(self) -> float:
        """Seconds of service where they are foretold, else its tokens, output counted twice."""
        if self.service_s is not None and self.service_s > 0 and math.isfinite(self.service_s):
            return self.service_s
        return self.uncached_tokens + 2.0 * self.output()
