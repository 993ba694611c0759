"""Every address: a stranger is sent to sign in, another team's object does not exist."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.services import aliases, endpoints, lines, tenants, workloads
from controlplane.comparisons import services as comparisons
from controlplane.comparisons.models import Comparison
from controlplane.experiments import services as experiments
from controlplane.experiments.asking import Ask
from controlplane.gates.examples import example
from controlplane.gates.services import save_gate
from controlplane.gateways import writing as gateways
from controlplane.gateways.documents import GatewayDocument
from controlplane.rollouts.models import FreezeWindow, Rollout
from controlplane.rollouts.plan import RolloutPlan
from controlplane.runs.models import Run
from controlplane.teams.rights import Actor
from controlplane.teams.services import create_token
from tests.controlplane.rollouts.plans import plan as rollout_plan

OPEN = {"login", "healthz"}
SIGN_OUT = "logout"  # nothing to guard: it ends the session that there is


def table(resolver: URLResolver | None = None, space: str = "") -> Iterator[tuple[str, set[str]]]:
    """Each named address with the names of its arguments."""
    for one in (resolver or get_resolver()).url_patterns:
        if isinstance(one, URLResolver):
            yield from table(one, f"{space}{one.namespace}:" if one.namespace else space)
        else:
            assert one.name, f"{one.pattern} has no name"
            yield f"{space}{one.name}", set(one.pattern.converters) | set(one.default_args)


TABLE = dict(table())
BY_SLUG = {"api:gateway-config", "api:gateway-telemetry"}  # `address` has the slug of ours
OBJECTS = sorted(
    name for name, names in TABLE.items() if names & {"pk", "run_id", "ref"} or name in BY_SLUG
)
PAGES = sorted(name for name in TABLE if not name.startswith("api:") and name not in OPEN)
API = sorted(name for name in TABLE if name.startswith("api:"))


def address(name: str, ref: object) -> str:
    given = {"pk": ref, "run_id": ref, "ref": str(ref), "number": 1, "form": "csv", "slug": "g"}
    given |= {"a": 1, "b": 1, "name": "stable"}
    wanted = {key: given[key] for key in TABLE[name]}
    if name == "runs:samples":
        wanted["form"] = "csv"
    return reverse(name, kwargs=wanted)


def ask_all(client: Client, path: str, **headers: Any) -> list[HttpResponse]:
    """A read and a write; a method that the view has not is no answer."""
    both = [client.get(path, headers=headers), client.post(path, headers=headers)]
    return [answer for answer in both if answer.status_code != 405]


@pytest.fixture
def owned(operator: Actor) -> dict[str, uuid.UUID]:
    """One object of each kind, by the word in its addresses' names."""
    made: dict[str, Any] = {
        "endpoint": endpoints.create_endpoint(
            actor=operator, document=EndpointDocument("e", "http://127.0.0.1:9999", "m")
        ),
        "tenant": tenants.create_tenant(actor=operator, document=TenantDocument("t")),
        "workload": workloads.create_workload(actor=operator, name="w", document={"kind": "fixed"}),
        "slo": lines.save_slo(actor=operator, document=SLO).line,
        "policy": lines.save_policy(actor=operator, document=POLICY).line,
        "token": create_token(actor=operator, name="n", scopes=["read"], expires_at=None)[0],
        "switch": operator.team,
        "member": operator.team.memberships.get(),
    }
    policy = made["policy"]
    aliases.move(actor=operator, line=policy, name="stable", to=policy.latest)
    made["run"] = Run.objects.create(
        team=operator.team,
        endpoint=made["endpoint"],
        workload=made["workload"],
        policy_version=made["policy"].latest,
        scenario={"duration_s": 60},
        seed=1,
        created_by=operator.user,
    )
    made["comparison"] = comparison_of(operator, made)
    document = example(operator.team)
    told = GatewayDocument(name="g", policy="my-policy", lanes={"p": ["e"]}, anonymous="t")
    made["gateway"] = gateways.create_gateway(actor=operator, document=told)
    made["key"], _ = gateways.make_key(
        actor=operator, gateway=made["gateway"], tenant=made["tenant"], name="k"
    )
    made["experiment"] = experiments.start(actor=operator, ask=Ask("congestion", 2, reduced=True))
    made["rollout"] = rollout_of(operator, made)
    made["thaw"] = FreezeWindow.objects.create(
        team=operator.team, starts_at=timezone.now(), ends_at=timezone.now(), reason="sale"
    )
    made["gate"] = save_gate(actor=operator, document=document).line
    return {word: row.pk for word, row in made.items()}


