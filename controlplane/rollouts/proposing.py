"""What a plan names, found in the catalogue, and whether its stages could show anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from controlplane.catalogue.models import PolicyVersion, SloVersion, Workload
from controlplane.gateways.models import Gateway
from controlplane.rollouts.machine import Phase, Refused
from controlplane.rollouts.models import Rollout
from controlplane.rollouts.plan import RolloutPlan
from controlplane.rollouts.stage_documents import CanaryStage, Replay, ShadowStage, Stage
from controlplane.rollouts.stages.replay import Sides, ask_of
from controlplane.runs.launch import policy_version
from controlplane.teams.models import Team
from documents.problem import DocumentError, Problem
from gateway import config_checks
from loadtest.ab import order
from schedulers.decision import DecisionPoint
from schedulers.document import Policy
from schedulers.enforcement import Host, enforcement

T = TypeVar("T")
_SHADOW = "gateway's shadow"


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows that a plan names; ``plan`` names its candidate by the version that it was then."""

    plan: RolloutPlan
    gateway: Gateway
    baseline: PolicyVersion
    candidate: PolicyVersion
    slo: SloVersion
    workload: Workload | None


def parts_of(team: Team, plan: RolloutPlan) -> Parts:
    """Everything found, and fit for each stage; DocumentError with every fault by its path."""
    problems: list[Problem] = []

    def gathered(find: Callable[[], T]) -> T | None:
        try:
            return find()
        except DocumentError as error:
            problems.extend(error.below("spec").problems)
            return None

    gateway = gathered(lambda: _gateway(team, plan.gateway))
    candidate = gathered(lambda: _candidate(team, plan.candidate))
    workload = gathered(lambda: _workload(team, plan.workload)) if plan.workload else None
    if gateway is not None:
        problems += [one.below("spec") for one in _against(gateway, plan)]
    if gateway is not None and candidate is not None:
        problems += [one.below("spec") for one in unshown(gateway, candidate, plan)]
        if workload is not None and gateway.slo_version is not None:
            versions = (gateway.active_version, candidate, gateway.slo_version)
            problems += _orders(Sides(team, *versions, workload), plan)
    if problems or gateway is None or candidate is None or gateway.slo_version is None:
        raise DocumentError(problems)
    pinned = replace(plan, candidate=f"{candidate.line.slug}@{candidate.number}")
    return Parts(pinned, gateway, gateway.active_version, candidate, gateway.slo_version, workload)


def unshown(gateway: Gateway, candidate: PolicyVersion, plan: RolloutPlan) -> Iterator[Problem]:
    """Where the two versions differ and a stage's host does not act: that would be green for
    nothing."""
    before, after = (Policy.parse(one.document) for one in (gateway.active_version, candidate))
    points = [p for p in DecisionPoint if before.laws.get(p) != after.laws.get(p)]
    if not points:
        message = f"decides as {before.name} {gateway.active_version} does, which serves already"
        yield Problem("candidate", plan.candidate, message)
    for where, host in dict.fromkeys((_where(stage), stage.host) for stage in plan.stages):
        idle = [point for point in points if point not in _taken(where, host)]
        for point in idle:
            why = _why(where, host, point)
            message = (
                f"differs in {point}, which the {where} does not enforce: "
                f"its stage would pass whatever that does. {why}"
            )
            yield Problem("candidate", plan.candidate, message)


def _where(stage: Stage) -> str:
    """A shadow at the gateway acts on less than the gateway does."""
    return _SHADOW if isinstance(stage, ShadowStage) else stage.host.value.replace("_", " ")


def _taken(where: str, host: Host) -> tuple[DecisionPoint, ...]:
    """Where a difference can show. The gateway says itself what it takes; a comparison takes what
    the load driver does, in the model as well."""
    if where == _SHADOW:
        return config_checks.SHADOWED
    return config_checks.ENFORCED if host is Host.GATEWAY else order.ENFORCED


