"""The data directory: made for its owner alone, proved writable, held by one `headway up`."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotStart(Exception):  # noqa: N818 - it reads as what happened
    """Why nothing was started, in one line that says what to do."""


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Hold the directory; the kernel lets go when the process ends, however it ends."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_uid == os.geteuid():  # an earlier one, or a loose umask's
            path.chmod(0o700)
        (path / "logs").mkdir(exist_ok=True)
        handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotStart(
            f"can't write to the data directory {path} ({error.strerror}); "
            "give another with --data-dir"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise CannotStart(
            f"another headway up already uses {path}; stop it, or give another --data-dir"
        ) from None
    try:
        yield path
    finally:
        os.close(handle)
