"""Secrets that outlive a restart: made once, kept in the data directory, readable by its owner."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def kept_secret(folder: Path, name: str, *, size: int = 32) -> str:
    """The secret of that name; made on first use with ``size`` random bytes, URL-safe text.

    Created with O_EXCL and mode 0600, so two starts can't make two and no other account reads it.
    """
    path = folder / name
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    made = secrets.token_urlsafe(size)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(made + "\n")
    return made
