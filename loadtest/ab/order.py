"""An order: a comparison plan, its two policies, and where and with what load it is carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from documents import canonical
from documents.fields import parameter
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem
from loadtest.arrivals.base import OpenLoop
from loadtest.endpoint import Endpoint
from loadtest.scenario import Scenario
from measurement.comparison.assignment import LEAST_FLOOR, Arm, Design, Timetable
from measurement.comparison.plan import ComparisonPlan, Stimulus
from schedulers.decision import DecisionPoint
from schedulers.document import Policy
from schedulers.enforcement import Host, enforced
from simulator import profile as profiles

ENFORCED = enforced(Host.LOAD_TEST)
"""The decision points that a comparison holds its arms to: those of the load driver, whatever
answers. A simulated load test enforces another set."""


class Where(StrEnum):
    """What answers."""

    MODEL = "model"
    """The engine model in virtual time: two engines that exist in this process only."""
    ENGINES = "engines"
    """Two simulated engines, started for this comparison and ended with it."""
    ENDPOINTS = "endpoints"
    """Two equivalent endpoints, both at once."""
    SWITCHBACK = "switchback"
    """One endpoint, each policy in turn."""

    @property
    def design(self) -> Design:
        """How arms are kept apart there."""
        return Design.SWITCHBACK if self is Where.SWITCHBACK else Design.LANES

    @property
    def endpoints(self) -> int:
        """How many are to be named."""
        return {Where.ENDPOINTS: 2, Where.SWITCHBACK: 1}.get(self, 0)


NO_ENDPOINT = {"base_url": "http://127.0.0.1", "model": "simulated", "kind": "simulated"}
"""Stands in the load of an order whose engines are its own."""
LOAD = ("workload", "arrivals", "slo", "drain_s", "timeouts", "tenants", "prompt_salt")
"""Fields of a scenario that an order sets as they are."""


@dataclass(frozen=True)
class Order:
    """Both arms replay ``load``: a scenario without a policy, as long as all blocks together."""

    plan: ComparisonPlan
    baseline: Policy
    candidate: Policy
    where: Where
    load: Scenario
    block_s: float
    """Seconds of a slot, washout included."""
    washout_s: float
    endpoints: tuple[Endpoint, ...] = ()
    profile: str = profiles.DEFAULT

    def __post_init__(self) -> None:
        problems = [*_plan_faults(self), *_policy_faults(self)]
        if not isinstance(self.load.arrivals, OpenLoop):
            message = (
                "must be an open loop: a closed one asks when answers come, so two policies "
                "would not be asked the same"
            )
            name = self.load.arrivals.name
            problems.append(Problem("arrivals.process", name, message))
        if len(self.endpoints) != self.where.endpoints:
            message = f"must be {self.where.endpoints} for where={self.where}"
            problems.append(Problem("endpoints", len(self.endpoints), message))
        if self.block_s - self.washout_s < LEAST_FLOOR:
            message = f"must leave at least {LEAST_FLOOR:g} s after the washout"
            problems.append(Problem("block_s", self.block_s, message))
        if problems:
            raise DocumentError(problems)

    @classmethod
    def parse(cls, given: object) -> Order:
        """What ``to_document`` wrote, or DocumentError with every fault in it."""
        head = build(_Head, given)
        if not isinstance(head.load, Mapping):
            raise DocumentError([Problem("load", head.load, "must be a mapping of field: value")])
        if problems := list(unknown_keys(head.load, LOAD, path="load")):
            raise DocumentError(problems)
        plan = _below("plan", ComparisonPlan.parse, head.plan)
        endpoints = tuple(
            build(Endpoint, endpoint, path=f"endpoints.{place}")
            for place, endpoint in enumerate(head.endpoints)
        )
        return cls(
            plan=plan,
            baseline=_below("baseline", Policy.parse, head.baseline),
            candidate=_below("candidate", Policy.parse, head.candidate),
            where=Where(head.where),
            load=load_of(head.load, seed=plan.seed, seconds=plan.blocks * head.block_s),
            block_s=head.block_s,
            washout_s=head.washout_s,
            endpoints=endpoints,
            profile=head.profile,
        )

    def to_document(self) -> dict[str, Any]:
        """Plain JSON, every default written out, and no credential."""
        load = self.load.to_document()
        return {
            "plan": self.plan.to_document(),
            "baseline": self.baseline.to_document(),
            "candidate": self.candidate.to_document(),
            "where": str(self.where),
            "profile": self.profile,
            "endpoints": [dataclasses.asdict(endpoint) for endpoint in self.endpoints],
            "block_s": self.block_s,
            "washout_s": self.washout_s,
            "load": {name: load[name] for name in LOAD},
        }

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical document."""
        return canonical.sha256(self.to_document())

    @property
    def timetable(self) -> Timetable:
        """Who runs when."""
        return Timetable(self.where.design, self.plan.seed, self.block_s, self.washout_s)

    @property
    def policies(self) -> Mapping[Arm, Policy]:
        """By arm."""
        return {Arm.BASELINE: self.baseline, Arm.CANDIDATE: self.candidate}

    @property
    def seconds(self) -> float:
        """From the first slot's start to the last one's end."""
        return self.plan.blocks * self.timetable.cycle


