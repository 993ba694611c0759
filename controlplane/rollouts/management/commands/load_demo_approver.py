"""`manage.py load_demo_approver`: the demo team's second person. Run twice, it changes nothing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from controlplane.rollouts import demo


class Command(BaseCommand):
    help = "Add an account that may approve to the demo team, its password in the data directory."

    def handle(self, **_options: Any) -> None:
        made = demo.load(settings.DATA_DIR)
        self.stdout.write(f"Made the account {demo.NAME}." if made else "It is there already.")
