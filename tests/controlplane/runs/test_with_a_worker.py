"""The whole way, with real parts: API, Valkey, a Celery worker, the load test, the engine model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from asgiref.sync import sync_to_async
from celery import Celery
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection
from django.test import Client

from controlplane import queue
from controlplane.catalogue.models import Endpoint
from controlplane.runs import stored
from controlplane.runs.models import Run, RunWindow, Status
from controlplane.runs.storage import directory
from controlplane.teams.models import User
from controlplane.teams.rights import Actor
from tests.controlplane.runs.test_frames import Page, whole
from tests.controlplane.runs.viewer import Viewer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[3]
Call = Callable[..., Any]
BODY = {
    "endpoint": "sim",
    "policy": "steady",
    "workload": "short",
    "slo": "chat",
    "arrivals": {"process": "poisson", "rate": 20},
    "duration_s": 4,
    "drain_s": 5,
    "seed": 3,
}


class Started(NamedTuple):
    process: subprocess.Popen[bytes]
    said: str


def wait_for(seconds: float, true: Callable[[], bool]) -> float:
    """Until it is true; how long that took."""
    began = time.monotonic()
    while not true():
        took = time.monotonic() - began
        assert took < seconds, f"not true within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - began


@contextmanager
def running(argv: list[str], log: Path, *, ready: str, **more: Any) -> Iterator[Started]:
    """A process with what it has said once it was ready; its whole group is gone afterwards."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            argv, cwd=ROOT, start_new_session=True, stdout=sink, stderr=sink, **more
        )
    try:
        wait_for(60, lambda: ready in log.read_text() or process.poll() is not None)
        yield Started(process, log.read_text())
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def database_url() -> str:
    """This test's database, as another process finds it."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("engine") / "log"
    argv = [sys.executable, "-m", "headway", "engine", "--port", "0"]
    with running(argv, log, ready="serves simulated") as started:
        found = re.search(r"http://127\.0\.0\.1:\d+", started.said)
        assert found, started.said
        yield found[0]


@pytest.fixture(scope="module")
def awake(
    django_db_setup: None, valkey_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """``awake()``: a worker on the tests' database, the last test's unless that has died."""
    environ = {
        **{name: os.environ[name] for name in ("PATH", "SECRET_KEY") if name in os.environ},
        "HEADWAY_EMBEDDED": "1",
        "HEADWAY_DATA_DIR": str(django_settings.DATA_DIR),
        "DATABASE_URL": database_url(),
        "REDIS_URL": broker_on(valkey_server),
    }
    argv = [sys.executable, "-m", "celery", "-A", "controlplane", "worker", "--loglevel", "INFO"]
    argv += ["--pool", "threads", "-c", "2", "--without-gossip", "--without-mingle"]
    with ExitStack() as ends:
        ours: list[subprocess.Popen[bytes]] = []

        def worker() -> subprocess.Popen[bytes]:
            if not ours or ours[-1].poll() is not None:
                log = tmp_path_factory.mktemp("celery") / "log"
                started = ends.enter_context(running(argv, log, ready=" ready.", env=environ))
                assert started.process.poll() is None, started.said
                ours.append(started.process)
            return ours[-1]

        yield worker


def broker_on(valkey_server: str) -> str:
    """One of its own number."""
    return f"{valkey_server}/1"


@pytest.fixture
def celery_worker(
    db: None,
    valkey_server: str,
    awake: Callable[[], subprocess.Popen[bytes]],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker, and a sender on the broker that it listens to."""
    broker = broker_on(valkey_server)
    layer = "channels_redis.pubsub.RedisPubSubChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": layer, "CONFIG": {"hosts": [broker]}}}
    sender = Celery("sender", broker=broker)  # the project's own app keeps its first connection
    monkeypatch.setattr(queue, "app", sender)
    yield awake()
    sender.control.purge()
    sender.close()


@pytest.fixture
def call(
    actor: Actor,
    launch: Any,
    engine: str,
    celery_worker: subprocess.Popen[bytes],
    api_as: Callable[..., Call],
) -> Call:
    Endpoint.objects.filter(pk=launch.endpoint.pk).update(base_url=engine)
    return api_as(actor)


def launched(call: Call, **more: Any) -> Run:
    key = f"{time.monotonic()}"
    answer = call("post", "/runs", {**BODY, **more}, Idempotency_Key=key)
    assert answer.status_code == 202, answer.json()
    return Run.objects.get(pk=answer.json()["id"])


def status_is(run: Run, *wanted: Status) -> Callable[[], bool]:
    return lambda: Run.objects.filter(pk=run.pk, status__in=wanted).exists()


def measuring(run: Run, windows: int = 2) -> Callable[[], bool]:
    return lambda: RunWindow.objects.filter(run=run).count() >= windows


def worker_of(run: Run) -> int | None:
    """The process id of the run's load test, while there is one."""
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = found.read_bytes()
        except OSError:
            continue
        if b"loadtest.worker" in words and str(run.pk).encode() in words:
            return int(found.parent.name)
    return None


