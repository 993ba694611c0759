"""`manage.py reseal`: after a new key stands first in HEADWAY_SEAL_KEY, seal all under it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from controlplane.catalogue.services import endpoints


class Command(BaseCommand):
    help = "Seal every stored credential under the first key of HEADWAY_SEAL_KEY."

    def handle(self, **_options: Any) -> None:
        self.stdout.write(f"{endpoints.reseal()} credentials were sealed under the new key")
