"""Where two policies differ: parameter by parameter, and which hosts can show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schedulers.decision import DecisionPoint
from schedulers.document import Policy, parameters
from schedulers.enforcement import Enforcement, Host, enforcement


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter, or one law; None where a policy leaves the point open or has no such one."""

    point: DecisionPoint
    path: str
    before: Any
    after: Any


def differences(before: Policy, after: Policy) -> list[Difference]:
    """In the order of the decision points; a changed law brings its parameters along."""
    return [found for point in DecisionPoint for found in _at(point, before, after)]


def shows(found: list[Difference]) -> list[Enforcement]:
    """What each host does with the points that differ."""
    points = dict.fromkeys(one.point for one in found)
    return [enforcement(point, host) for point in points for host in Host]


def _at(point: DecisionPoint, before: Policy, after: Policy) -> Iterator[Difference]:
    one, other = _entry(before, point), _entry(after, point)
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            yield Difference(point, f"{point}.{name}", one.get(name), other.get(name))


def _entry(policy: Policy, point: DecisionPoint) -> dict[str, Any]:
    law = policy.laws.get(point)
    return {} if law is None else {"law": law.name, **parameters(law)}
