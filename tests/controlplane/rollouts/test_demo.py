"""The demo team's second person: made once, with a password that its owner alone can read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.test import Client

from controlplane.rollouts import demo
from controlplane.teams.models import Membership, Team


@pytest.mark.django_db
def test_the_second_person_can_sign_in_and_approve_and_is_made_once(tmp_path: Path) -> None:
    Team.objects.create(name="platform", slug="platform")
    assert demo.load(tmp_path)
    kept = tmp_path / demo.PASSWORD_FILE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    password = kept.read_text().strip()
    assert Client().login(username=demo.NAME, password=password)
    assert Membership.objects.get().role == "approver"
    assert not demo.load(tmp_path)
    assert kept.read_text().strip() == password
