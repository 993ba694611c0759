"""Tells the catalogue which gates take a policy version."""

from django.apps import AppConfig


class Gates(AppConfig):
    name = "controlplane.gates"

    def ready(self) -> None:
        """Models can be imported only now."""
        from controlplane.catalogue import evidence  # noqa: PLC0415
        from controlplane.gates.evidence import SOURCE  # noqa: PLC0415

        evidence.add(self.name, SOURCE)
