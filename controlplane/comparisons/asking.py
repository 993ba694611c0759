"""From what was asked for to an order: catalogue rows found, caps respected, faults named."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Workload
from controlplane.runs import launch
from controlplane.teams.models import Team
from documents.parse import unknown_keys
from documents.problem import DocumentError, Problem
from loadtest.ab.draft import BLOCKS, draft
from loadtest.ab.order import Order
from simulator import profile as profiles

ARRIVALS: Mapping[str, Any] = {"process": "poisson", "rate": 8}
PASSED_ON = (
    "where", "profile", "arrivals", "blocks", "block_s", "washout_s", "margins", "bases", "seed",
    "stages", "drain_s", "timeouts",
)  # fmt: skip
"""Fields of a draft that a request may set as they are."""
REFERENCES = ("baseline", "candidate", "slo", "workload", "endpoints")


@dataclass(frozen=True, slots=True)
class Ask:
    """A comparison to be: the rows that it names and what else its order says."""

    baseline: PolicyVersion
    candidate: PolicyVersion
    slo_version: SloVersion
    workload: Workload
    where: str = "model"
    endpoints: tuple[Endpoint, ...] = ()
    profile: str = profiles.DEFAULT
    arrivals: Mapping[str, Any] = field(default_factory=lambda: dict(ARRIVALS))
    blocks: int = BLOCKS
    block_s: float = 15.0
    margins: Mapping[str, float] = field(default_factory=dict)
    seed: int = 1
    stages: int = 1
    washout_s: float | None = None
    bases: Mapping[str, float] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """``drain_s`` and ``timeouts``, as in a scenario."""

    def order(self, team: Team) -> Order:
        """What a worker carries out; DocumentError lists every fault, caps included."""
        if self.profile not in profiles.names():  # a path would have the server read its files
            known = f"is no profile; known: {', '.join(profiles.names())}"
            raise DocumentError([Problem("profile", self.profile, known)])
        names = ("name", "base_url", "model", "kind")
        shares = self.workload.document.get("tenants") or {}
        order = draft(
            {
                "baseline": self.baseline.document,
                "candidate": self.candidate.document,
                "slo": self.slo_version.document,
                "workload": self.workload.document,
                "tenants": launch.tenants(team, shares),
                "endpoints": [{n: getattr(one, n) for n in names} for one in self.endpoints],
                "owner": team.slug,
                **{name: getattr(self, name) for name in PASSED_ON if hasattr(self, name)},
                **self.more,
            }
        )
        problems = [one for row in self.endpoints for one in _over_caps(row, order)]
        if len({row.pk for row in self.endpoints}) < len(self.endpoints):
            message = "must be two: arms never share an engine; one endpoint takes switchback"
            problems.append(Problem("endpoints", self.endpoints[0].slug, message))
        if problems:
            raise DocumentError(problems)
        return order


def parse(team: Team, given: object) -> Ask:
    """What an API body asks for: catalogue objects by slug, ``slug@version`` or id."""
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be an object of field: value")])
    problems = list(unknown_keys(given, (*REFERENCES, *PASSED_ON)))
    found: dict[str, Any] = {}
    for name, finder in (
        ("baseline", launch.version_finder(PolicyVersion.objects.for_team(team), "policy")),
        ("candidate", launch.version_finder(PolicyVersion.objects.for_team(team), "policy")),
        ("slo", launch.version_finder(SloVersion.objects.for_team(team), "slo")),
        ("workload", launch.row_finder(Workload.objects.for_team(team), "workload")),
        ("endpoints", _endpoints(team)),
    ):
        try:
            found[name] = finder(given.get(name))
        except DocumentError as error:
            renamed = (Problem(name, one.value, one.message) for one in error.problems)
            problems.extend(renamed)
    if problems:
        raise DocumentError(problems)
    rest = {name: given[name] for name in PASSED_ON if name in given}
    more = {name: rest.pop(name) for name in ("drain_s", "timeouts") if name in rest}
    return Ask(
        baseline=found["baseline"],
        candidate=found["candidate"],
        slo_version=found["slo"],
        workload=found["workload"],
        endpoints=found["endpoints"],
        more=more,
        **{"seed": secrets.randbelow(launch.SEEDS), **rest},
    )


def _endpoints(team: Team) -> Any:
    one = launch.row_finder(Endpoint.objects.for_team(team), "endpoint")

    def find(given: object) -> tuple[Endpoint, ...]:
        if given is None:
            return ()
        if not isinstance(given, list):
            raise DocumentError([Problem("endpoints", given, "must be a list of slugs or ids")])
        return tuple(one(name) for name in given)

    return find


def _over_caps(endpoint: Endpoint, order: Order) -> list[Problem]:
    """Where a lane asks more of an endpoint than its owner allows, whichever policy runs."""
    problems = []
    for policy in (order.baseline, order.candidate):
        scenario = dataclasses.replace(order.load, policy=policy, duration_s=order.seconds)
        problems += launch.over_caps(endpoint, scenario)
    named = {"duration_s": "blocks"}
    renamed = [Problem(named.get(one.path, one.path), one.value, one.message) for one in problems]
    return list({str(one): one for one in renamed}.values())
