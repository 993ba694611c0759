"""Tells the catalogue that runs have something to say of a policy version."""

from django.apps import AppConfig


class Runs(AppConfig):
    name = "controlplane.runs"

    def ready(self) -> None:
        """Models are loaded by now; before, nothing could import them."""
        from controlplane.catalogue import evidence
        from controlplane.runs.evidence import SOURCE

        evidence.add(self.name, SOURCE)
