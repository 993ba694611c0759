"""From what was asked to a scenario: catalogue rows found, caps respected, every fault named."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Model

from controlplane.catalogue.models import (
    Endpoint,
    PolicyVersion,
    SloVersion,
    TeamQuerySet,
    Tenant,
    VersionQuerySet,
    Workload,
)
from controlplane.runs import modelled
from controlplane.teams.models import Team
from documents.fields import describe
from documents.parse import unknown_keys
from documents.problem import DocumentError, Problem
from loadtest import crew_rules, simulate
from loadtest.arrivals.base import OpenLoop
from loadtest.scenario import Scenario
from loadtest.simulation.stand_in import endpoint_of
from loadtest.workloads.base import sent_alone

M = TypeVar("M", bound=Model)

REFERENCES = ("endpoint", "policy", "workload", "slo")
"""What decides a run's numbers, by the names of catalogue rows."""
MODEL = "model"
"""A profile of the engine model, where no endpoint is named."""
SHADOW = "shadow"
"""A reference that changes no number, so whatever only judges goes without it."""
WORKERS, MACHINES = crew_rules.WORKERS, crew_rules.MACHINES
OPTIONAL = ("slo", SHADOW)
PASSED_ON = (
    "arrivals",
    "duration_s",
    "warm_up",
    "warm_up_s",
    "drain_s",
    "timeouts",
    "seed",
    "prompt_salt",
    "transport",
    "retries",
    "cancellations",
)
"""Fields of the scenario that a request may set as they are."""
SEEDS = 2**31
"""A seed that nobody chose is drawn below this."""

BOTH = "give an endpoint or a profile of the engine model, not both"
LONGEST_NUMBER = 9
"""Digits; what stands after @ or in ?since= and is longer numbers nothing that we store."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A run to be: the rows that it names and what else its scenario says."""

    endpoint: Endpoint | None
    policy_version: PolicyVersion
    workload: Workload
    slo_version: SloVersion | None
    rest: Mapping[str, Any] = field(default_factory=dict)
    shadow_version: PolicyVersion | None = None
    profile: str = ""
    """Of the engine model, in the place of an endpoint."""

    @property
    def target(self) -> str:
        """Who is to answer."""
        return self.endpoint.name if self.endpoint else self.profile

    @property
    def workers(self) -> int:
        """Processes that share the load: no part of the scenario, for its meaning is the same."""
        return int(self.rest.get(WORKERS, 1))

    @property
    def machines(self) -> int:
        """Machines that share the load, a process each."""
        return int(self.rest.get(MACHINES, 1))

    def scenario(self) -> Scenario:
        """The frozen scenario; DocumentError lists every fault, those against caps included."""
        return _scenario(
            {
                "endpoint": self.endpoint,
                MODEL: self.profile,
                "policy": self.policy_version,
                "workload": self.workload,
                "slo": self.slo_version,
                "shadow": self.shadow_version,
            },
            self.rest,
        )


@dataclass(frozen=True, slots=True)
class Again(Launch):
    """A scenario to be run as it was stored, whatever the rows that it names say by now."""

    stored: Mapping[str, Any] = field(default_factory=dict)

    def scenario(self) -> Scenario:
        """The stored one; DocumentError where its endpoint has moved or allows less by now."""
        scenario = Scenario.parse(self.stored)
        if self.endpoint is None:
            modelled.profile_of(self.profile)
            return scenario
        now = self.endpoint.base_url
        if scenario.endpoint.base_url != now:
            # The key goes with the row: it must not follow an address that the row has left.
            message = f"has moved to {now} since; use Change it to run there"
            raise DocumentError([Problem("endpoint", scenario.endpoint.base_url, message)])
        shared = _shared(scenario, self.workers, self.machines)
        if problems := [*over_caps(self.endpoint, scenario), *shared]:
            raise DocumentError(problems)
        return scenario


