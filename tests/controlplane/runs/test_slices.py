"""A run by several machines: who may lead it, and who carries a slice of it, once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from controlplane import queue, sealing
from controlplane.catalogue.models import Endpoint
from controlplane.runs import execution, slices
from controlplane.runs.machines import lease
from controlplane.runs.machines.wire import Keys
from controlplane.runs.models import Run, Status

pytestmark = pytest.mark.django_db

KEYS = Keys("a-token")
CARRY = {"token": KEYS.token, "number": 0, "of": 2}


class Carrier:
    """Stands for the relay and the process that it starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes: list[str] = []
        self.calls: list[tuple[list[str], dict[str, str]]] = []
        monkeypatch.setattr(slices, "Relay", self.relay)
        monkeypatch.setattr(slices.child, "Child", self.child)

    def relay(self, _link: object, spawn: Any, _out: object) -> Carrier:
        spawn({"endpoint": {}})
        return self

    def run(self, node: str) -> None:
        self.nodes.append(node)

    def child(self, call: list[str], *, environ: dict[str, str], **_more: object) -> None:
        self.calls.append((call, environ))


@pytest.fixture
def broker(valkey_server: str, settings: Any) -> Any:
    settings.REDIS_URL = f"{valkey_server}/3"
    with Redis.from_url(settings.REDIS_URL) as client:
        yield client
        client.flushdb()


def test_a_task_that_is_delivered_twice_sends_once(
    claimed: Run, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = Carrier(monkeypatch)
    lease.take(broker, KEYS)
    for node in ("celery@one", "celery@one", "celery@two"):
        slices.carry(str(claimed.pk), **CARRY, node=node)
    assert carrier.nodes == ["celery@one"]


def test_a_task_that_comes_after_its_lead_or_its_run_sends_nothing(
    claimed: Run, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = Carrier(monkeypatch)
    slices.carry(str(claimed.pk), **CARRY, node="celery@one")
    lease.take(broker, KEYS)
    Run.objects.filter(pk=claimed.pk).update(status=Status.DONE)
    slices.carry(str(claimed.pk), **CARRY, node="celery@one")
    assert carrier.nodes == []


def test_the_key_is_opened_on_the_machine_and_its_rules_are_that_machines(
    claimed: Run, broker: Redis, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.EGRESS = ("10.9.0.0/16",)
    sealed = sealing.seal(sealing.Secret("sk-1"), owner=str(claimed.endpoint_id))
    Endpoint.objects.filter(pk=claimed.endpoint_id).update(sealed_credential=sealed)
    carrier = Carrier(monkeypatch)
    lease.take(broker, KEYS)
    slices.carry(str(claimed.pk), **CARRY, node="celery@one")
    ((call, environ),) = carrier.calls
    assert environ["HEADWAY_API_KEY"] == "sk-1"
    assert call[call.index("--allow") + 1] == "10.9.0.0/16"
    assert call[-3:] == ["--barrier", "--slice", "0/2"]
    assert "sk-1" not in " ".join(call)


def test_fewer_machines_than_were_asked_for_are_a_refusal_and_nothing_is_handed_out(
    claimed: Run, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[object] = []
    monkeypatch.setattr(queue, "answering", lambda _within: ["celery@b", "celery@a"])
    monkeypatch.setattr(queue, "hand", lambda *args, **_more: handed.append(args))
    claimed.machines = 3
    execution.execute(claimed, node="celery@a")
    claimed.refresh_from_db()
    assert claimed.status == Status.FAILED
    assert claimed.reason.startswith(
        "3 machines were asked for, and 2 answered within 2 s: a, b. No request was sent."
    )
    assert handed == []
    assert claimed.load_started_at is None


def test_several_machines_without_a_broker_are_a_refusal(claimed: Run) -> None:
    claimed.machines = 2
    execution.execute(claimed, node="celery@a")
    claimed.refresh_from_db()
    assert claimed.status == Status.FAILED
    assert "need Redis or Valkey" in claimed.reason


def test_what_a_machine_that_died_has_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    now = 1_000_000.0
    for name, age in (("old", slices.LEFT_FOR_S + 1.0), ("running", 60.0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (now - age, now - age))
    slices._clear(tmp_path, now=now)
    assert [path.name for path in tmp_path.iterdir()] == ["running"]
