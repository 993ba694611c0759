"""From what somebody asks for to an order: criteria from the SLO, a plan, a slot's washout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from loadtest.ab.order import Order, Where, load_of
from loadtest.endpoint import Endpoint
from loadtest.scenario import Scenario
from measurement.comparison.assignment import LEAST_FLOOR
from measurement.comparison.criterion import LATENCIES, Criterion, Kind
from measurement.comparison.fixed_budget import LEAST_PLANNED
from measurement.comparison.plan import Budget, ComparisonPlan, Stimulus
from measurement.comparison.power import Power, plan_power
from measurement.slo import Slo
from measurement.slo_parts import Metadata
from schedulers.document import Policy
from simulator import profile as profiles

BLOCKS = 40
WASHOUT_SHARE = 1 / 3
"""Of a slot, where nobody says how long answers take."""
HARM = ".harm"
"""After a criterion's name in ``margins``: the gap that may be before it is harm."""
MODEL_REQUESTS = 200_000
"""An arm, on the engine model: some minutes of reckoning."""


@dataclass(frozen=True)
class Draft:
    """Everything that may be asked of an A/B load test, as plain values."""

    baseline: object = parameter(help="a policy document")
    candidate: object = parameter(help="a policy document")
    workload: object = parameter(help="a workload with its kind")
    arrivals: object = parameter(help="an open-loop arrival process with its parameters")
    slo: object = parameter(help="an SLO document: what makes a request bad")
    where: str = parameter(default=Where.MODEL, choices=tuple(Where), help="what answers")
    endpoints: Sequence[Any] = parameter(
        default_factory=list, help="two for endpoints, one for switchback"
    )
    profile: str = parameter(default=profiles.DEFAULT, help="engine profile of model and engines")
    blocks: int = parameter(
        default=BLOCKS,
        minimum=LEAST_PLANNED,
        maximum=1_000,
        unit="blocks",
        help="planned; looks after 25, 50, 75 and 100 % of them",
    )
    block_s: float = parameter(
        default=15.0,
        minimum=LEAST_FLOOR,
        maximum=3_600,
        unit="s",
        help="a slot, its washout included; a block of a switchback is two",
    )
    washout_s: float | None = parameter(
        default=None,
        minimum=0.0,
        maximum=3_600,
        unit="s",
        help="start of each slot that is not counted; a third of the slot if not given",
    )
    margins: Mapping[str, float] = parameter(
        default_factory=dict,
        help="by criterion: attainment, errors, or a latency objective such as ttft_ms_p99",
    )
    bases: Mapping[str, float] = parameter(
        default_factory=dict, help="by criterion: the baseline's share of bad requests, for power"
    )
    seed: int = parameter(
        default=1, minimum=0, maximum=2**63 - 1, help="fixes the schedule and every block's draw"
    )
    stages: int = parameter(
        default=1, minimum=1, maximum=100, help="of a rollout: they share what may go wrong"
    )
    owner: str = parameter(default="", help="who asks")
    drain_s: float = parameter(default=30.0, minimum=0.0, maximum=3_600, unit="s")
    timeouts: Mapping[str, float] = parameter(default_factory=dict, help="as in a scenario")
    tenants: Mapping[str, Any] = parameter(default_factory=dict, help="as in a scenario")
    prompt_salt: str = parameter(default="", help="as in a scenario")


def draft(given: object) -> Order:
    """The order that was asked for; DocumentError with every fault that can be told at once."""
    asked = build(Draft, given)
    found = _Gathered()
    baseline = found.take("baseline", Policy.parse, asked.baseline)
    candidate = found.take("candidate", Policy.parse, asked.candidate)
    slo = found.take("slo", Slo.parse, asked.slo)
    load = found.take("", lambda load: _load(load, asked), _load_fields(asked))
    endpoints = [
        found.take("", lambda one, at=place: build(Endpoint, one, path=f"endpoints.{at}"), endpoint)
        for place, endpoint in enumerate(asked.endpoints)
    ]
    if asked.where in (Where.MODEL, Where.ENGINES):
        found.take("", profiles.load, asked.profile)
    found.note(_shape_faults(asked))
    if asked.where == Where.MODEL and load is not None:
        found.note(_too_many(load, asked))
    criteria: Any = None
    if not found.problems:
        criteria = found.take("", lambda slo: criteria_of(slo, asked.margins, asked.bases), slo)
    found.settle()
    washout = WASHOUT_SHARE * asked.block_s if asked.washout_s is None else asked.washout_s
    where = Where(asked.where)
    counted = max(LEAST_FLOOR, asked.block_s - washout)
    plan = ComparisonPlan(
        metadata=Metadata(name=_name(baseline, candidate), owner=asked.owner or "headway"),
        baseline=baseline.sha256,
        candidate=candidate.sha256,
        criteria=criteria,
        seed=asked.seed,
        blocks=asked.blocks,
        design=where.design,
        stimulus=Stimulus.REPLAY,
        budget=Budget.FIXED,
        requests=max(1, round(load.arrivals.expected(counted) or 1)),
        stages=asked.stages,
        floor_s=counted,
    )
    return Order(
        plan=plan,
        baseline=baseline,
        candidate=candidate,
        where=where,
        load=load,
        block_s=asked.block_s,
        washout_s=washout,
        endpoints=tuple(endpoints),
        profile=asked.profile,
    )


