"""Whatever is sent as telemetry is a batch, or is refused with its place: nothing falls over."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.gateways.batches import read
from documents.problem import DocumentError
from measurement.outcome import Outcome
from tests.controlplane.gateways.saying import Process
from tests.gateway.serving import document, lane, policy, slo

AT = 1_795_970_040.0
STEADY, WIDE, THIRD = policy("steady", limit=4), policy("wide", limit=8), policy("third", limit=2)


def whole() -> dict[str, Any]:
    """A batch with something of each kind in it, as the gateway's own code made it."""
    canary = {
        "candidate": WIDE.sha256,
        "lanes": ["p", "q"],
        "seed": 1,
        "starts_at": AT,
        "blocks": 40,
        "slot_s": 10,
        "criteria": [{"name": "a", "kind": "attainment"}],
    }
    told = document(
        "http://127.0.0.1:9", policies=(STEADY, WIDE, THIRD), canary=canary, shadow=THIRD.sha256,
        lanes=[lane("p", "http://127.0.0.1:9"), lane("q", "http://127.0.0.1:9")],
        slo=slo(ttft_ms=500),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        process = Process(told, Path(folder), AT + 1)
        process.serve()
        process.serve(outcome=Outcome.SHED, ttft=None)
        process.until(AT + 3)
        batch = process.batch()
    batch["faults"] = [{"at": AT, "code": "config_refused", "problems": ["lanes: no"]}]
    batch["decisions"] = [
        {"lane": "p", "shadow": False, "at": AT, "point": "concurrency", "law": "aimd",
         "before": 1, "after": 2, "reason": "grown", "inputs": {"rtt": None}},
    ]  # fmt: skip
    return batch


BATCH = whole()
ODD = (None, True, -1, 2**70, 1.5, 1e300, "", "x" * 400, [], {}, [1], {"a": 1}, [[]], [None])
"""What may stand where something else should."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    if not isinstance(value, dict | list):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(one for key, item in inner for one in places(item, (*path, key)))]


PLACES = places(BATCH)


def test_the_gateways_own_batch_is_taken_whole() -> None:
    assert {"windows", "blocks", "shadow", "decisions", "faults"} <= {
        name for name, value in BATCH.items() if value
    }
    batch, windows = read(copy.deepcopy(BATCH), gateway="edge")
    assert len(windows) == len(batch.windows) > 0


@settings(deadline=None, max_examples=100)
@given(place=st.sampled_from(PLACES), value=st.sampled_from(ODD))
def test_any_change_of_it_is_taken_or_refused(place: tuple[Any, ...], value: Any) -> None:
    batch = copy.deepcopy(BATCH)
    if not place:
        batch = value
    else:
        holder = batch
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
    try:
        read_, windows = read(batch, gateway="edge")
    except DocumentError:
        return
    assert len(read_.windows) == len(windows)