def parse(team: Team, given: object) -> Launch:
    """What an API body asks for: catalogue objects by slug, ``slug@version`` or id.

    A policy's version may be named by its alias: ``chat@stable``.
    """
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be an object of field: value")])
    problems = list(
        unknown_keys(given, (*REFERENCES, MODEL, SHADOW, WORKERS, MACHINES, *PASSED_ON))
    )
    found: dict[str, Any] = {MODEL: given.get(MODEL) or ""}
    for name, finder in (
        ("endpoint", _row(Endpoint.objects.for_team(team), "endpoint")),
        ("policy", _version(PolicyVersion.objects.for_team(team), "policy")),
        ("workload", _row(Workload.objects.for_team(team), "workload")),
        ("slo", _version(SloVersion.objects.for_team(team), "slo")),
        ("shadow", _version(PolicyVersion.objects.for_team(team), "shadow")),
    ):
        absent = given.get(name) is None
        if absent and (name in OPTIONAL or (name == "endpoint" and found[MODEL])):
            found[name] = None
            continue
        try:
            found[name] = finder(given.get(name))
        except DocumentError as error:
            problems.extend(error.problems)
    if found[MODEL] and found.get("endpoint"):
        problems.append(Problem(MODEL, given[MODEL], BOTH))
    rest = {name: given[name] for name in (*PASSED_ON, WORKERS, MACHINES) if name in given}
    if problems:
        known = {problem.path for problem in problems}
        raise DocumentError([*problems, *faults(found, rest, known)])
    return Launch(
        endpoint=found["endpoint"],
        policy_version=found["policy"],
        workload=found["workload"],
        slo_version=found["slo"],
        rest=rest,
        shadow_version=found["shadow"],
        profile=found[MODEL],
    )


def policy_version(team: Team, ref: object) -> PolicyVersion:
    """The team's version that ``slug``, ``slug@3``, ``slug@stable`` or an id names now."""
    found: PolicyVersion = _version(PolicyVersion.objects.for_team(team), "policy")(ref)
    return found


def faults(
    found: Mapping[str, Any], rest: Mapping[str, Any], known: Collection[str]
) -> list[Problem]:
    """What else is wrong, when the parts of the scenario in ``known`` are told already."""
    try:
        _scenario(found, rest)
    except DocumentError as error:
        return [one for one in error.problems if one.path.partition(".")[0] not in known]
    return []


def _scenario(found: Mapping[str, Any], rest: Mapping[str, Any]) -> Scenario:
    """From the rows that were found; the fault of one that was not is among those raised."""
    endpoint, workload = found.get("endpoint"), found.get("workload")
    profile = found.get(MODEL) or ""
    document: dict[str, Any] = {"seed": secrets.randbelow(SEEDS), **rest}
    workers, machines = document.pop(WORKERS, 1), document.pop(MACHINES, 1)
    if profile or endpoint:
        document["endpoint"] = _target(endpoint, profile)
    for name in ("policy", "workload", "slo", "shadow"):
        row = found.get(name)
        if name == "shadow" and (row is None or not found.get("policy")):
            continue  # a policy that was not found is told once, and not as the shadow's fault
        document[name] = row.document if row else None
    if (endpoint or profile) and workload:
        document["tenants"] = tenants(workload.team, workload.document.get("tenants") or {})
    scenario = Scenario.parse(document)
    if problems := _refused(endpoint, profile, scenario, workers, machines):
        raise DocumentError(problems)
    return scenario


def _refused(
    endpoint: Endpoint, profile: str, scenario: Scenario, workers: object, machines: object
) -> list[Problem]:
    if profile:
        return [*_not_on_the_model(scenario, workers, machines)]
    alone = sent_alone(scenario.workload)
    return [*alone, *over_caps(endpoint, scenario), *_shared(scenario, workers, machines)]


def _shared(scenario: Scenario, workers: object, machines: object) -> list[Problem]:
    """Why so many workers, or machines, can't share this scenario."""
    found = crew_rules.problems(scenario, workers)
    if machines == 1:
        return found
    if workers != 1 and not found:
        found = [
            Problem(WORKERS, workers, "must be 1 with several machines, each of which has one")
        ]
    return [*found, *crew_rules.problems(scenario, machines, MACHINES)]


def _target(endpoint: Endpoint, profile: str) -> dict[str, Any]:
    if profile:
        return endpoint_of(modelled.profile_of(profile), profile)
    return {name: getattr(endpoint, name) for name in ("name", "base_url", "model", "kind")}


def _not_on_the_model(scenario: Scenario, workers: object, machines: object) -> Iterator[Problem]:
    """What only a load test does, and what is more than a model's run may be."""
    yield from simulate.problems(scenario)
    if workers != 1:
        yield Problem(WORKERS, workers, "must be 1 on the engine model, which is one process")
    if machines != 1:
        yield Problem(MACHINES, machines, "must be 1 on the engine model, which is one process")
    expected = scenario.arrivals.expected(scenario.duration_s)
    if expected is not None and expected > simulate.MOST_KEPT:
        message = (
            f"asks the engine model for {expected:,.0f} requests; at most {simulate.MOST_KEPT:,} "
            "in one run here, or use headway simulate"
        )
        yield Problem("duration_s", scenario.duration_s, message)


