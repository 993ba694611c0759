"""What a fresh installation shows: one team, and all that a first run needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Model

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.models import Endpoint, Policy, Slo, Tenant, Workload
from controlplane.catalogue.services import endpoints, lines, tenants, workloads
from controlplane.teams.models import Membership, Role, Team, User
from controlplane.teams.rights import Actor
from controlplane.teams.services import create_team
from loadtest.builtin import SLOS, WORKLOADS
from schedulers.builtin import builtin

TEAM = "platform"
TENANTS = (
    TenantDocument("assistant", tier="vip", weight=3.0, description="People who wait for words"),
    TenantDocument("support-bot", tier="normal", weight=2.0, description="Answers tickets"),
    TenantDocument("nightly-eval", tier="batch", weight=1.0, description="May take its time"),
)
# On the demo's profile (qwen3-32b, H100, TP 2) the chat workload has its knee near 33 req/s, and
# fixed-32 is full at 10: at 20 req/s it misses chat-interactive, and a law that grows meets it.
SHARES = {"assistant": 0.3, "support-bot": 0.5, "nightly-eval": 0.2}
POLICIES = ("fixed-32", "aimd-steady", "gradient-reference")


def load(
    *, user: str, password: str | None, engine_url: str, llamacpp: tuple[str, str] = ("", "")
) -> str:
    """Make what is missing; the names of what was made, for a person to read."""
    actor = _admin(user, password)
    made = [
        *_endpoints(actor, engine_url, llamacpp),
        *_missing(Tenant, actor, ((one.name, _tenant(actor, one)) for one in TENANTS)),
        *_missing(Slo, actor, ((name, _slo(actor, name)) for name in reversed(SLOS))),
        *_missing(Policy, actor, ((name, _policy(actor, name)) for name in POLICIES)),
        *_missing(Workload, actor, ((name, _workload(actor, name)) for name in WORKLOADS)),
    ]
    return f"Made for team {TEAM}: {', '.join(made)}" if made else ""


def _admin(name: str, password: str | None) -> Actor:
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_password(password)  # None: no sign-in until one is set
        user.save(update_fields=["password"])
    team = Team.objects.filter(slug=TEAM).first()
    if team is None:
        team = create_team(name=TEAM, slug=TEAM, admin=user)
    member, _new = Membership.objects.get_or_create(
        team=team, user=user, defaults={"role": Role.ADMIN}
    )
    return Actor(user, team, Role(member.role))


def _endpoints(actor: Actor, engine_url: str, llamacpp: tuple[str, str]) -> list[str]:
    wanted = [
        EndpointDocument(
            "embedded",
            engine_url,
            "simulated",
            kind="simulated",
            description="The engine model on this machine: profile qwen3-32b, H100, TP 2",
        )
    ]
    if llamacpp[0]:
        wanted.append(
            EndpointDocument(
                "llamacpp",
                llamacpp[0],
                llamacpp[1],
                kind="llamacpp",
                max_concurrency=64,
                description="A real engine on this machine's CPU",
            )
        )
    return placed(actor, wanted)


def placed(actor: Actor, wanted: Iterable[EndpointDocument]) -> list[str]:
    """Make the endpoints that are missing, and move those that came up on another port."""
    made = []
    for document in wanted:
        found = Endpoint.objects.for_team(actor.team).filter(slug=document.name).first()
        if found is None:
            endpoints.create_endpoint(actor=actor, document=document)
            made.append(document.name)
        elif found.base_url != document.base_url:  # it came up on another port
            endpoints.change_endpoint(actor=actor, endpoint=found, document=document)
            made.append(f"{document.name} (moved)")
    return made


def _missing(
    model: type[Model], actor: Actor, wanted: Iterable[tuple[str, Callable[[], Any]]]
) -> list[str]:
    have = set(model._default_manager.filter(team=actor.team).values_list("slug", flat=True))  # noqa: SLF001
    made = []
    for name, make in wanted:
        if name not in have:
            make()
            made.append(name)
    return made


def _tenant(actor: Actor, document: TenantDocument) -> Callable[[], Any]:
    return lambda: tenants.create_tenant(actor=actor, document=document)


def _slo(actor: Actor, name: str) -> Callable[[], Any]:
    return lambda: lines.save_slo(actor=actor, document=SLOS[name])


def _policy(actor: Actor, name: str) -> Callable[[], Any]:
    return lambda: lines.save_policy(actor=actor, document=builtin(name).to_document())


def _workload(actor: Actor, name: str) -> Callable[[], Any]:
    document = dict(WORKLOADS[name])
    if name == "chat":
        document["tenants"] = SHARES
    return lambda: workloads.create_workload(actor=actor, name=name, document=document)
