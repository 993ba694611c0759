"""A gateway with two lanes, a wider candidate for it, a clock, and what its process would say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.catalogue.models import PolicyVersion, Workload
from controlplane.catalogue.services import lines, workloads
from controlplane.gateways.models import (
    CanaryTerm,
    Gateway,
    GatewayBlock,
    GatewayPresence,
    GatewayProcess,
    GatewayShadow,
    GatewayWindow,
)
from controlplane.rollouts import advancing, services
from controlplane.rollouts.models import Rollout
from controlplane.teams.rights import Actor
from measurement.comparison.assignment import Design, draw
from measurement.outcome import Outcome
from measurement.window import WindowFold
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.gateways.conftest import (  # noqa: F401 - fixtures, found by name
    acme,
    edge,
    steady,
    version_of,
)
from tests.controlplane.rollouts.plans import plan
from tests.controlplane.runs.conftest import sample
from tests.gateway.serving import policy

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BOOT = "boot-1"


@pytest.fixture
def candidate(operator: Actor, steady: PolicyVersion) -> PolicyVersion:  # noqa: F811
    document = policy("steady", limit=16).to_document()
    return lines.save_policy(actor=operator, line=steady.line, document=document).version


@pytest.fixture
def short(operator: Actor) -> Workload:
    document = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 8}
    return workloads.create_workload(actor=operator, name="short", document=document)


@pytest.fixture
def approver(actor_as: Callable[..., Actor]) -> Actor:
    return actor_as("approver")


class World:
    """One gateway process told of in rows, on a clock that only the test moves."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.now = START
        self.talks = True

    def heard(self) -> None:
        """The process says that it runs what it was told."""
        gateway = self.gateway
        gateway.refresh_from_db()
        runs = gateway.active_version.sha256
        lanes = [{"lane": name, "policy": runs, "arm": "active"} for name in gateway.lanes]
        values = {
            "since": START.timestamp() - 600,
            "at": self.now.timestamp(),
            "heard_at": self.now,
            "revision": gateway.revision,
            "config_sha256": "c" * 64,
            "lanes": lanes,
        }
        GatewayProcess.objects.update_or_create(gateway=gateway, boot=BOOT, defaults=values)
        Gateway.objects.filter(pk=gateway.pk).update(seen_at=self.now)

    def go(self, seconds: float = 1.0) -> int:
        """Time passes, the process talks, and the watchdog looks once."""
        self.now += timedelta(seconds=seconds)
        if self.talks:
            self.heard()
        return advancing.tick(self.now)

    def traffic(self, n: int = 400, failed: int = 0, seconds: int = 10, ago: float = 0.0) -> None:
        """Requests that the active version served in the seconds before now, evenly."""
        end = self.now.timestamp() - ago
        fold = WindowFold(5.0, start=end - seconds)
        for index in range(n):
            at = end - seconds + index * seconds / n
            fold.offered(index, "acme", at)
            outcome = Outcome.HTTP_5XX if index < failed else Outcome.OK
            fold.resolved(sample(index, at, outcome=outcome))
        for window in fold.finish(end):
            GatewayWindow.objects.update_or_create(
                gateway=self.gateway,
                boot=BOOT,
                arm="active",
                policy=self.gateway.active_version.sha256,
                slo="",
                index=window.index,
                defaults={
                    "data": window.to_json(),
                    "seq": 0,
                    "offered": window.cohort.offered,
                },
            )

    def blocks(
        self, indexes: range, *, baseline: int = 0, candidate: int = 0, n: int = 60, **other: Any
    ) -> None:
        """Closed blocks of the newest canary: of ``n`` requests an arm, so many missed."""
        term = CanaryTerm.objects.filter(gateway=self.gateway).latest("revision")
        document = term.document
        for index in indexes:
            lane = document["lanes"][draw(document["seed"], index, Design.LANES) == "Q"]
            for name in document["lanes"]:
                arm = "candidate" if name == lane else "baseline"
                own = document["candidate"]
                missed = candidate if arm == "candidate" else baseline
                counts = {
                    one["name"]: {"offered": n, "bad": missed, "unmeasured": 0}
                    for one in document["criteria"]
                }
                GatewayBlock.objects.create(
                    gateway=self.gateway,
                    boot=BOOT,
                    canary=term.sha256,
                    block=index,
                    lane=name,
                    arm=arm,
                    policy=own if arm == "candidate" else self.gateway.active_version.sha256,
                    revision=1,
                    engines=["e" * 64],
                    data={
                        "offered": n,
                        "pending": 0,
                        "met": n - missed,
                        "missed": missed,
                        "excluded": 0,
                        "counts": counts,
                        "outcomes": {"ok": n},
                    }
                    | other,
                )
            GatewayPresence.objects.create(
                gateway=self.gateway, boot=BOOT, canary=term.sha256, block=index
            )

    def through_blocks(self, count: int, rollout: Rollout) -> None:
        """To a moment at which the canary's first ``count`` blocks are over and told of."""
        run = rollout.stage_runs.filter(kind="canary").latest("entered_at")
        ends = run.setting["starts_at"] + count * run.setting["slot_s"] + 1
        self.go(ends - self.now.timestamp())

    def shadowed(self, version: PolicyVersion, **report: Any) -> None:
        """What the process says of its shadow."""
        facts: dict[str, Any] = {
            "steps": 500,
            "agreeing": 450,
            "diverged": None,
            "would_have_held": 0,
            "granted": 500,
            "would_have_sent": 10,
            "decisions": 5,
            "least": 16,
            "most": 16,
        }
        GatewayShadow.objects.update_or_create(
            gateway=self.gateway,
            boot=BOOT,
            lane="p",
            policy=version.sha256,
            defaults={
                "since": START.timestamp(),
                "at": self.now.timestamp(),
                "report": facts | report,
                "deciding_seconds": 0.01,
            },
        )


@pytest.fixture
def world(edge: Gateway, candidate: PolicyVersion, short: Workload) -> World:  # noqa: F811
    made = World(edge)
    made.heard()
    made.traffic()
    return made


@pytest.fixture
def propose(world: World, operator: Actor) -> Callable[..., Rollout]:
    """A draft with only those stages."""

    def make(*kinds: str, actor: Actor = operator, **spec: Any) -> Rollout:
        return services.propose(actor=actor, document=plan(*kinds, **spec))

    return make


@pytest.fixture
def approved(approver: Actor) -> Callable[[Rollout], None]:
    """Another person's yes to what waits."""

    def give(rollout: Rollout) -> None:
        from controlplane.rollouts import approving, deciding

        rollout.refresh_from_db()
        deciding.approve(
            actor=approver,
            rollout=rollout,
            binding=approving.binding_of(rollout),
            password=PASSWORD,
            comment="looked at the evidence",
        )

    return give


@pytest.fixture
def in_canary(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approved: Callable[[Rollout], None],
) -> Rollout:
    """A rollout whose canary has just begun."""
    rollout = services.start(actor=operator, rollout=propose("canary", "full"))
    approved(rollout)
    world.go()
    rollout.refresh_from_db()
    assert rollout.phase == "running", rollout.because
    return rollout


def told(rollout: Rollout) -> Mapping[str, Any]:
    """How it stands now."""
    rollout.refresh_from_db()
    return {"phase": rollout.phase, "stage": rollout.stage, "because": rollout.because}
