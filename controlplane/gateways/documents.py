"""A gateway as people write it: catalogue objects by slug, the rest as its configuration has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Model

from controlplane.catalogue.documents import NAME_HELP, check_name
from controlplane.catalogue.models import (
    Endpoint,
    Policy,
    PolicyVersion,
    Slo,
    SloVersion,
    TeamQuerySet,
    Tenant,
)
from controlplane.gateways.models import Gateway
from controlplane.teams.models import Team
from documents.fields import parameter
from documents.problem import DocumentError, Problem
from gateway.config_parts import QueueRules, UpstreamTimeouts

M = TypeVar("M", bound=Model)

_QUEUE, _TIMES = QueueRules(), UpstreamTimeouts()


@dataclass(frozen=True, slots=True)
class GatewayDocument:
    """What may be set on a gateway."""

    name: str = parameter(help=NAME_HELP)
    policy: str = parameter(help="the version that serves: a policy's slug, such as steady@3")
    lanes: object = parameter(
        help="lanes of equal engines, each a list of endpoints: one policy runs in a lane at a time"
    )
    slo: str = parameter(default="", help="by which traffic is judged: an SLO's slug, or nothing")
    anonymous: str = parameter(
        default="", help="tenant of requests without a key; without one they are refused"
    )
    queue_bound: int = parameter(
        default=_QUEUE.bound,
        minimum=0,
        maximum=65536,
        unit="requests",
        help="that may wait in a lane",
    )
    queue_ttl_s: float = parameter(
        default=_QUEUE.ttl_s,
        minimum=0.05,
        maximum=3600,
        unit="s",
        help="in the queue",
    )
    first_byte_s: float = parameter(
        default=_TIMES.first_byte_s,
        minimum=0.1,
        maximum=3600,
        unit="s",
        help="an engine has until its answer begins",
    )
    idle_s: float = parameter(
        default=_TIMES.idle_s, minimum=0.1, maximum=3600, unit="s", help="an engine may be silent"
    )
    total_s: float = parameter(
        default=_TIMES.total_s, minimum=0.1, maximum=86400, unit="s", help="an answer may take"
    )
    description: str = parameter(default="", help="for people")

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.description) > 400:
            message = "must have at most 400 characters"
            raise DocumentError([Problem("description", self.description, message)])

    @property
    def queue(self) -> dict[str, Any]:
        """The configuration's ``queue``."""
        return {"bound": self.queue_bound, "ttl_s": self.queue_ttl_s}

    @property
    def timeouts(self) -> dict[str, Any]:
        """The configuration's ``timeouts``."""
        names = ("first_byte_s", "idle_s", "total_s")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that a document names."""

    active: PolicyVersion
    slo: SloVersion | None
    anonymous: Tenant | None
    lanes: Mapping[str, Sequence[Endpoint]] = field(default_factory=dict)


def find(team: Team, document: GatewayDocument) -> Found:
    """DocumentError names everything that this team has not."""
    problems: list[Problem] = []
    active = _version(Policy.objects.for_team(team), "policy", document.policy, problems)
    slo = anonymous = None
    if document.slo:
        slo = _version(Slo.objects.for_team(team), "slo", document.slo, problems)
    if document.anonymous:
        anonymous = _row(Tenant.objects.for_team(team), "anonymous", document.anonymous, problems)
    lanes = _lanes(team, document.lanes, problems)
    if problems or active is None:
        raise DocumentError(problems)
    return Found(active, slo, anonymous, lanes)


def document_of(gateway: Gateway) -> dict[str, Any]:
    """The mapping of a stored gateway, as it may be sent back."""
    active, slo, anonymous = gateway.active_version, gateway.slo_version, gateway.anonymous_tenant
    times = {name: getattr(_TIMES, name) for name in ("first_byte_s", "idle_s", "total_s")}
    return {
        "name": gateway.name,
        "policy": f"{active.line.slug}@{active.number}",
        "lanes": {name: [one.slug for one in held] for name, held in gateway.lanes.items()},
        "slo": f"{slo.line.slug}@{slo.number}" if slo else "",
        "anonymous": anonymous.slug if anonymous else "",
        "queue_bound": gateway.queue.get("bound", _QUEUE.bound),
        "queue_ttl_s": gateway.queue.get("ttl_s", _QUEUE.ttl_s),
        **{name: gateway.timeouts.get(name, default) for name, default in times.items()},
        "description": gateway.description,
    }


def _lanes(team: Team, given: object, problems: list[Problem]) -> dict[str, list[Endpoint]]:
    if not isinstance(given, Mapping) or not given:
        message = "must be a mapping of lane to list of endpoints, such as p: [engine-1]"
        problems.append(Problem("lanes", given, message))
        return {}
    found: dict[str, list[Endpoint]] = {}
    rows = Endpoint.objects.for_team(team)
    for name, slugs in given.items():
        listed = slugs if isinstance(slugs, list | tuple) else [slugs]
        ends = [_row(rows, f"lanes.{name}", slug, problems) for slug in listed]
        found[str(name)] = [end for end in ends if end is not None]
    return found


def _row(rows: TeamQuerySet[M], path: str, slug: object, problems: list[Problem]) -> M | None:
    row = rows.filter(slug=slug).first() if isinstance(slug, str) else None
    if row is None:
        noun = rows.model._meta.verbose_name  # noqa: SLF001
        problems.append(Problem(path, slug, f"this team has no such {noun}"))
    return row


def _version(lines: Any, path: str, text: str, problems: list[Problem]) -> Any:
    """``steady@3``, or the newest of ``steady``."""
    slug, at, number = text.partition("@")
    line = _row(lines, path, slug, problems)
    if line is None:
        return None
    versions = line.versions.select_related("line")
    if not at:
        return versions.first()
    known = number.isascii() and number.isdecimal() and len(number) < 10
    version = versions.filter(number=int(number)).first() if known else None
    if version is None:
        problems.append(Problem(path, text, f"{slug} has no such version"))
    return version