def test_a_run_launched_over_the_api_ends_with_its_verdict(call: Call) -> None:
    run = launched(call)
    said = call("get", f"/runs/{run.pk}?wait=30").json()
    assert (said["status"], said["reason"]) == ("done", "")
    assert said["verdict"] in ("pass", "fail", "inconclusive", "invalid")
    assert said["because"]
    assert said["summary"]["scenario_sha256"] == run.scenario_sha256
    assert said["summary"]["verdict"] == said["verdict"]
    assert said["exit_code"] == said["summary"]["exit_code"]
    run.refresh_from_db()
    frame = stored.backfill(run, since=0)
    offered = sum(row.data["cohort"]["offered"] for row in run.windows.all())
    assert offered == said["summary"]["offered"] == run.live["counts"]["offered"]
    assert frame["verdict"]["because"] == said["because"]
    assert all(row[1] == 0 for row in frame["cohorts"]["rows"])
    assert frame["tiles"][0]["value"] == pytest.approx(said["summary"]["attainment"])
    assert worker_of(run) is None


def test_an_experiment_asked_for_over_the_api_is_played_by_the_worker(
    celery_worker: subprocess.Popen[bytes], actor: Actor, api_as: Callable[..., Call]
) -> None:
    call = api_as(actor)
    body = {"system": "congestion", "seeds": 1, "reduced": True}
    asked = call("post", "/experiments", body, Idempotency_Key="played").json()
    said = call("get", f"/experiments/{asked['id']}?wait=30").json()
    assert (said["status"], said["reason"]) == ("done", "")
    assert said["result"]["holds"]
    assert said["result"]["runs"] == said["progress"]["of"] == said["progress"]["done"]


async def test_frames_over_valkey_make_the_page_that_the_database_makes(
    call: Call, user: User
) -> None:
    client = Client()
    await sync_to_async(client.force_login)(user)
    cookies = client.cookies.output(header="", attrs=[]).strip()
    run = await sync_to_async(launched)(call)
    viewer = Viewer(f"/ws/runs/{run.pk}/", cookies=cookies, origin="http://localhost")
    assert await viewer.connect()
    assert json.loads((await viewer.hear())["text"])["type"] == "hello"
    page, seen = Page(run), []
    while page.latest.get("run", {}).get("status") != "done":
        frame = json.loads((await viewer.hear())["text"])
        seen.append(frame["seq"])
        await sync_to_async(page.hear)(frame)
    await viewer.leave()
    assert seen == sorted(set(seen))
    assert len(seen) >= 4
    stored_page = await sync_to_async(whole)(run)
    assert vars(page) == vars(stored_page) | {"run": page.run}


def test_a_cancel_is_over_soon_and_keeps_what_was_measured(
    call: Call, record_property: Callable[[str, object], None]
) -> None:
    run = launched(call, duration_s=60)
    wait_for(20, measuring(run))
    assert call("post", f"/runs/{run.pk}/cancel").status_code == 202
    took = wait_for(20, status_is(run, Status.CANCELLED))  # the run would take a minute
    record_property("cancel_seconds", round(took, 3))
    run.refresh_from_db()
    assert run.summary is not None
    assert run.summary["status"] == "cancelled"
    assert run.reason.startswith("Cancelled by ada")
    assert call("get", f"/runs/{run.pk}").json()["exit_code"] == 130
    assert worker_of(run) is None


def test_a_killed_load_test_leaves_a_lost_run_with_windows_and_report(call: Call) -> None:
    run = launched(call, duration_s=60)
    wait_for(20, measuring(run))
    pid = worker_of(run)
    assert pid
    os.kill(pid, signal.SIGKILL)
    took = wait_for(15, status_is(run, Status.LOST))
    run.refresh_from_db()
    assert took < 5
    assert "killed by signal 9" in run.reason
    assert run.summary is not None
    assert run.summary["status"] == "lost"
    assert run.summary["offered"] > 0
    assert run.windows.count() >= 2
    assert call("get", f"/runs/{run.pk}").json()["exit_code"] == 30


def test_an_endpoint_that_nobody_serves_ends_with_a_reason(call: Call, launch: Any) -> None:
    Endpoint.objects.filter(pk=launch.endpoint.pk).update(base_url="http://127.0.0.1:9")
    answer = call("post", "/runs", BODY, Idempotency_Key="closed")
    assert answer.status_code == 422
    assert "port 9 is not allowed" in answer.json()["errors"][0]["detail"]


def test_a_killed_celery_worker_leaves_a_lost_run_with_windows_and_report(
    call: Call, celery_worker: subprocess.Popen[bytes]
) -> None:
    run = launched(call, duration_s=60)
    wait_for(20, measuring(run))
    os.killpg(celery_worker.pid, signal.SIGKILL)
    wait_for(20, lambda: worker_of(run) is None)  # it ends with whoever supervises it

    def swept() -> bool:
        call_command("watch_runs", once=True, stdout=StringIO())
        time.sleep(0.5)
        return status_is(run, Status.LOST)()

    wait_for(40, swept)
    run.refresh_from_db()
    assert run.summary is not None
    assert run.summary["status"] == "lost"
    assert run.windows.count() >= 2
    assert (directory(run) / "samples.jsonl").stat().st_size > 0
