"""The page on the gateway names everything that the code can say or be told."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from engines.egress import EgressRules
from gateway import config_parts
from gateway.books import Books
from gateway.config import GatewayConfig
from gateway.engine import Means
from gateway.metrics import _STATE, render
from gateway.routing import Router
from gateway.spool import Spool
from gateway.telemetry import Telemetry
from tests.gateway.serving import config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gateway.md").read_text("utf-8")
PARTS = (
    "Listen", "EndpointConfig", "LaneConfig", "TenantConfig", "QueueRules", "UpstreamTimeouts",
    "ClientLimits", "CanaryConfig",
)  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_every_field_of_the_configuration_is_on_the_page(name: str) -> None:
    section = PAGE.split("\n## GatewayConfig\n")[1].split("\n## ")[0]
    fields = [field.name for field in dataclasses.fields(getattr(config_parts, name))]
    assert [field for field in fields if not re.search(rf"\b{field}\b", section)] == []
    own = [field.name for field in dataclasses.fields(GatewayConfig)]
    assert [field for field in own if f"`{field}`" not in section] == []


def test_every_code_of_a_refusal_is_on_the_page() -> None:
    source = "".join(path.read_text() for path in (ROOT / "gateway").rglob("*.py"))
    codes = set(re.findall(r"Refusal\(\s*\d{3},\s*\"(\w+)\"", source))
    codes |= set(re.findall(r"_contended\(\"(\w+)\"", source))
    assert len(codes) > 12
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()


def test_every_metric_is_on_the_page(tmp_path: Path) -> None:
    means = Means(lambda: 1.0, EgressRules.open(), np.random.default_rng(1), {})
    router = Router(config("http://127.0.0.1:9"), means)
    text = render(Books(None), router, dict.fromkeys(_STATE, 0.0), 1.0)
    names = set(re.findall(r"# TYPE headway_gateway_(\w+)", text))
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_every_key_of_a_batch_is_on_the_page(tmp_path: Path) -> None:
    means = Means(lambda: 1.0, EgressRules.open(), np.random.default_rng(1), {})
    router = Router(config("http://127.0.0.1:9"), means)
    spool = Spool(tmp_path)
    Telemetry(Books(None), router, spool, lambda: 1.0).collect()
    first = spool.first()
    assert first is not None
    keys = set(re.findall(r'"(\w+)":', first[1].decode()))
    assert keys
    assert {key for key in keys if f'"{key}"' not in PAGE} == set()
