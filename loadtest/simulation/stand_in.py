"""What stands where a scenario names its endpoint, when the engine model answers instead."""

from __future__ import annotations

from typing import Any

from simulator.profile import Profile

NOWHERE = "http://model.invalid"
"""Nobody answers at that address: nothing is called."""


def endpoint_of(profile: Profile, name: str) -> dict[str, Any]:
    """The scenario's endpoint: ``name`` is what the profile is called, and part of the hash."""
    return {"base_url": NOWHERE, "model": profile.model, "kind": "simulated", "name": name}


def told(profile: Profile, name: str) -> dict[str, Any]:
    """The summary's ``model``, as far as the profile says: what it is, and how far off."""
    checked = "" if profile.checked else " It was not checked against an engine end to end."
    what = f"{profile.model} on {profile.tensor_parallel} × {profile.gpu}, {profile.engine}"
    return {
        "label": (
            f"A model, not a measurement: profile {name or 'given'} ({what}). "
            f"Stated error: {' '.join(profile.error.split())}{checked}"
        ),
        "profile": name,
        "gpu": profile.gpu,
        "model": profile.model,
        "engine": profile.engine,
        "checked": profile.checked,
        "mean_tpot_error_percent": profile.mean_error_percent,
        "error": profile.error,
    }