def criteria_of(
    slo: Slo, margins: Mapping[str, float], bases: Mapping[str, float]
) -> tuple[Criterion, ...]:
    """Attainment, and whatever else has a margin; a percentile's τ is the SLO's own threshold."""
    known = {criterion["name"]: criterion["fields"] for criterion in _known(slo)}
    names = [str(Kind.ATTAINMENT), *(name.removesuffix(HARM) for name in margins)]
    problems = [
        Problem(f"{field}.{name}", value, f"is no criterion of this SLO; known: {', '.join(known)}")
        for field, given in (("margins", margins), ("bases", bases))
        for name, value in given.items()
        if name.removesuffix(HARM) not in known
    ]
    if problems:
        raise DocumentError(problems)
    found = []
    for name in dict.fromkeys(names):
        fields = dict(known[name])
        for field, given in (("pass_margin", margins), ("base", bases)):
            if name in given:
                fields[field] = given[name]
        if name + HARM in margins:
            fields["harm_margin"] = margins[name + HARM]
        found.append(Criterion.parse(fields, path=f"margins.{name}"))
    return tuple(found)


def power_of(plan: ComparisonPlan) -> tuple[Power, ...]:
    """What the plan can find; drawn from its own seed, so that it reads the same each time."""
    return plan_power(plan, np.random.default_rng(plan.seed))


def _known(slo: Slo) -> list[dict[str, Any]]:
    """Every criterion that may have a margin under this SLO."""
    found: list[dict[str, Any]] = [
        {"name": str(kind), "fields": {"kind": str(kind)}}
        for kind in (Kind.ATTAINMENT, Kind.ERRORS)
    ]
    for objective in slo.objectives:
        quantile = slo.target_of(objective)
        if objective.metric in LATENCIES and 0.5 <= quantile <= 0.9999:
            fields = {
                "kind": str(Kind.EXCEEDANCE),
                "metric": objective.metric,
                "quantile": quantile,
                "threshold": objective.max,
                "source": f"the SLO {slo.metadata.name}",
            }
            found.append({"name": Criterion.parse(fields).name, "fields": fields})
    return found


def _load_fields(asked: Draft) -> dict[str, Any]:
    names = ("workload", "arrivals", "slo", "drain_s", "timeouts", "tenants", "prompt_salt")
    return {name: getattr(asked, name) for name in names}


def _load(fields: Mapping[str, Any], asked: Draft) -> Scenario:
    """The load, with the SLO's faults left to the SLO's own parser."""
    try:
        return load_of(fields, seed=asked.seed, seconds=asked.blocks * asked.block_s)
    except DocumentError as error:
        rest = [one for one in error.problems if one.path.partition(".")[0] != "slo"]
        renamed = [
            Problem("blocks", asked.blocks, one.message) if one.path == "duration_s" else one
            for one in rest
        ]
        raise DocumentError(renamed) from None


def _shape_faults(asked: Draft) -> Iterator[Problem]:
    """Parts that are no mapping, where one is read."""
    for name in ("margins", "bases"):
        given = getattr(asked, name)
        if not isinstance(given, Mapping):
            yield Problem(name, given, "must be a mapping of criterion: share, such as 0.01")


def _too_many(load: Scenario, asked: Draft) -> Iterator[Problem]:
    expected = load.arrivals.expected(load.duration_s) or 0.0
    if expected > MODEL_REQUESTS:
        message = (
            f"make {expected:,.0f} requests an arm; the engine model takes at most "
            f"{MODEL_REQUESTS:,}. Plan fewer or shorter blocks, or a lower rate"
        )
        yield Problem("blocks", asked.blocks, message)


def _name(baseline: Policy, candidate: Policy) -> str:
    return f"{candidate.name[:30]}-against-{baseline.name[:20]}".strip("-")


class _Gathered:
    """Faults of several parts, so that all are told at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def take(self, path: str, parse: Any, given: Any) -> Any:
        """What the parser makes of it; None and a note where it can't."""
        if given is None and self.problems:
            return None  # an earlier fault is why
        try:
            return parse(given)
        except DocumentError as error:
            self.problems += (error.below(path) if path else error).problems
            return None

    def note(self, problems: Iterable[Problem]) -> None:
        """Faults that somebody else has found."""
        self.problems += problems

    def settle(self) -> None:
        """Raise what was gathered."""
        if self.problems:
            raise DocumentError(self.problems)
