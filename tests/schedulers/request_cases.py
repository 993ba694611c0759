"""Any request, and any signals: what the property tests of the other decision points draw from."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from schedulers.request import Request
from schedulers.signals import Signals
from schedulers.tiers import TIERS

BAD = (math.nan, math.inf, -math.inf, -1.0)


def a_request(serial: int = 1, **given: Any) -> Request:
    """A plain one."""
    facts: dict[str, Any] = {"arrived_at": 0.0, "prompt_tokens": 1000, "max_tokens": 500}
    return Request(serial=serial, **(facts | given))


def idle(now: float, **given: Any) -> Signals:
    """A healthy engine with nothing in it, just read."""
    facts: dict[str, Any] = {
        "running": 0, "waiting": 0, "kv_used": 0.0, "kv_tokens": 300_000,
        "max_running": 128, "prefill_rate": 16_000.0,
    }  # fmt: skip
    return Signals(read_at=now, **(facts | given))


requests = st.builds(
    Request,
    serial=st.integers(1, 10_000),
    arrived_at=st.floats(0.0, 100.0),
    tenant=st.sampled_from(["a", "b", "c"]),
    tier=st.sampled_from([*TIERS, "odd"]),
    weight=st.sampled_from([0.5, 1.0, 3.0]),
    prompt_tokens=st.integers(0, 200_000),
    cached_tokens=st.integers(0, 1000),
    max_tokens=st.none() | st.integers(1, 8192),
    expected_output=st.none() | st.floats(1.0, 1e4) | st.sampled_from(BAD),
    service_s=st.none() | st.floats(0.001, 100.0) | st.sampled_from(BAD),
    deadline_at=st.none() | st.floats(0.0, 200.0),
)

signals = st.none() | st.builds(
    Signals,
    read_at=st.floats(0.0, 100.0),
    poll_s=st.floats(0.05, 5.0),
    running=st.none() | st.integers(0, 200),
    waiting=st.none() | st.integers(0, 200),
    kv_used=st.none() | st.floats(0.0, 1.2) | st.sampled_from(BAD),
    kv_tokens=st.none() | st.integers(1000, 1_000_000),
    max_running=st.none() | st.integers(1, 256),
    prefill_rate=st.none() | st.floats(100.0, 1e5),
)
