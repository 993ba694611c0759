"""What the embedded set-up consists of, and what each part is told through its environment."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.embedded.child import Spec
from headway.embedded.kept_secret import kept_secret

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Plan:
    """Addresses and folders of one embedded set-up."""

    data_dir: Path
    socket: Path
    bind: str
    port: int
    engine_port: int
    llamacpp_port: int | None
    lane_ports: tuple[int, int] = (0, 0)
    """Of the two engines behind the demo gateway."""
    gateway_port: int = 0
    traffic: bool = True
    """Whether the demo gateway gets a trickle of requests."""

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the pages."""
        everywhere = self.bind in ("0.0.0.0", "::")  # noqa: S104 - asked, not bound, here
        host = LOOPBACK if everywhere else self.bind
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def environment(plan: Plan, given: Mapping[str, str]) -> dict[str, str]:
    """The children's environment; what the person set already is kept."""
    ours = {
        "HEADWAY_EMBEDDED": "1",
        "HEADWAY_DATA_DIR": str(plan.data_dir),
        "DATABASE_URL": f"sqlite:///{plan.data_dir / 'headway.sqlite3'}",
        "REDIS_URL": f"unix://{plan.socket}",
        "SECRET_KEY": kept_secret(plan.data_dir, "secret_key", size=48),
        "ALLOWED_HOSTS": _hosts(plan.bind),
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "PYTHONUNBUFFERED": "1",
    }
    return {**ours, **given}


def _hosts(bind: str) -> str:
    local = "localhost,127.0.0.1,[::1]"
    if bind in ("0.0.0.0", "::"):  # noqa: S104 - the person asked for it with --bind
        return "*"
    return local if bind in (LOOPBACK, "localhost", "::1") else f"{local},{bind}"


def python(*args: str) -> list[str]:
    """A command of this very interpreter, so that children see the same packages."""
    return [sys.executable, *args]


def engine_specs(plan: Plan) -> list[Spec]:
    """The simulated engine, and the real one where it was asked for."""
    port = plan.engine_port
    specs = [
        Spec(
            "engine",
            python("-m", "headway", "engine", "--port", str(port)),
            ready=answers(f"http://{LOOPBACK}:{port}/health"),
        )
    ]
    if plan.llamacpp_port is not None:
        specs.append(
            Spec(
                "llamacpp",
                python("-m", "headway", "llamacpp", "--port", str(plan.llamacpp_port)),
                ready=answers(f"http://{LOOPBACK}:{plan.llamacpp_port}/health"),
                ready_within=60.0,
            )
        )
    return specs


def lane_specs(plan: Plan) -> list[Spec]:
    """Two equal simulated engines for the demo gateway: one can try what the other does not."""
    return [
        Spec(
            name,
            python("-m", "headway", "engine", "--port", str(port)),
            ready=answers(f"http://{LOOPBACK}:{port}/health"),
        )
        for name, port in zip(("lane-p", "lane-q"), plan.lane_ports, strict=True)
    ]


def gateway_specs(plan: Plan) -> list[Spec]:
    """The demo gateway, and what asks it; nobody waits for them, they take what comes."""
    url = f"http://{LOOPBACK}:{plan.gateway_port}"
    told = ["-m", "headway", "gateway", "--control-plane", plan.address, "--name", "demo"]
    told += ["--host", LOOPBACK, "--port", str(plan.gateway_port), "--egress", "loopback"]
    told += ["--state-dir", str(plan.data_dir / "gateway"), "--drain-s", "1"]
    token = (plan.data_dir / "gateway_token").read_text().strip()
    asks = ["-m", "headway.embedded.trickle", "--url", url]
    asks += ["--key-file", str(plan.data_dir / "demo_key")]
    specs = [
        Spec(
            "gateway", python(*told), stop_after=4.0, environment={"HEADWAY_GATEWAY_TOKEN": token}
        ),
        Spec("traffic", python(*asks), stop_after=2.0),
    ]
    return specs if plan.traffic else specs[:1]


def server_specs(plan: Plan) -> list[Spec]:
    """Pages and watchdog, in the order of their start: they read the database at once."""
    pages = ["-m", "uvicorn", "controlplane.asgi:application", "--host", plan.bind]
    pages += ["--port", str(plan.port), "--no-access-log", "--timeout-graceful-shutdown", "2"]
    pages += ["--no-proxy-headers"]  # else uvicorn believes whom a caller on loopback says it is
    return [
        # On a machine that is busy with something else they have been seen to need 30 s.
        Spec("pages", python(*pages), ready=answers(f"{plan.address}healthz"), ready_within=60.0),
        Spec("watchdog", python("manage.py", "watch_runs")),
    ]


def worker_spec() -> Spec:
    """What supervises runs. It asks the broker first, so it may start before the database."""
    worker = ["-m", "celery", "-A", "controlplane", "worker", "--loglevel", "INFO"]
    # A task only supervises a process of its own, so threads are enough, and one signal ends all.
    worker += ["--pool", "threads", "--concurrency", "4", "--without-gossip", "--without-mingle"]
    # On SIGTERM it would wait for its runs to end; they are told by the watchdog next time.
    return Spec("worker", python(*worker), stop_after=2.0)


def answers(url: str) -> Callable[[], bool]:
    """A question whether the URL answers 200, asked on loopback with no proxy between."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask() -> bool:
        try:
            with opener.open(url, timeout=2.0) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return ask


def repository() -> Path | None:
    """The folder with manage.py, where the server runs from; None in a bare wheel."""
    here = Path(__file__).resolve().parents[2]
    return here if (here / "manage.py").exists() else None


def given_environment() -> dict[str, str]:
    """What the person's shell says, less what would point children at another Django."""
    return {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
