"""The embedded set-up, from the first child to the last: start, welcome, watch, end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from headway.embedded.data_dir import CannotStart
from headway.embedded.family import Family
from headway.embedded.kept_secret import kept_secret
from headway.embedded.llamacpp import MODEL
from headway.embedded.plan import (
    LOOPBACK,
    Plan,
    engine_specs,
    environment,
    gateway_specs,
    given_environment,
    lane_specs,
    python,
    server_specs,
    worker_spec,
)
from headway.embedded.ports import free_port, is_free
from headway.embedded.valkey import valkey_spec

MANAGE_WITHIN = 120.0
"""Seconds that a management command may take; migrations of a large database are the longest."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person asked for."""

    bind: str
    port: int
    llamacpp: bool
    traffic: bool = True


def keep_house(wish: Wish, *, data_dir: Path, scratch: Path) -> NoReturn:
    """Run until a signal's exception passes through; every child is ended on the way out.

    Raises CannotStart when something is not to be had, with nothing left running.
    """
    began = time.monotonic()
    if not is_free(wish.bind, wish.port):
        raise CannotStart(
            f"port {wish.port} on {wish.bind} is taken or can't be used; give another with --port"
        )
    plan = Plan(
        data_dir=data_dir,
        socket=scratch / "valkey.sock",
        bind=wish.bind,
        port=wish.port,
        # The same addresses at every start where they are free, so that people can keep them.
        engine_port=free_port(preferred=wish.port + 100),
        llamacpp_port=free_port(preferred=wish.port + 101) if wish.llamacpp else None,
        lane_ports=(free_port(preferred=wish.port + 102), free_port(preferred=wish.port + 103)),
        gateway_port=free_port(preferred=wish.port + 80),
        traffic=wish.traffic,
    )
    told = environment(plan, given_environment())
    family = Family(
        environment=told,
        logs=data_dir / "logs",
        clock=time.monotonic,
        sleep=time.sleep,
        say=lambda line: print(f"headway up: {line}", flush=True),
    )
    try:
        first_run = _start(family, plan, told)
        _welcome(plan, first_run, time.monotonic() - began)
        try:
            while True:
                family.revive()
                time.sleep(0.5)
        finally:
            _end_runs(told)
    finally:
        family.end()


def _start(family: Family, plan: Plan, told: Mapping[str, str]) -> str:
    """What needs no database comes up while that is prepared; then pages and watchdog.

    The path of the first run's page, where this start has started one.
    """
    broker = family.start(valkey_spec(plan.socket))
    specs = (*engine_specs(plan), *lane_specs(plan), worker_spec())
    early = [family.start(spec) for spec in specs]
    family.wait_ready(broker)
    urls = ["--engine-url", f"http://{LOOPBACK}:{plan.engine_port}"]
    urls += ["--lane-urls", *(f"http://{LOOPBACK}:{port}" for port in plan.lane_ports)]
    urls += ["--gateway-url", f"http://{LOOPBACK}:{plan.gateway_port}"]
    if plan.llamacpp_port is not None:
        urls += ["--llamacpp-url", f"http://{LOOPBACK}:{plan.llamacpp_port}"]
        urls += ["--llamacpp-model", MODEL]
    password = kept_secret(plan.data_dir, "admin_password", size=12)
    said = _manage(
        "prepare_embedded",
        *urls,
        told={**told, "HEADWAY_DEMO_PASSWORD": password},
        fault="the database could not be prepared",
    )
    late = [family.start(spec) for spec in server_specs(plan)]
    for child in (*early, *late):
        family.wait_ready(child)
    for spec in gateway_specs(plan):
        family.start(spec)
    return said.strip().lstrip("/")


def _end_runs(told: Mapping[str, str]) -> None:
    """Cancel what is running while its supervisors still live; without them it would be lost."""
    print("\nheadway up: stopping", flush=True)
    try:
        said = _manage("end_runs", told=told, fault="the runs could not be ended")
    except (CannotStart, subprocess.TimeoutExpired) as error:
        print(f"headway up: {error}", flush=True)
    else:
        for line in said.splitlines():
            print(f"headway up: runs: {line}", flush=True)


def _manage(command: str, *args: str, told: Mapping[str, str], fault: str) -> str:
    done = subprocess.run(
        python("manage.py", command, *args),
        env=told,
        capture_output=True,
        text=True,
        timeout=MANAGE_WITHIN,
        check=False,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CannotStart(f"{fault}: {lines[-1] if lines else 'no reason was given'}")
    return done.stdout


def _second_person(plan: Plan) -> str:
    """Who approves what admin proposes; nothing once that password is kept elsewhere."""
    try:
        password = (plan.data_dir / "approver_password").read_text().strip()
    except FileNotFoundError:
        return ""
    return f"    approve   approver / {password}\n"


def _welcome(plan: Plan, first_run: str, seconds: float) -> None:
    password = kept_secret(plan.data_dir, "admin_password")
    gateway = f"http://{LOOPBACK}:{plan.gateway_port}/v1 (its key: {plan.data_dir}/demo_key)"
    second = _second_person(plan)
    watch = f"    watch     {plan.address}{first_run}\n" if first_run else ""
    print(
        f"\n  Headway is up, {seconds:.1f} s after its start.\n\n"
        f"    open      {plan.address}\n"
        f"    sign in   admin / {password}\n"
        f"{second}"
        f"{watch}"
        f"    gateway   {gateway}\n"
        f"    data      {plan.data_dir}\n\n"
        "  Ctrl-C ends it; a second start keeps everything.\n",
        flush=True,
    )
