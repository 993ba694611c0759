"""Settings of the engine model's tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
