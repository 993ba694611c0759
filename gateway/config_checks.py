"""What must hold between the parts of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from documents.problem import Problem
from gateway.config import GatewayConfig
from schedulers.decision import DecisionPoint
from schedulers.enforcement import Host, enforced

ENFORCED = enforced(Host.GATEWAY)
"""The decision points of a policy that the gateway enforces."""
SHADOWED = (DecisionPoint.CONCURRENCY,)
"""Those that a shadow decides: its law only listens to the limiter."""


def faults_between(config: GatewayConfig) -> Iterator[Problem]:
    """Every fault that no part shows on its own."""
    if not config.lanes:
        yield Problem("lanes", [], "must hold at least one lane")
    yield from _twice("lanes", [lane.name for lane in config.lanes])
    for place, lane in enumerate(config.lanes):
        names = [endpoint.name for endpoint in lane.endpoints]
        yield from _twice(f"lanes.{place}.endpoints", names)
    yield from _twice("tenants", [tenant.name for tenant in config.tenants])
    keys = [key for tenant in config.tenants for key in tenant.keys]
    if len(set(keys)) != len(keys):
        yield Problem("tenants", "…", "one key names two tenants, or stands twice")
    yield from _anonymous(config)
    yield from _versions(config)
    yield from _canary(config)


def _twice(path: str, names: Sequence[str]) -> Iterator[Problem]:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Problem(f"{path}.{place}.name", name, "is given twice")


def _anonymous(config: GatewayConfig) -> Iterator[Problem]:
    known = [tenant.name for tenant in config.tenants]
    if config.anonymous and config.anonymous not in known:
        yield Problem("anonymous", config.anonymous, f"is no tenant; known: {', '.join(known)}")
    if not config.anonymous and not config.tenants:
        # One that is listed without a key has had its last one revoked: that must take effect.
        message = "are none and anonymous is empty: every request would be refused"
        yield Problem("tenants", "…", message)


def _versions(config: GatewayConfig) -> Iterator[Problem]:
    if config.active not in config.policies:
        yield Problem("active", config.active, "is none of the policies' hashes")
    candidate = None if config.canary is None else config.canary.candidate
    for path, version, points in (
        ("canary.candidate", candidate, ENFORCED),
        ("shadow", config.shadow, SHADOWED),
    ):
        if version is None:
            continue
        if version not in config.policies:
            yield Problem(path, version, "is none of the policies' hashes")
        yield from _difference(config, version, path, points)


def _difference(
    config: GatewayConfig, candidate: str, path: str, points: Sequence[DecisionPoint]
) -> Iterator[Problem]:
    """A candidate that acts as the active version does would gather evidence for nothing."""
    both = [config.policies.get(name) for name in (config.active, candidate)]
    if any(policy is None for policy in both):
        return
    one, other = ([policy.laws.get(p) for p in points] for policy in both if policy is not None)
    if one == other:
        named = " or ".join(points)
        message = f"differs from the active version at no point that acts here: {named}"
        yield Problem(path, candidate, message)


def _canary(config: GatewayConfig) -> Iterator[Problem]:
    canary = config.canary
    if canary is None:
        return
    lanes = {lane.name: lane for lane in config.lanes}
    missing = [name for name in canary.pair if name not in lanes]
    if missing:
        yield Problem("canary.lanes", missing, f"are no lanes; known: {', '.join(lanes)}")
        return
    first, second = (lanes[name] for name in canary.pair)
    if len(first.endpoints) != len(second.endpoints):
        sizes = [len(first.endpoints), len(second.endpoints)]
        yield Problem("canary.lanes", sizes, "must hold equally many endpoints")
    if canary.weight < 0.5 and len(lanes) < 3:
        message = "below 0.5 needs a third lane for the requests that are not compared"
        yield Problem("canary.weight", canary.weight, message)
