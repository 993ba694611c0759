"""The numbers of one part of a run: all of it, or what is left when warm-up is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from measurement.latencies import itl_kind, quantiles
from measurement.outcome import Outcome
from measurement.proportion import Share
from measurement.quantiles import Quantiles
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.tally import Tallies
from measurement.token_times import tokens_between
from measurement.tokens import Tokens

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
    def of(
        cls,
        samples: Sequence[Sample],
        slo: Slo | None,
        *,
        start: float,
        end: float,
        tallies: Tallies | None = None,
    ) -> Part:
        """The part of a whole run's samples; each belongs where its intended start is."""
        own = [sample for sample in samples if sample.intended_at >= start]
        tally = (tallies or Tallies(slo)).of(own)
        return cls(
            start=start,
            end=end,
            offered=len(own),
            sent=sum(sample.sent_at is not None for sample in own),
            outcomes=dict(Counter(sample.outcome for sample in own)),
            joint=tally.joint,
            excluded=tally.excluded,
            rejected=sum(sample.outcome in REJECTED for sample in own),
            sent_within=sum(s.sent_at is not None and start <= s.sent_at < end for s in samples),
            served_within=sum(_ended_within(sample, start, end) for sample in samples),
            tokens_within=tokens_between(samples, start, end),
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


def _ended_within(sample: Sample, start: float, end: float) -> bool:
    return sample.outcome.success and sample.done_at is not None and start <= sample.done_at < end
