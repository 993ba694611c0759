"""What in a configuration cannot hold together, cannot be meant, or does nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Any

from documents.fields import describe
from loadtest.printable import printable
from loadtest.reproduce.configuration.sections import Configuration
from schedulers.admission.base import laws as admissions
from simulator import profile

ADMISSION_LAW = "three_budgets"
"""What a configuration's admission is converted to."""


def fastest_step_ms(sequences: int) -> float:
    """What the fastest shipped profile takes to decode one token of each, with no context yet."""
    costs = (profile.load(name).cost for name in profile.names())
    return 1e3 * min(cost.seconds(sequences, 0, sequences, 0.0) for cost in costs)


class Kind(StrEnum):
    """How bad it is."""

    CONTRADICTION = "contradiction"
    """Two values that can't both hold, or can't both be meant."""
    IDLE = "has no effect"
    UNCLEAR = "unclear"
    """It can be read in two ways; the conversion's way is said."""
    MISSING = "missing"
    UNREAD = "not read"


@dataclass(frozen=True, slots=True)
class Remark:
    """``values``: each path concerned, as its author wrote it, with what stands there."""

    kind: Kind
    values: tuple[tuple[str, Any], ...]
    message: str

    def to_json(self) -> dict[str, Any]:
        """Its kind and its words apart; ``bad``: it can't hold."""
        said = str(self).removeprefix(f"{self.kind}: ")
        return {"kind": str(self.kind), "text": said, "bad": self.kind is Kind.CONTRADICTION}

    def __str__(self) -> str:
        where = ", ".join(
            path
            if value is None
            else f"{path} {value:g}"
            if _is_number(value)
            else f"{path} {value}"
            for path, value in self.values
        )
        return printable(f"{self.kind}: {where}: {self.message}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def mean_tokens(mu: float, sigma: float) -> float:
    """The mean of a lognormal length."""
    return math.exp(mu + sigma**2 / 2)


def remarks(given: Configuration) -> list[Remark]:
    """All of them, contradictions first."""
    lint = _Lint(given)
    checks = (
        lint.end_to_end, lint.places, lint.quantiles, lint.limits, lint.budget, lint.first_token,
        lint.promises, lint.swap, lint.reserve, lint.order, lint.immunity, lint.prompts,
        lint.half_promised, lint.unread,
    )  # fmt: skip
    found = [remark for check in checks for remark in check()]
    return sorted(found, key=lambda remark: list(Kind).index(remark.kind))


class _Lint:
    def __init__(self, given: Configuration) -> None:
        self._given = given
        self._output = mean_tokens(given.loadgen.output_mu, given.loadgen.output_sigma)

    def _remark(self, kind: Kind, message: str, *paths: str) -> Remark:
        given = self._given
        values = []
        for path in paths:
            section, name = path.split(".")
            values.append((given.path(path), getattr(getattr(given, section), name)))
        return Remark(kind, tuple(values), message)

    def end_to_end(self) -> Iterator[Remark]:
        """An end-to-end bound that answers at their objectives for tokens can't meet."""
        slo, load = self._given.slo, self._given.loadgen
        if slo.p95_ms is None or slo.tpot_ms is None:
            return
        long = math.exp(load.output_mu + NormalDist().inv_cdf(0.95) * load.output_sigma)
        takes = (slo.ttft_ms or 0.0) + slo.tpot_ms * (long - 1)
        if takes > slo.p95_ms:
            each = (slo.p95_ms - (slo.ttft_ms or 0.0)) / max(1.0, long - 1)
            room = f"{each:.1f} ms a token" if each > 0 else "no time for a second token"
            yield self._remark(
                Kind.CONTRADICTION,
                f"answers of {self._output:.0f} tokens in the mean, {long:.0f} at P95, take up to "
                f"{takes / 1e3:.0f} s within their objectives for tokens; the end-to-end bound "
                f"leaves {room}",
                "slo.p95_ms", "slo.tpot_ms", "loadgen.output_mu", "loadgen.output_sigma",
            )  # fmt: skip

    def places(self) -> Iterator[Remark]:
        """Little's law: the time a token may take, so that places hold what is offered.

        The objective is an upper bound: to need less is a wish, to need what no engine does is not.
        """
        given = self._given
        most, tpot, rate = given.scheduler.max_num_seqs, given.slo.tpot_ms, given.loadgen.qps
        if most is None or tpot is None:
            return
        needed = rate * self._output * tpot / 1e3
        if needed <= most:
            return
        room, fastest = 1e3 * most / (rate * self._output), fastest_step_ms(most)
        if room < fastest:
            yield self._remark(
                Kind.CONTRADICTION,
                f"by Little's law {rate:g} answers a second of {self._output:.0f} tokens at "
                f"{tpot:g} ms each are {needed:.0f} at once; {most} places hold them only at "
                f"{room:.1f} ms a token, where the fastest engine modelled here takes "
                f"{fastest:.1f} for a step of so many",
                "loadgen.qps", "scheduler.max_num_seqs", "slo.tpot_ms",
            )  # fmt: skip

    def quantiles(self) -> Iterator[Remark]:
        """A bound at one quantile, a target at another."""
        slo = self._given.slo
        if slo.p95_ms is not None and slo.attainment is not None and slo.attainment != 0.95:
            yield self._remark(
                Kind.CONTRADICTION,
                f"a bound at P95 is kept with 95 % within it, the target asks for "
                f"{100 * slo.attainment:g} %; converted as an objective with a target of its own, "
                "0.95",
                "slo.p95_ms", "slo.attainment",
            )  # fmt: skip

    def limits(self) -> Iterator[Remark]:
        """Two limits for the same places."""
        scheduler = self._given.scheduler
        cap, most = scheduler.batch_size_cap, scheduler.max_num_seqs
        if cap is not None and most is not None and cap < most:
            yield self._remark(
                Kind.CONTRADICTION,
                f"an iteration holds all that run, so {most - cap} of {most} places are never "
                f"used; converted as they stand: the engine has {most}, the policy uses {cap}",
                "scheduler.batch_size_cap", "scheduler.max_num_seqs",
            )  # fmt: skip

    def budget(self) -> Iterator[Remark]:
        """Fewer tokens than sequences."""
        scheduler = self._given.scheduler
        tokens, most = scheduler.max_num_batched_tokens, scheduler.max_num_seqs
        if tokens is not None and most is not None and tokens < most:
            yield self._remark(
                Kind.CONTRADICTION,
                "each sequence that decodes takes one token of a step, so some would starve",
                "scheduler.max_num_batched_tokens", "scheduler.max_num_seqs",
            )  # fmt: skip

    def first_token(self) -> Iterator[Remark]:
        """A first token that may come after the end."""
        slo = self._given.slo
        if slo.ttft_ms is not None and slo.p95_ms is not None and slo.ttft_ms >= slo.p95_ms:
            yield self._remark(
                Kind.CONTRADICTION,
                "the first token may come no sooner than the whole answer must",
                "slo.ttft_ms", "slo.p95_ms",
            )  # fmt: skip

    def promises(self) -> Iterator[Remark]:
        """More memory promised than there is."""
        ratio, times = self._kv
        if ratio is not None and times is not None and ratio * times > 1.0:
            yield self._remark(
                Kind.CONTRADICTION,
                f"as the share that may be used, times the oversubscription, it promises "
                f"{ratio * times:.3g} of the cache: where answers run long together, running "
                "requests are thrown out",
                "admission.kv_reserve_ratio", "admission.oversubscribe",
            )  # fmt: skip

    def swap(self) -> Iterator[Remark]:
        """Space for what is never moved."""
        scheduler = self._given.scheduler
        if scheduler.swap_space_gb and scheduler.preemption == "recompute":
            yield self._remark(
                Kind.IDLE,
                "who is preempted by recomputing is never moved to the host's memory",
                "scheduler.swap_space_gb", "scheduler.preemption",
            )  # fmt: skip

    def reserve(self) -> Iterator[Remark]:
        """A word with two meanings."""
        ratio, _ = self._kv
        if ratio is not None:
            yield self._remark(
                Kind.UNCLEAR,
                f"the source means by it once what may be used, once what is kept free; converted "
                f"as what may be used ({100 * ratio:g} %)",
                "admission.kv_reserve_ratio",
            )  # fmt: skip

    def order(self) -> Iterator[Remark]:
        """A name without a formula."""
        if self._given.scheduler.policy == "slack_aware":
            yield self._remark(
                Kind.UNCLEAR,
                "the source gives no formula; converted as least slack first, dropping nothing "
                "(slack_density, κ 0)",
                "scheduler.policy",
            )  # fmt: skip

    def immunity(self) -> Iterator[Remark]:
        """A share of a length that nobody knows."""
        if self._given.scheduler.immunity is not None:
            yield self._remark(
                Kind.UNCLEAR,
                "how far an answer is along is not known while it runs; converted as a share of "
                "the expected length, lifted where all are immune",
                "scheduler.immunity",
            )  # fmt: skip

    def prompts(self) -> Iterator[Remark]:
        """Nobody can say what a first token takes without its prompt."""
        if self._given.loadgen.prompt_mu is None:
            message = "no lengths of prompts; converted with 220 tokens in the mean, σ 0.9 (chat)"
            yield Remark(Kind.MISSING, ((self._given.path("loadgen.prompt_mu"), None),), message)

    def half_promised(self) -> Iterator[Remark]:
        """A share without its oversubscription, or the other way: the law has a default."""
        ratio, times = self._kv
        if (ratio is None) == (times is None):
            return
        parameter, path = (
            ("oversubscribe", "admission.oversubscribe")
            if times is None
            else ("kv_usable", "admission.kv_reserve_ratio")
        )
        default = _default(parameter)
        promised = (ratio or default) * (times or default)
        message = (
            f"converted with the law's own {default:g}, so {promised:.3g} of the cache is promised"
        )
        yield Remark(Kind.MISSING, ((self._given.path(path), None),), message)

    def unread(self) -> Iterator[Remark]:
        """Fields and sections that nothing here knows."""
        for path, value in self._given.unread.items():
            yield Remark(Kind.UNREAD, ((path, _short(value)),), "is not converted")

    @property
    def _kv(self) -> tuple[float | None, float | None]:
        return self._given.admission.kv_reserve_ratio, self._given.admission.oversubscribe


def _default(name: str) -> float:
    """Of the law that a configuration's admission becomes."""
    law: Any = admissions.get(ADMISSION_LAW)
    return next(float(info.default) for info in describe(law) if info.name == name)


def _short(value: object) -> Any:
    if _is_number(value):
        return value
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"