def _why(where: str, host: Host, point: DecisionPoint) -> str:
    found = enforcement(point, host)
    if where == _SHADOW:
        return f"It decides {' and '.join(config_checks.SHADOWED)} alone; leave that stage out."
    if found.acts:
        return f"A comparison's arms are held to {', '.join(order.ENFORCED)} alone."
    return found.why


def check_edit(rollout: Rollout, plan: RolloutPlan, parts: Parts) -> None:
    """A plan under way may change in what is still to come, and in nothing that was shown."""
    if rollout.phase == Phase.DRAFT:
        return
    if rollout.phase not in (Phase.WAITING, Phase.HELD):
        raise Refused(f"It is {rollout.get_phase_display().lower()}; hold it first.")
    old = rollout.document
    fixed = ("gateway", "candidate", "seed", "alpha", "workload")
    now = parts.plan
    problems = [
        Problem(f"spec.{name}", getattr(plan, name), "is fixed once a rollout has started")
        for name in fixed
        if getattr(now, name) != getattr(old, name)
    ]
    shown = rollout.stage
    if now.stages[:shown] != old.stages[:shown]:
        message = f"the first {shown} have run; only what comes after them may change"
        problems.append(Problem("spec.stages", shown, message))
    if now.comparing != old.comparing and shown:
        message = "as many must compare as before: they share α"
        problems.append(Problem("spec.stages", now.comparing, message))
    if problems:
        raise DocumentError(problems)


def check_start(rollout: Rollout) -> None:
    """Refused where the gateway no longer is what the draft was written for."""
    gateway = rollout.gateway
    if gateway.active_version_id != rollout.baseline_version_id:
        raise Refused(
            f"{gateway.name} serves another version than when this was proposed. Edit the plan, or "
            "propose it anew: what it is compared with has changed."
        )
    if gateway.slo_version_id != rollout.slo_version_id:
        raise Refused(f"{gateway.name} has another SLO than when this was proposed; propose anew.")


def _gateway(team: Team, slug: str) -> Gateway:
    found = Gateway.objects.for_team(team).filter(slug=slug).first()
    if found is None:
        known = ", ".join(Gateway.objects.for_team(team).values_list("slug", flat=True)[:10])
        message = f"this team has no such gateway; known: {known or 'none'}"
        raise DocumentError([Problem("gateway", slug, message)])
    return found


def _candidate(team: Team, ref: str) -> PolicyVersion:
    try:
        return policy_version(team, ref)
    except DocumentError as error:
        raise DocumentError(
            [Problem("candidate", one.value, one.message) for one in error.problems]
        ) from None


def _workload(team: Team, slug: str) -> Workload:
    found = Workload.objects.for_team(team).filter(slug=slug).first()
    if found is None:
        raise DocumentError([Problem("workload", slug, "this team has no such workload")])
    return found


def _orders(sides: Sides, plan: RolloutPlan) -> Iterator[Problem]:
    """What the comparisons of its stages would refuse when they begin, told now."""
    for place, stage in enumerate(plan.stages):
        if not isinstance(stage, Replay):
            continue
        try:
            ask_of(sides, stage, seed=1, stages=plan.comparing).order(sides.team)
        except DocumentError as error:
            yield from error.below(f"spec.stages.{place}").problems


def _against(gateway: Gateway, plan: RolloutPlan) -> Iterator[Problem]:
    """What the gateway can't do for this plan."""
    lanes = list(gateway.lanes)
    if gateway.slo_version is None:
        yield Problem("gateway", gateway.slug, "has no SLO, so that nothing says what harm is")
    if len(lanes) < 2:
        message = "needs two equal lanes: arms never share an engine at the same time"
        yield Problem("gateway", gateway.slug, message)
    for place, stage in enumerate(plan.stages):
        if isinstance(stage, CanaryStage) and stage.weight < 0.5 and len(lanes) < 3:
            message = "below 0.5 needs a third lane for the requests that are not compared"
            yield Problem(f"stages.{place}.weight", stage.weight, message)
