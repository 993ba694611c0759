"""Tells the catalogue that rollouts have something to say of a policy version."""

from django.apps import AppConfig


class Rollouts(AppConfig):
    name = "controlplane.rollouts"

    def ready(self) -> None:
        """Models are loaded by now; before, nothing could import them."""
        from controlplane.catalogue import evidence  # noqa: PLC0415
        from controlplane.rollouts.evidence import SOURCE  # noqa: PLC0415

        evidence.add(self.name, SOURCE)
