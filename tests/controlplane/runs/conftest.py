"""A team with a catalogue, runs of it, and windows to fill them with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Workload
from controlplane.catalogue.services import endpoints, lines, workloads
from controlplane.runs import services
from controlplane.runs.child import Child
from controlplane.runs.launch import Launch
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Membership, Role, Team, User
from controlplane.teams.rights import Actor
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.window import WindowFold

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")

POLICY = {
    "apiVersion": "headway/v1",
    "kind": "Policy",
    "metadata": {"name": "steady", "owner": "platform"},
    "spec": {"concurrency": {"law": "fixed", "limit": 8}},
}
SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "chat", "owner": "platform"},
    "spec": {
        "target": 0.9,
        "objectives": [
            {"metric": "ttft_ms", "max": 800},
            {"metric": "tpot_ms", "max": 60},
            {"metric": "error", "max": 0},
        ],
    },
}


@pytest.fixture
def user(team: Team) -> User:
    return member(team, "ada", Role.OPERATOR)


@pytest.fixture
def actor(team: Team, user: User) -> Actor:
    return Actor(user, team, Role.OPERATOR)


def member(team: Team, name: str, role: Role) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(team=team, user=user, role=role)
    return user


@pytest.fixture
def endpoint(actor: Actor) -> Endpoint:
    document = EndpointDocument(
        name="sim", base_url="http://127.0.0.1:9999", model="simulated", kind="simulated"
    )
    return endpoints.create_endpoint(actor=actor, document=document)


@pytest.fixture
def policy_version(actor: Actor) -> PolicyVersion:
    return lines.save_policy(actor=actor, document=POLICY).version


@pytest.fixture
def slo_version(actor: Actor) -> SloVersion:
    return lines.save_slo(actor=actor, document=SLO).version


@pytest.fixture
def workload(actor: Actor) -> Workload:
    document = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 8}
    return workloads.create_workload(actor=actor, name="short", document=document)


@pytest.fixture
def launch(
    endpoint: Endpoint,
    policy_version: PolicyVersion,
    workload: Workload,
    slo_version: SloVersion,
) -> Launch:
    rest = {
        "arrivals": {"process": "poisson", "rate": 20},
        "duration_s": 60,
        "drain_s": 5,
        "seed": 7,
    }
    return Launch(endpoint, policy_version, workload, slo_version, rest)


@pytest.fixture
def run(actor: Actor, launch: Launch) -> Run:
    """A queued run; the task that would take it is never sent, as no transaction commits."""
    return services.start(actor=actor, launch=launch)


@pytest.fixture
def claimed(run: Run) -> Run:
    taken = services.claim(run.pk)
    assert taken is not None
    assert taken.status == Status.RUNNING
    return taken


@pytest.fixture
def spawn(tmp_path: Path) -> Callable[..., Child]:
    """A child that plays these steps; it is gone when the test is."""
    children: list[Child] = []

    def start(*steps: dict[str, Any], environ: dict[str, str] | None = None) -> Child:
        script = tmp_path / f"script-{len(children)}.jsonl"
        script.write_text("".join(json.dumps(step) + "\n" for step in steps))
        child = Child(
            [sys.executable, str(FAKE_WORKER), str(script)],
            environ=environ or {},
            errors=tmp_path / "worker.log",
            cwd=tmp_path,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.close()


def sample(index: int, at: float, **more: Any) -> Sample:
    """A good answer of 0.3 s with eight tokens, unless told otherwise."""
    facts: dict[str, Any] = {
        "outcome": Outcome.OK,
        "handed_at": at,
        "admitted_at": at,
        "sent_at": at,
        "first_token_at": at + 0.1,
        "first_answer_at": at + 0.1,
        "last_token_at": at + 0.3,
        "done_at": at + 0.3,
        "prompt_tokens": 16,
        "output_tokens": 8,
        "first_chunk_tokens": 1,
        "chunks": 1,
    }
    return Sample(index=index, tenant="default", intended_at=at, **(facts | more))


def failed(index: int, at: float, outcome: Outcome = Outcome.HTTP_5XX) -> Sample:
    nothing = dict.fromkeys(
        ("first_token_at", "first_answer_at", "last_token_at", "output_tokens"), None
    )
    return sample(index, at, outcome=outcome, error="boom", **nothing)


def folded(seconds: int, *, rate: int = 10, bad: Callable[[int], bool] = lambda _: False) -> list:
    """What a fold gives out second by second: a list of lists of windows."""
    fold = WindowFold(slo=Slo.parse(SLO))
    given = []
    pending: list[Sample] = []
    for second in range(seconds + 1):
        if second < seconds:
            for n in range(rate):
                index, at = second * rate + n, second + n / rate
                fold.offered(index, "default", at)
                fold.sent(at)
                pending.append(failed(index, at) if bad(index) else sample(index, at))
            fold.in_flight(second, 3)
            fold.limit(second, 8)
        now = second + 1.0
        for one in [one for one in pending if (one.done_at or 0) <= now]:
            fold.resolved(one)
            pending.remove(one)
        given.append(fold.changed(now) if second < seconds else fold.finish(now))
    return given


def documents(windows: list) -> list[dict[str, Any]]:
    return [window.to_json() for window in windows]
