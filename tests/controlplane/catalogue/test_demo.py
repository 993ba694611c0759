"""`load_demo` makes what is missing and nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from controlplane.catalogue import demo
from controlplane.catalogue.models import Endpoint, Policy, PolicyVersion, Slo, Tenant, Workload
from controlplane.teams.models import Membership, User

URL = "http://127.0.0.1:8100"
pytestmark = pytest.mark.django_db


def counts() -> dict[str, int]:
    kinds = (User, Membership, Endpoint, Tenant, Slo, Policy, PolicyVersion, Workload)
    return {kind.__name__: kind.objects.count() for kind in kinds}


def test_once_makes_all_and_twice_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_demo", user="ada", engine_url=URL)
    first = counts()
    assert Membership.objects.get().role == "admin"
    assert set(Tenant.objects.values_list("slug", "tier")) == {
        ("assistant", "vip"),
        ("support-bot", "normal"),
        ("nightly-eval", "batch"),
    }
    assert Slo.objects.filter(slug="chat-interactive").exists()
    assert set(Policy.objects.values_list("slug", flat=True)) >= set(demo.POLICIES)
    call_command("load_demo", user="ada", engine_url=URL)
    assert counts() == first
    assert "there already" in capsys.readouterr().out


def test_an_engine_on_another_port_moves_its_endpoint() -> None:
    demo.load(user="ada", password=None, engine_url=URL)
    told = demo.load(user="ada", password=None, engine_url="http://127.0.0.1:8200")
    assert told.endswith("embedded (moved)")
    assert Endpoint.objects.get().base_url == "http://127.0.0.1:8200"


def test_a_password_is_set_once_and_never_overwritten(settings: Any) -> None:
    demo.load(user="ada", password="first-pass-phrase", engine_url=URL)
    demo.load(user="ada", password="second-pass-phrase", engine_url=URL)
    assert User.objects.get().check_password("first-pass-phrase")


def test_without_a_password_nobody_can_sign_in() -> None:
    demo.load(user="ada", password=None, engine_url=URL)
    assert not User.objects.get().has_usable_password()


def test_a_real_engine_is_added_when_it_has_an_address() -> None:
    demo.load(user="ada", password=None, engine_url=URL, llamacpp=("http://127.0.0.1:1999", "m"))
    assert Endpoint.objects.get(slug="llamacpp").kind == "llamacpp"
