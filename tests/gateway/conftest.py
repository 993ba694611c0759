"""Tests over sockets run on both loops: the one that serves, and the one that is always there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Asked once for each test that is a coroutine."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
