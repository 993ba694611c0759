"""One criterion at one look: every number that a page has to show, and what they allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from measurement.comparison.block import Block, Count
from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.criterion import Criterion
from measurement.comparison.e_process import log_e
from measurement.comparison.looks import POOLED_EVENTS, Looks, clean_blocks, look
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.power import detectable, rule_of
from measurement.proportion import upper_bound

HARM, PASS, INCONCLUSIVE, INVALID = "harm", "pass", "inconclusive", "invalid"
_DIGITS = 12
_LARGEST = 300.0


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """Rates, m, r and margins are shares; null where nothing can be said yet."""

    name: str
    label: str
    outcome: str
    k: int
    """Blocks in which both arms had something to say."""
    baseline: Count
    candidate: Count
    baseline_rate: float | None
    candidate_rate: float | None
    m: float | None
    """Mean of D over the blocks."""
    sd: float | None
    """Deviation of D from block to block."""
    r_harm: float | None
    r_pass: float | None
    e: float | None
    """The evidence for harm; null where it is too large for a float, as log10_e is not."""
    log10_e: float | None
    e_counts: bool
    """Whether E alone may call harm under this plan."""
    harm_margin: float
    pass_margin: float
    pooled: int
    """Bad events of both arms."""
    rare: bool
    """Too few of them for the variance to be believed."""
    clean_needed: int | None
    """Of a rare criterion: so many blocks without one in the candidate pass it."""
    unseen: float | None
    """What the blocks can't exclude: a share of bad blocks of the candidate up to this."""
    detectable: float | None
    accepted_by: str = ""
    """Who passed a rare criterion that its blocks could not."""
    unused: int = 0
    """Blocks in which an arm had no answer that the criterion could judge."""
    unmeasured: int = 0
    """Answers in all blocks without a value to judge them by, of both arms."""
    metric: str = ""
    """The latency that an exceedance is about."""

    @property
    def good(self) -> int:
        """Requests of both arms that are known not to be bad."""
        return self.baseline.measured + self.candidate.measured - self.pooled

    @property
    def crowded(self) -> bool:
        """Too few good ones for the variance to be believed."""
        return not self.rare and self.good < POOLED_EVENTS

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Series:
    """One criterion over all blocks so far; ``at`` tells where each block's look stands."""

    plan: ComparisonPlan
    criterion: Criterion
    blocks: Sequence[Block]

    @cached_property
    def used(self) -> list[Block]:
        """Those in which both arms had something to say."""
        name = self.criterion.name
        return [block for block in self.blocks if block.difference(name) is not None]

    @property
    def closed(self) -> bool:
        """Whether all planned blocks are over, used or not."""
        return len(self.blocks) >= self.plan.blocks

    @cached_property
    def looks(self) -> Looks:
        """The look after each used block."""
        name = self.criterion.name
        return look(
            [block.difference(name) or 0.0 for block in self.used],
            [block.baseline.count(name).bad for block in self.used],
            [block.candidate.count(name).bad for block in self.used],
            rule_of(self.plan, self.criterion, closed=self.closed),
            offered=[sum(arm.count(name).measured for arm in block.arms) for block in self.used],
        )

    @cached_property
    def at(self) -> list[int]:
        """For each block, how many used ones there are up to it."""
        used = {block.index for block in self.used}
        found, so_far = [], 0
        for block in self.blocks:
            so_far += block.index in used
            found.append(so_far)
        return found

    def harm(self, place: int) -> bool:
        """At the look after the block at that place."""
        k = self.at[place]
        return bool(k and self.looks.harm[k - 1])

    def passes(self, place: int, accepted: bool = False) -> bool:  # noqa: FBT001, FBT002 - a fact
        """At the look after the block at that place; by a person where events are too rare.

        A person accepts what there is now, so that counts at the last block only.
        """
        k = self.at[place]
        if k and self.looks.passes[k - 1]:
            return True
        now = accepted and place == len(self.blocks) - 1
        return bool(now and k >= LEAST_BLOCKS and self.looks.pooled[k - 1] < POOLED_EVENTS)

    def verdict(self, place: int, accepted_by: str = "") -> CriterionVerdict:
        """What the look after that block says; ``place`` −1 is before the first."""
        k = self.at[place] if place >= 0 else 0
        name = self.criterion.name
        baseline, candidate = (_total(self.used[:k], name, arm) for arm in (0, 1))
        numbers = self._numbers(k) if k else _NOTHING
        return CriterionVerdict(
            name=name,
            label=self.criterion.label,
            outcome=self._outcome(place, accepted_by) if k else INCONCLUSIVE,
            k=k,
            baseline=baseline,
            candidate=candidate,
            baseline_rate=_rate(baseline),
            candidate_rate=_rate(candidate),
            harm_margin=self.criterion.harm_margin,
            pass_margin=self.criterion.pass_margin,
            pooled=baseline.bad + candidate.bad,
            rare=baseline.bad + candidate.bad < POOLED_EVENTS,
            e_counts=rule_of(self.plan, self.criterion).bets,
            accepted_by=accepted_by,
            unused=place + 1 - k,
            unmeasured=sum(
                arm.count(name).unmeasured
                for block in self.blocks[: place + 1]
                for arm in block.arms
            ),
            metric=self.criterion.metric,
            **numbers,
        )

    def _outcome(self, place: int, accepted_by: str) -> str:
        if self.harm(place):
            return HARM
        return PASS if self.passes(place, bool(accepted_by)) else INCONCLUSIVE

    def _numbers(self, k: int) -> dict[str, Any]:
        run, place = self.looks.running, k - 1
        variance = float(run.variance[place])
        evidence = float(log_e(run.sum[place], run.squares[place], self.plan.scale(self.criterion)))
        log10_e = evidence / math.log(10)
        name = self.criterion.name
        bad_blocks = sum(block.candidate.count(name).bad > 0 for block in self.used[:k])
        rare = self.looks.pooled[place] < POOLED_EVENTS
        needed = clean_blocks(self.plan.alpha, self.criterion.pass_margin)
        return {
            "m": rounded(float(run.mean[place])),
            "sd": rounded(math.sqrt(variance)) if k > 1 else None,
            "r_harm": rounded(float(self.looks.harm_radius[place])),
            "r_pass": rounded(float(self.looks.pass_radius[place])),
            "e": rounded(10**log10_e) if log10_e < _LARGEST else None,
            "log10_e": rounded(log10_e),
            "clean_needed": math.ceil(float(needed)) if rare else None,
            "unseen": rounded(self._unseen(bad_blocks, k)),
            "detectable": rounded(detectable(self.plan, self.criterion, k, variance)),
        }

    def _unseen(self, bad_blocks: int, k: int) -> float:
        """ln(1/α)/k where no block was bad, else Clopper and Pearson's bound."""
        if not bad_blocks:
            return min(1.0, math.log(1 / self.plan.alpha) / k)
        return upper_bound(bad_blocks, k, 1 - self.plan.alpha)


_NOTHING: dict[str, Any] = dict.fromkeys(
    ("m", "sd", "r_harm", "r_pass", "e", "log10_e", "clean_needed", "unseen", "detectable")
)


def rounded(value: float | None) -> float | None:
    """To twelve digits, so that a stored verdict is the same bytes on any machine; null if ∞."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")


def _total(blocks: Sequence[Block], name: str, arm: int) -> Count:
    total = Count()
    for block in blocks:
        total = total.merge(block.arms[arm].count(name))
    return total


def _rate(count: Count) -> float | None:
    return rounded(count.bad / count.offered) if count.offered else None
