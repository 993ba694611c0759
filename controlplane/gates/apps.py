"""Tells the catalogue which gates take a policy version."""

from django.apps import AppConfig


class Gates(AppConfig):
    name = "controlplane.gates"

    def ready(self) -> None:
        """Models are loaded by now; before, nothing could import them."""
        from controlplane.catalogue import evidence
        from controlplane.gates.evidence import SOURCE

        evidence.add(self.name, SOURCE)
