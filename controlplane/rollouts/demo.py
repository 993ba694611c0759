"""The demo team's second person: whoever proposes a rollout can't approve it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.db import transaction

from controlplane.audit import services as audit
from controlplane.catalogue.demo import TEAM
from controlplane.teams.models import Membership, Role, Team, User

NAME = "approver"
PASSWORD_FILE = "approver_password"  # noqa: S105 - a file's name


def load(folder: Path) -> bool:
    """An account with the role approver, its password in a file that its owner alone can read.

    False where there is one already; a password that was changed since is not touched.
    """
    if User.objects.filter(username=NAME).exists():
        return False
    password = secrets.token_urlsafe(12)
    path = folder / PASSWORD_FILE
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(password + "\n")
    team = Team.objects.get(slug=TEAM)
    with transaction.atomic():
        user = User.objects.create_user(NAME, password=password)
        member = Membership.objects.create(team=team, user=user, role=Role.APPROVER)
        audit.record(
            team_id=team.pk,
            actor="installation",
            verb="add_member",
            kind="membership",
            object_id=member.pk,
            name=NAME,
            detail={"role": Role.APPROVER.value},
        )
    return True
