"""A run by two machines, with real parts: two Celery workers under two names, Valkey, an engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from celery import Celery
from django.conf import settings as django_settings
from redis import Redis
from redis.exceptions import ConnectionError as Gone

from controlplane import queue, sealing
from controlplane.catalogue.models import Endpoint
from controlplane.runs.models import Status
from controlplane.runs.storage import directory
from loadtest.recorder import read_samples
from tests.controlplane.runs import test_with_a_worker as one_worker
from tests.controlplane.runs.test_with_a_worker import (
    Call,
    database_url,
    launched,
    measuring,
    running,
    status_is,
    wait_for,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
KEY = "sk-never-in-the-broker"
LOAD_ONLY = ["-Q", "load"]
"""The second worker carries slices and never leads."""
engine = one_worker.engine


class Two(NamedTuple):
    """Two workers, by their machines' names, and the broker that they share."""

    broker: str
    workers: dict[str, subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def two(
    django_db_setup: None, valkey_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Two]:
    broker = f"{valkey_server}/2"
    kept = tmp_path_factory.mktemp("machines")
    argv = [sys.executable, "-m", "celery", "-A", "controlplane", "worker", "--loglevel", "INFO"]
    argv += ["--pool", "threads", "-c", "2", "--without-gossip", "--without-mingle"]
    with ExitStack() as ends:
        begun: list[Callable[[], Any]] = []
        found = {}
        for name in ("one", "two"):
            environ = {
                **{name: os.environ[name] for name in ("PATH", "SECRET_KEY") if name in os.environ},
                "HEADWAY_EMBEDDED": "1",
                "HEADWAY_DATA_DIR": str(django_settings.DATA_DIR),
                "DATABASE_URL": database_url(),
                "REDIS_URL": broker,
            }
            call = [*argv, "-n", f"celery@{name}", *([] if name == "one" else LOAD_ONLY)]
            started = running(call, kept / name, ready=" ready.", env=environ)
            thread = threading.Thread(
                target=lambda name=name, it=started: found.update({name: ends.enter_context(it)})
            )
            thread.start()
            begun.append(thread.join)
        for join in begun:
            join()
        yield Two(broker, {name: started.process for name, started in found.items()})


@pytest.fixture
def sender(db: None, two: Two, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """What the pages' process sends with, on the broker of the two."""
    layer = "channels_redis.pubsub.RedisPubSubChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": layer, "CONFIG": {"hosts": [two.broker]}}}
    sender = Celery("sender", broker=two.broker)
    monkeypatch.setattr(queue, "app", sender)
    yield sender
    sender.control.purge()
    sender.close()


@pytest.fixture
def call(
    actor: Any,
    launch: Any,
    engine: str,
    sender: Celery,
    api_as: Callable[..., Call],
) -> Call:
    sealed = sealing.seal(sealing.Secret(KEY), owner=str(launch.endpoint.pk))
    ours = Endpoint.objects.filter(pk=launch.endpoint.pk)
    ours.update(base_url=engine, sealed_credential=sealed)
    return api_as(actor)


@contextmanager
def overheard(broker: str) -> Iterator[list[str]]:
    """Everything that anybody says to the broker meanwhile."""
    said: list[str] = []
    client = Redis.from_url(broker)

    def listen() -> None:
        try:
            with client.monitor() as monitor:
                said.extend(heard["command"] for heard in monitor.listen())
        except (Gone, ValueError):
            return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield said
    killer = Redis.from_url(broker)
    for one in killer.client_list():
        if one["cmd"] == "monitor":
            killer.client_kill_filter(_id=one["id"])
    thread.join(5)
    client.close()
    killer.close()


def test_two_machines_carry_one_run_and_no_key_passes_the_broker(call: Call, two: Two) -> None:
    with overheard(two.broker) as said:
        run = launched(call, machines=2, duration_s=2)
        wait_for(30, status_is(run, Status.DONE, Status.FAILED, Status.LOST))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("done", "")
        assert run.summary is not None
        rows = run.summary["client"]["by_worker"]
        assert [row["machine"] for row in rows] == ["celery@two", "celery@one"]
        assert [row["lost"] for row in rows] == ["", ""]
        assert run.summary["client"]["machines"] == 2
        indices = sorted(sample.index for sample in read_samples(directory(run)))
        assert indices == list(range(run.summary["offered"]))
        assert sum(row.data["cohort"]["offered"] for row in run.windows.all()) == len(indices)
    assert [one for one in said if "headway:crew:" in one]
    assert not [one for one in said if KEY in one]
    slices = Path(django_settings.DATA_DIR) / "slices"
    wait_for(10, lambda: not list(slices.iterdir()))  # each machine tidies up after its last word


def test_a_lost_machine_is_told_at_once_and_a_cancel_still_reaches_the_other(
    call: Call, two: Two
) -> None:
    run = launched(call, machines=2, duration_s=60)
    wait_for(30, measuring(run, 1))
    os.killpg(two.workers["two"].pid, signal.SIGKILL)

    def told() -> bool:
        run.refresh_from_db()
        return run.live["verdict"]["outcome"] == "invalid"

    wait_for(20, told)
    assert run.status == Status.RUNNING
    assert "Machine two (slice 1 of 2) said nothing for 6 s" in run.live["verdict"]["because"]
    call("post", f"/runs/{run.pk}/cancel")
    wait_for(15, status_is(run, Status.CANCELLED))
    run.refresh_from_db()
    assert run.summary is not None
    assert run.summary["verdict"] == "invalid"
    assert [bool(row["lost"]) for row in run.summary["client"]["by_worker"]] == [True, False]
    wait_for(15, lambda: not processes(str(run.pk)))


def processes(word: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