def tenants(team: Team, shares: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the policy may know of the workload's tenants; a stranger is a normal one."""
    facts = {
        name: {"tier": tier, "weight": weight}
        for name, tier, weight in Tenant.objects.for_team(team).values_list(
            "slug", "tier", "weight"
        )
    }
    return {name: facts.get(name, {"tier": "normal", "weight": 1.0}) for name in shares}


def over_caps(endpoint: Endpoint, scenario: Scenario) -> list[Problem]:
    """Where a scenario asks more of an endpoint than its owner allows."""
    problems = []
    allows = f"the endpoint {endpoint.name} allows"
    if endpoint.max_duration_s is not None and scenario.duration_s > endpoint.max_duration_s:
        message = f"{allows} runs of at most {endpoint.max_duration_s:,} s"
        problems.append(Problem("duration_s", scenario.duration_s, message))
    if endpoint.max_rate is not None:
        problems += _over_rate(endpoint.max_rate, allows, scenario)
    if endpoint.max_concurrency is not None:
        problems += _over_concurrency(endpoint, endpoint.max_concurrency, scenario)
    return problems


def _over_rate(most: float, allows: str, scenario: Scenario) -> list[Problem]:
    """The highest mean rate counts, told at the parameter that asks for it."""
    process = scenario.arrivals
    peak = process.peak_rate(scenario.duration_s) if isinstance(process, OpenLoop) else 0.0
    if peak <= most:
        return []
    names = [info.name for info in describe(type(process)) if info.unit == "1/s"]
    highest = max(names, key=lambda name: getattr(process, name))
    message = f"{allows} at most {most:g} requests per second"
    return [Problem(f"arrivals.{highest}", round(peak, 6), message)]


def _over_concurrency(endpoint: Endpoint, most: int, scenario: Scenario) -> list[Problem]:
    """A closed loop holds as many open as it has slots; an open one as its policy's ceiling."""
    slots = getattr(scenario.arrivals, "concurrency", None)
    allowed = f"the endpoint {endpoint.name} allows at most {most:,} requests in flight"
    if slots is not None and slots > most:
        return [Problem("arrivals.concurrency", slots, allowed)]
    if slots is not None:
        return []
    spec = (scenario.policy.to_document()["spec"] if scenario.policy else {}).get("concurrency", {})
    ceiling = spec.get("max", spec.get("limit"))
    if isinstance(ceiling, int) and ceiling <= most:
        return []
    remedy = f"{allowed}; choose a policy whose concurrency limit is at most that"
    return [Problem("policy", ceiling, remedy)]


def _row(rows: TeamQuerySet[M], noun: str) -> Any:
    def find(name: object) -> M:
        if not isinstance(name, str):
            raise DocumentError([Problem(noun, name, f"must be the slug or id of a {noun}")])
        by = {"pk": name} if _is_id(name) else {"slug": name}
        row = rows.filter(**by).first()
        if row is None:
            raise DocumentError([Problem(noun, name, f"this team has no such {noun}")])
        return row

    return find


def _version(rows: VersionQuerySet[M], noun: str) -> Any:
    def find(name: object) -> M:
        if not isinstance(name, str):
            wanted = f"must be the slug of a {noun}, such as chat or chat@3, or a version's id"
            raise DocumentError([Problem(noun, name, wanted)])
        line, _, number = name.partition("@")
        if _is_id(name):
            found = rows.filter(pk=name)
        elif not number:
            found = rows.filter(line__slug=line)
        elif number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER:
            found = rows.filter(line__slug=line, number=int(number))
        elif noun == "policy" and not number.isdecimal():
            found = _by_alias(rows, line, number, name)
        else:
            wanted = f"the version after @ must be a number of at most {LONGEST_NUMBER} digits"
            raise DocumentError([Problem(noun, name, wanted)])
        row = found.select_related("line").order_by("-number").first()
        if row is None:
            raise DocumentError([Problem(noun, name, f"this team has no such {noun}")])
        return row

    return find


def _by_alias(rows: VersionQuerySet[M], line: str, alias: str, name: str) -> VersionQuerySet[M]:
    """What the alias points at as the run is asked for; the run keeps the version itself."""
    found = rows.filter(line__slug=line, aliases__name=alias)
    versions = rows.filter(line__slug=line)
    if versions.exists() and not found.exists():
        have = sorted(set(versions.exclude(aliases=None).values_list("aliases__name", flat=True)))
        remedy = f"its aliases: {', '.join(have)}" if have else "it has none yet"
        message = f"the policy {line} has no alias {alias!r}; {remedy}, or give a version's number"
        raise DocumentError([Problem("policy", name, message)])
    return found


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


row_finder, version_finder = _row, _version
"""For other requests that name objects of the catalogue."""
