"""``where=model``: two fresh engines of the engine model, in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from documents.canonical import sha256
from loadtest.ab.ground import Ground
from loadtest.ab.model_client import ModelClient
from loadtest.ab.order import Order
from simulator import profile as profiles
from simulator.profile import Profile


@asynccontextmanager
async def model_ground(order: Order, *, apart: bool = False) -> AsyncIterator[Ground]:
    """Call it on a virtual-time loop. Both engines draw the same ingest delays.

    So the arms differ by their policies alone, and equal policies by nothing at all; ``apart``
    gives each engine draws of its own, as real ones have.
    """
    profile = profiles.load(order.profile)
    config = profile.config()
    fingerprint = fingerprint_of(order.profile, profile)
    lanes = ("P", "Q")
    seed = order.plan.seed % 2**31
    clients = {
        lane: ModelClient(config, seed=seed + apart * place) for place, lane in enumerate(lanes)
    }
    yield Ground(
        clients=clients,
        signals={lane: client.signals for lane, client in clients.items()},
        engines=dict.fromkeys(lanes, fingerprint),
        clock=asyncio.get_running_loop().time,
        lead=0.0,
        model=facts_of(order.profile, profile),
    )


def fingerprint_of(name: str, profile: Profile) -> str:
    """Names a simulated engine by everything that its steps depend on."""
    return sha256({"profile": name, "config": dataclasses.asdict(profile.config())})


def facts_of(name: str, profile: Profile) -> dict[str, object]:
    """What a reader has to know of numbers that no real engine gave."""
    return {
        "profile": name,
        "stands_for": f"{profile.model} on {profile.gpu} ×{profile.tensor_parallel}, "
        f"{profile.engine}",
        "error": profile.error.strip(),
        "mean_error_percent": profile.mean_error_percent,
        "source": profile.source.strip(),
    }
