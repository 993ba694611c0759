"""Which client measured: the version that every report names."""

from __future__ import annotations

from importlib import metadata

_SOURCE = "0.1.0"
"""The version of a checkout that is not installed; a test holds it to pyproject.toml."""


def version() -> str:
    """The installed version, or the checkout's."""
    try:
        return metadata.version("headway")
    except metadata.PackageNotFoundError:
        return _SOURCE
