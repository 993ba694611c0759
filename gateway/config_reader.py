"""Reading a gateway's configuration: parsed whole, or refused with every fault in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from documents.fields import parameter
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem
from gateway.config import API_VERSION, KIND, GatewayConfig
from gateway.config_checks import faults_between
from gateway.config_parts import (
    CanaryConfig,
    ClientLimits,
    EndpointConfig,
    LaneConfig,
    Listen,
    QueueRules,
    TenantConfig,
    UpstreamTimeouts,
    digest_problems,
    slug_problems,
)
from measurement.slo import Slo
from schedulers.document import Policy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Head:
    """The document's outermost fields, as they are given."""

    apiVersion: str = parameter(choices=(API_VERSION,))  # noqa: N815 - the document's own spelling
    kind: str = parameter(choices=(KIND,))
    gateway: str = parameter(help="the gateway's slug")
    revision: int = parameter(minimum=0, maximum=2**53)
    lanes: object = parameter()
    policies: object = parameter()
    active: str = parameter(help="SHA-256 of the active policy version")
    tenants: object = parameter(default=())
    anonymous: str = parameter(default="", help="tenant of requests without a key; empty refuses")
    listen: object = parameter(default_factory=dict)
    slo: object = parameter(default=None)
    queue: object = parameter(default_factory=dict)
    timeouts: object = parameter(default_factory=dict)
    limits: object = parameter(default_factory=dict)
    canary: object = parameter(default=None)
    shadow: object = parameter(default=None)


def parse(given: object) -> GatewayConfig:
    """The configuration of a document, or DocumentError with everything wrong with it."""
    head = build(_Head, given)
    faults: list[Problem] = slug_problems("gateway", head.gateway)
    read = _Reader(faults)
    found = GatewayConfig(
        gateway=head.gateway,
        revision=head.revision,
        listen=read.part(Listen, head.listen, "listen"),
        lanes=read.each(_lane, head.lanes, "lanes"),
        tenants=read.each(_tenant, head.tenants, "tenants"),
        anonymous=head.anonymous,
        slo=None if head.slo is None else read.one(_slo, head.slo, "slo"),
        policies=dict(read.each(_version, head.policies, "policies")),
        active=head.active,
        queue=read.part(QueueRules, head.queue, "queue"),
        timeouts=read.part(UpstreamTimeouts, head.timeouts, "timeouts"),
        limits=read.part(ClientLimits, head.limits, "limits"),
        canary=None if head.canary is None else read.part(CanaryConfig, head.canary, "canary"),
        shadow=None if head.shadow is None else read.one(_digest, head.shadow, "shadow"),
    )
    if not faults:
        faults.extend(faults_between(found))
    if faults:
        raise DocumentError(faults)
    return found


class _Reader:
    """Reads part after part, and keeps the faults of all of them."""

    def __init__(self, faults: list[Problem]) -> None:
        self._faults = faults

    def one(self, parser: Callable[[object, str], T], given: object, path: str) -> T:
        """One part. After a fault the value is never used: parse ends in an error."""
        try:
            return parser(given, path)
        except DocumentError as error:
            self._faults.extend(error.problems)
            return None  # type: ignore[return-value]

    def part(self, cls: type[T], given: object, path: str) -> T:
        """A flat dataclass."""
        return self.one(lambda value, where: build(cls, value, path=where), given, path)

    def each(self, parser: Callable[[object, str], T], given: object, path: str) -> tuple[T, ...]:
        """A list of parts; those with faults are left out, their faults are kept."""
        if not isinstance(given, list | tuple):
            self._faults.append(Problem(path, given, "must be a list"))
            return ()
        made = (self.one(parser, item, f"{path}.{place}") for place, item in enumerate(given))
        return tuple(item for item in made if item is not None)


def _digest(given: object, path: str) -> str:
    problems = digest_problems(path, given)
    if problems:
        raise DocumentError(problems)
    return str(given)


def _slo(given: object, path: str) -> Slo:
    try:
        return Slo.parse(given)
    except DocumentError as error:
        raise error.below(path) from None


def _version(given: object, path: str) -> tuple[str, Policy]:
    """A policy version; its hash must be the document's own."""
    mapping = _mapping(given, path, ("sha256", "document"))
    try:
        policy = Policy.parse(mapping.get("document"))
    except DocumentError as error:
        raise error.below(f"{path}.document") from None
    stated = mapping.get("sha256")
    problems = digest_problems(f"{path}.sha256", stated)
    if not problems and stated != policy.sha256:
        message = f"is not the document's hash, which is {policy.sha256}"
        problems = [Problem(f"{path}.sha256", stated, message)]
    if problems:
        raise DocumentError(problems)
    return policy.sha256, policy


def _lane(given: object, path: str) -> LaneConfig:
    mapping = _mapping(given, path, ("name", "endpoints"))
    name, faults = _name(mapping, path)
    read = _Reader(faults)
    endpoints = read.each(
        lambda item, where: build(EndpointConfig, item, path=where),
        mapping.get("endpoints"),
        f"{path}.endpoints",
    )
    if faults:
        raise DocumentError(faults)
    return LaneConfig(name, endpoints)


@dataclass(frozen=True, slots=True)
class _Tenant:
    name: str = parameter(help="the tenant's slug")
    tier: str = parameter(default="standard", help="its tier")
    keys: object = parameter(default=())


def _tenant(given: object, path: str) -> TenantConfig:
    flat = build(_Tenant, given, path=path)
    faults = slug_problems(f"{path}.name", flat.name)
    faults += slug_problems(f"{path}.tier", flat.tier)
    keys = flat.keys if isinstance(flat.keys, list | tuple) else None
    if keys is None:
        faults.append(Problem(f"{path}.keys", "…", "must be a list of SHA-256 digests"))
    for place, key in enumerate(keys or ()):
        faults += digest_problems(f"{path}.keys.{place}", key)
    if faults:
        raise DocumentError(faults)
    return TenantConfig(flat.name, flat.tier, tuple(keys or ()))


@dataclass(frozen=True, slots=True)
class _Named:
    name: str = parameter()
    endpoints: object = parameter(default=())


def _name(mapping: Mapping[Any, Any], path: str) -> tuple[str, list[Problem]]:
    named = build(_Named, mapping, path=path)
    return named.name, slug_problems(f"{path}.name", named.name)


def _mapping(given: object, path: str, known: tuple[str, ...]) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise DocumentError([Problem(path, given, "must be a mapping")])
    problems = list(unknown_keys(given, known, path=path))
    if problems:
        raise DocumentError(problems)
    return given
