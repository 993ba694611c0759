"""Looks at a database once before its migrations are run."""

from django.apps import AppConfig
from django.db.models.signals import pre_migrate

from controlplane.tables import refuse_older


class Teams(AppConfig):
    name = "controlplane.teams"

    def ready(self) -> None:
        """Sent for each app; one is enough."""
        pre_migrate.connect(refuse_older, sender=self)
