"""`manage.py start_first_run`: a load test to look at for a fresh demo team; none for others."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from controlplane.catalogue.demo import TEAM
from controlplane.runs import launch, services
from controlplane.runs.models import Run
from controlplane.teams.models import Membership, Role, Team
from controlplane.teams.rights import Actor

FIRST_RUN: dict[str, Any] = {
    "endpoint": "embedded",
    "policy": "aimd-steady",
    "workload": "chat",
    "slo": "chat-interactive",
    "arrivals": {"process": "poisson", "rate": 10.0},
    "duration_s": 300,
    "warm_up_s": 20,
    "seed": 20417,
}


class Command(BaseCommand):
    help = (
        "Start the demo team's first load test and print its page, unless it has run one already."
    )

    def handle(self, **_options: Any) -> None:
        team = Team.objects.get(slug=TEAM)
        if Run.objects.for_team(team).exists():
            return
        member = Membership.objects.filter(team=team, role=Role.ADMIN).select_related("user")
        actor = Actor(member[0].user, team, Role.ADMIN)
        run = services.start(actor=actor, launch=launch.parse(team, FIRST_RUN))
        self.stdout.write(run.get_absolute_url())