def comparison_of(operator: Actor, made: dict[str, Any]) -> Comparison:
    version = made["policy"].latest
    parts = (version, version, made["slo"].latest, made["workload"])
    return comparisons.start(actor=operator, ask=comparisons.Ask(*parts))


def rollout_of(operator: Actor, made: dict[str, Any]) -> Rollout:
    plan = RolloutPlan.parse(rollout_plan("canary", "full"))
    return Rollout.objects.create(
        team=operator.team,
        gateway=made["gateway"],
        baseline_version=made["policy"].latest,
        candidate_version=made["policy"].latest,
        slo_version=made["slo"].latest,
        plan=plan.to_document(),
        plan_sha256=plan.sha256,
        seed=1,
    )


def object_of(name: str, owned: dict[str, uuid.UUID]) -> uuid.UUID:
    """Which object an address is about; an unknown one fails, so that it is added above."""
    if name == "gateways:key_revoke":
        return owned["key"]
    if name == "rollouts:thaw":
        return owned["thaw"]
    apps = ("runs:", "gates:", "gateways:", "comparisons:", "experiments:", "rollouts:")
    if name.startswith(apps):
        return owned[name.partition("s:")[0]]
    (word,) = (word for word in owned if name.partition(":")[2].split("_")[0].split("-")[0] == word)
    return owned[word]


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in PAGES if name != SIGN_OUT])
def test_a_stranger_is_sent_to_sign_in_from_every_page(name: str, client: Client) -> None:
    for answer in ask_all(client, address(name, uuid.uuid4())):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/sign-in/?next=/")


@pytest.mark.django_db
@pytest.mark.parametrize("name", API)
def test_the_api_answers_a_stranger_401_with_a_problem(name: str, client: Client) -> None:
    answers = ask_all(client, address(name, uuid.uuid4()))
    assert answers
    for answer in answers:
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert answer["Content-Type"] == "application/problem+json"
        assert "Authorization: Bearer" in answer.json()["detail"]


def test_another_teams_object_does_not_exist(
    owned: dict[str, uuid.UUID], stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    scopes = ["read", "catalogue:write", "runs:write", "gateway"]
    _token, secret = create_token(actor=stranger, name="x", scopes=scopes, expires_at=None)
    browser, program = page_as(stranger), Client()
    told = {}
    for name in OBJECTS:
        path = address(name, object_of(name, owned))
        if name.startswith("api:"):
            answers = ask_all(program, path, Authorization=f"Bearer {secret}")
        else:
            answers = ask_all(browser, path)
        told[name] = {answer.status_code for answer in answers}
    assert told == {name: {404} for name in OBJECTS}


def test_ones_own_object_does(
    owned: dict[str, uuid.UUID],
    actor_as: Callable[..., Actor],
    page_as: Callable[[Actor], Client],
    api_as: Callable[..., Callable[..., Any]],
) -> None:
    viewer = actor_as("viewer")
    browser, program, gateway = page_as(viewer), api_as(viewer), api_as(actor_as("approver"))
    stored_elsewhere = {"runs:samples", "runs:windows", "runs:trace", "runs:summary"}
    stored_elsewhere |= {"comparisons:verdict", "rollouts:evidence", "experiments:result"}
    stored_elsewhere |= {"experiments:configuration"}
    stored_elsewhere |= {"api:gate-run", "api:gate-junit"}  # the gate has none yet
    faults = {}
    for name in OBJECTS:
        path = address(name, object_of(name, owned))
        if name.startswith("api:"):
            call = gateway if name in BY_SLUG else program
            status = call("get", path.removeprefix("/api/v1")).status_code
        else:
            status = browser.get(path).status_code
        leads_on = {302} if name == "catalogue:policy_diff_choose" else set()
        if status not in ({200, 404} if name in stored_elsewhere else {200, 405} | leads_on):
            faults[name] = status
    assert faults == {}


@pytest.mark.parametrize("name", [name for name in PAGES if not TABLE[name]])
def test_pages_forbid_inline_scripts_and_framing(
    name: str, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).get(reverse(name))
    assert answer["X-Frame-Options"] == "DENY"
    policy = answer["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_health_is_open_and_says_nothing_else(client: Client, db: None) -> None:
    assert client.get("/healthz").content == b"ok\n"
