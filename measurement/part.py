"""The numbers of one part of a run: all of it, or what is left when warm-up is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from measurement.column_block import OUTCOMES
from measurement.judgements import Judgements
from measurement.latencies import itl_kind, quantiles
from measurement.outcome import Outcome
from measurement.proportion import Share
from measurement.quantiles import Quantiles
from measurement.token_times import tokens_between
from measurement.tokens import Tokens, counted

REJECTED = (Outcome.REJECTED_429, Outcome.REJECTED_503, Outcome.SHED)


@dataclass(frozen=True, slots=True)
class Part:
    """Requests that were intended from ``start`` to ``end``; rates are over those seconds."""

    start: float
    end: float
    offered: int
    sent: int
    outcomes: Mapping[Outcome, int]
    joint: Share
    """Met every objective, of offered without the excluded."""
    excluded: int
    rejected: int
    sent_within: int
    """Sends in the part's time, whenever they were intended."""
    served_within: int
    """Answers that ended well in the part's time, whenever they were asked."""
    tokens_within: int
    """Output tokens that arrived in the part's time."""
    met_tokens: int
    tokens: Tokens
    latencies: Mapping[str, Quantiles] = field(default_factory=dict)
    itl_kind: str | None = None

    @classmethod
    def of(cls, judgements: Judgements, *, start: float, end: float) -> Part:
        """The part of a whole run as it was judged; each request belongs where its intended start
        is."""
        run = judgements.columns
        own = run.since(start)
        tally = judgements.tally(len(run) - len(own))
        outcomes = counted(own, lambda block: block.outcome)
        return cls(
            start=start,
            end=end,
            offered=len(own),
            sent=own.count(lambda b: ~np.isnan(b.sent_at)),
            outcomes={OUTCOMES[code]: n for code, n in outcomes.items()},
            joint=tally.joint,
            excluded=tally.excluded,
            rejected=own.count(lambda b: b.became(*REJECTED)),
            sent_within=run.count(lambda b: (start <= b.sent_at) & (b.sent_at < end)),
            served_within=run.count(lambda b: b.success & (start <= b.done_at) & (b.done_at < end)),
            tokens_within=tokens_between(run, start, end),
            met_tokens=tally.met_tokens,
            tokens=Tokens.of(own),
            latencies=quantiles(own),
            itl_kind=itl_kind(own),
        )

    @property
    def seconds(self) -> float:
        """The part's length, without the drain that follows it."""
        return self.end - self.start

    @property
    def attainment(self) -> float | None:
        """Requests that met every objective, over offered."""
        return self.joint.value

    @property
    def attainment_accepted(self) -> float | None:
        """The same requests, over those that nobody rejected or shed."""
        accepted = self.joint.n - self.rejected
        return self.joint.k / accepted if accepted else None

    @property
    def rejection_rate(self) -> float | None:
        """Rejected by the engine or shed by the policy, over offered."""
        return self.rejected / self.offered if self.offered else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON. Rates are null in a part without length."""
        low, high = self.joint.interval() if self.joint.n else (None, None)
        return {
            "seconds": self.seconds,
            "offered": self.offered,
            "sent": self.sent,
            "outcomes": {str(outcome): n for outcome, n in self.outcomes.items()},
            "met": self.joint.k,
            "excluded": self.excluded,
            "attainment": self.attainment,
            "attainment_low": low,
            "attainment_high": high,
            "attainment_n": self.joint.n,
            "effective_n": round(self.joint.effective_n, 1),
            "attainment_accepted": self.attainment_accepted,
            "rejection_rate": self.rejection_rate,
            "goodput_rps": self._per_second(self.joint.k),
            "goodput_tokens_ps": self._per_second(self.met_tokens),
            "offered_rate": self._per_second(self.offered),
            "achieved_rate": self._per_second(self.sent_within),
            "served_rate": self._per_second(self.served_within),
            "output_tokens_ps": self._per_second(self.tokens_within),
            "prompt_tokens": self.tokens.prompt,
            "output_tokens": self.tokens.output,
            "token_source": self.tokens.source,
            "token_sources": dict(self.tokens.sources),
            "token_note": self.tokens.note,
            "itl_kind": self.itl_kind,
            **{name: found.to_json() for name, found in self.latencies.items()},
        }

    def _per_second(self, count: float) -> float | None:
        return count / self.seconds if self.seconds > 0 else None
