"""The demo gateway is made once, with its secrets in files for their owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.management import call_command

from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.gateways import demo, feed, writing
from controlplane.gateways.models import Gateway, TenantKey
from controlplane.teams.models import ApiToken
from controlplane.teams.services import actor_for_secret

LANES = ("http://127.0.0.1:8102", "http://127.0.0.1:8103")
OWN = "http://127.0.0.1:8080"


@pytest.fixture
def _team(db: None) -> None:
    call_command("load_demo", user="ada", engine_url="http://127.0.0.1:8100")


def load(folder: Path, *, lanes: tuple[str, ...] = LANES) -> str:
    return demo.load(lane_urls=lanes, gateway_url=OWN, folder=folder)


@pytest.mark.usefixtures("_team")
def test_once_makes_all_and_twice_changes_nothing(tmp_path: Path) -> None:
    load(tmp_path)
    gateway = Gateway.objects.get()
    config = feed.config(gateway)
    assert [lane.name for lane in config.lanes] == ["p", "q"]
    assert config.policy.name == "fixed-32"
    key, token = ((tmp_path / name).read_text().strip() for name in ("demo_key", "gateway_token"))
    for name in ("demo_key", "gateway_token"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    actor = actor_for_secret(token)
    assert actor is not None
    assert actor.token is not None
    assert actor.token.scopes == ["gateway"]
    itself = Endpoint.objects.get(slug="demo-gateway")
    assert (itself.base_url, credential_of(itself).reveal()) == (OWN, key)
    assert load(tmp_path) == ""
    gateway.refresh_from_db()
    assert gateway.revision == 2  # the key
    assert (TenantKey.objects.count(), ApiToken.objects.count()) == (1, 1)


@pytest.mark.usefixtures("_team")
def test_engines_on_other_ports_move_their_lanes(tmp_path: Path) -> None:
    load(tmp_path)
    load(tmp_path, lanes=("http://127.0.0.1:9102", LANES[1]))
    (p, _q) = feed.config(Gateway.objects.get()).lanes
    assert p.endpoints[0].base_url.endswith("9102")


@pytest.mark.usefixtures("_team")
def test_a_secret_that_opens_nothing_any_more_is_made_anew(tmp_path: Path) -> None:
    load(tmp_path)
    before = (tmp_path / "demo_key").read_text()
    key = TenantKey.objects.get()
    writing.revoke_key(actor=demo._admin(), key=key)
    load(tmp_path)
    after = (tmp_path / "demo_key").read_text()
    assert after != before
    itself = Endpoint.objects.get(slug="demo-gateway")
    assert credential_of(itself).reveal() == after.strip()
