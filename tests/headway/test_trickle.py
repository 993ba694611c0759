"""The demo's trickle of chat: about four a second, the same ones at each start, never too many."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.embedded import trickle
from headway.embedded.plan import Plan, gateway_specs, lane_specs


class Enough(Exception):  # noqa: N818 - reads as what happened
    pass


async def sent(
    gaps: int, *, hang: bool = False, seed: int = 1
) -> tuple[list[dict[str, Any]], float]:
    """What was sent in so many gaps, and how long those took together, nobody waiting."""
    found: list[dict[str, Any]] = []
    slept: list[float] = []

    async def send(asked: dict[str, Any]) -> None:
        found.append(asked)
        if hang:
            await asyncio.Event().wait()

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)
        slept.append(seconds)
        if len(slept) > gaps:
            raise Enough

    with pytest.raises(Enough):
        await trickle.trickle(send, np.random.default_rng(seed), sleep=sleep)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    return found, sum(slept)


async def test_it_sends_about_four_a_second() -> None:
    found, seconds = await sent(4000)
    assert len(found) / seconds == pytest.approx(4.0, rel=0.08)
    assert all(8 <= asked["max_tokens"] < 96 for asked in found)


async def test_the_same_seed_sends_the_same() -> None:
    assert await sent(50) == await sent(50)
    assert await sent(50) != await sent(50, seed=2)


async def test_a_gateway_that_hangs_costs_no_memory() -> None:
    found, _ = await sent(500, hang=True)
    assert len(found) == trickle.AT_ONCE


def test_the_demo_gateway_is_told_by_file_and_environment_alone(tmp_path: Path) -> None:
    (tmp_path / "gateway_token").write_text("hw_secret\n")
    plan = Plan(
        tmp_path, tmp_path / "s", "127.0.0.1", 8000, 8100, None,
        lane_ports=(8102, 8103), gateway_port=8080,
    )  # fmt: skip
    gateway, traffic = gateway_specs(plan)
    assert gateway.environment == {"HEADWAY_GATEWAY_TOKEN": "hw_secret"}
    assert not any("secret" in word for spec in (gateway, traffic) for word in spec.command)
    assert gateway.command[gateway.command.index("--host") + 1] == "127.0.0.1"
    assert [spec.name for spec in lane_specs(plan)] == ["lane-p", "lane-q"]


def test_without_traffic_there_is_only_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "gateway_token").write_text("hw_secret\n")
    plan = Plan(tmp_path, tmp_path / "s", "127.0.0.1", 8000, 8100, None, traffic=False)
    assert [spec.name for spec in gateway_specs(plan)] == ["gateway"]