@dataclass(frozen=True, slots=True)
class _Head:
    """The document's outermost fields, as they are given."""

    plan: object = parameter()
    baseline: object = parameter()
    candidate: object = parameter()
    where: str = parameter(choices=tuple(Where))
    load: object = parameter()
    block_s: float = parameter(minimum=LEAST_FLOOR, maximum=86_400, unit="s")
    washout_s: float = parameter(minimum=0, maximum=86_400, unit="s")
    endpoints: Sequence[Any] = parameter(default_factory=list)
    profile: str = parameter(default=profiles.DEFAULT)


def load_of(given: Mapping[str, Any], *, seed: int, seconds: float) -> Scenario:
    """The load as a scenario; its paths are those of the fields in ``given``."""
    return Scenario.parse(
        {**given, "endpoint": NO_ENDPOINT, "policy": None, "seed": seed, "duration_s": seconds}
    )


def _below(path: str, parse: Any, given: object) -> Any:
    try:
        return parse(given)
    except DocumentError as error:
        raise error.below(path) from None


def _plan_faults(order: Order) -> list[Problem]:
    plan, problems = order.plan, []
    for name, policy in (("baseline", order.baseline), ("candidate", order.candidate)):
        if getattr(plan, name) != policy.sha256:
            message = f"is not the hash of the {name}'s policy, {policy.sha256[:12]}…"
            problems.append(Problem(f"plan.{name}", getattr(plan, name), message))
    if plan.stimulus != Stimulus.REPLAY:
        message = "must be replay: both arms are asked the same"
        problems.append(Problem("plan.stimulus", str(plan.stimulus), message))
    if plan.design != order.where.design:
        message = f"must be {order.where.design} for where={order.where}"
        problems.append(Problem("plan.design", str(plan.design), message))
    return problems


def _policy_faults(order: Order) -> list[Problem]:
    """Each arm must be held to something; a difference that acts nowhere shows nothing."""
    names = ", ".join(ENFORCED)
    problems = [
        Problem(str(arm), [str(point) for point in policy.laws], f"must fill one of {names}")
        for arm, policy in order.policies.items()
        if not policy.laws.keys() & set(ENFORCED)
    ]
    differ = [p for p in DecisionPoint if order.baseline.laws.get(p) != order.candidate.laws.get(p)]
    if differ and not set(differ) & set(ENFORCED):
        message = (
            f"differs from the baseline only in {', '.join(differ)}, where a comparison does not "
            f"act: it acts on {names}"
        )
        problems.append(Problem(str(Arm.CANDIDATE), order.candidate.name, message))
    return problems
