"""Which policy may stand beside which as a shadow, and what is said of one that did."""

from __future__ import annotations

from documents.problem import Problem
from schedulers.decision import DecisionPoint
from schedulers.document import Policy, parameters
from schedulers.runtime.shadow import ShadowReport

SHADOWED = (DecisionPoint.CONCURRENCY,)
"""Decision points whose shadow a load test can ask: those whose law only listens to the limiter."""

CANNOT_KNOW = (
    "It saw the latencies that the active policy's limit made. Where the two differ, its own limit "
    "would have made others, so from there on its line says what it would have decided on these "
    "latencies, and forecasts nothing."
)


def problems(policy: Policy | None, shadow: Policy) -> list[Problem]:
    """Why this shadow would show nothing; none where it would show something."""
    path = "shadow"
    if not _points(shadow):
        message = "has no concurrency law, and a load test can shadow nothing else"
        return [Problem(path, shadow.name, message)]
    if policy is None or not _points(policy):
        message = "needs an active policy with a concurrency law: it sees what that limiter sees"
        return [Problem(path, shadow.name, message)]
    if policy.sha256 == shadow.sha256:
        message = "is the active policy itself; choose another version to compare it with"
        return [Problem(path, shadow.name, message)]
    different = _different(policy, shadow)
    if not set(different) & set(SHADOWED):
        where = f"only at {', '.join(different)}" if different else "in nothing that acts"
        message = (
            f"differs from the active policy {where}, and a load test can shadow "
            "concurrency alone: it would show nothing"
        )
        return [Problem(path, shadow.name, message)]
    return []


def sentences(report: ShadowReport, *, over: bool) -> list[str]:
    """What came of it, for people; ``over`` when nothing more will come."""
    if report.agreement is None:
        none = "No request ended, so the two were never compared."
        return [none if over else "Nothing to compare yet: no request has ended."]
    steps = f"{report.steps:,} {'step' if report.steps == 1 else 'steps'}"
    held = f"{report.would_have_held:,} of {report.granted:,} requests"
    return [
        f"Agreed in {percent(report.agreement)} of {steps}; {divergence(report)}.",
        f"It would have held back {held}, and {_sent(report)}.",
    ]


def percent(share: float) -> str:
    """A share that is not all never reads as 100 %, and one that is not nothing never as 0."""
    shown = min(max(round(100 * share, 1), 0.1), 99.9) if 0 < share < 1 else 100 * share
    return f"{shown:.1f} %"


def divergence(report: ShadowReport) -> str:
    """The first moment at which the limits differed by more than a tenth."""
    found = report.diverged
    if found is None:
        return "the limits never differed by more than a tenth"
    at = max(0.0, found.at)
    return f"first diverged at {at:.1f} s, active {found.active:,}, shadow {found.shadow:,}"


def _sent(report: ShadowReport) -> str:
    steps = report.would_have_sent
    if not steps:
        return "never had room while requests waited"
    times = "1 step" if steps == 1 else f"{steps:,} steps"
    return f"would have sent more at {times}, at which requests waited and it had room"


def _points(policy: Policy) -> list[DecisionPoint]:
    return [point for point in SHADOWED if point in policy.laws]


def _different(policy: Policy, shadow: Policy) -> list[DecisionPoint]:
    """Decision points that the two fill differently."""
    filled = {*policy.laws, *shadow.laws}
    return [it for it in DecisionPoint if it in filled and _law(policy, it) != _law(shadow, it)]


def _law(policy: Policy, point: DecisionPoint) -> object:
    law = policy.laws.get(point)
    return None if law is None else (law.name, parameters(law))
