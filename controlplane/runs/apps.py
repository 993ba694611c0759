"""Tells the catalogue that runs have something to say of a policy version."""

from django.apps import AppConfig


class Runs(AppConfig):
    name = "controlplane.runs"

    def ready(self) -> None:
        """Models can be imported only now."""
        from controlplane.catalogue import evidence  # noqa: PLC0415
        from controlplane.runs.evidence import SOURCE  # noqa: PLC0415

        evidence.add(self.name, SOURCE)
