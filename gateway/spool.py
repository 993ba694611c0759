"""Batches on disk until they are acknowledged: in order, bounded, numbered for ever.

One file a batch, named by its sequence number. The stream's own random name goes with the numbers,
so that a lost disk begins another stream and never repeats a number with other content.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
from collections import deque
from pathlib import Path

log = logging.getLogger("headway.gateway")

BOUND = 64 * 2**20
"""Bytes that are kept; over it the oldest batches are dropped, and counted."""


class Spool:
    """A first-in, first-out buffer that outlives the process."""

    def __init__(self, folder: Path, *, bound: int = BOUND) -> None:
        self._folder = folder
        self._bound = bound
        folder.mkdir(parents=True, exist_ok=True)
        self.stream = self._name()
        found = sorted(
            (int(path.stem), path.stat().st_size)
            for path in folder.glob("*.json")
            if path.stem.isdigit()
        )
        self._waiting = deque(found)
        self._size = sum(size for _, size in found)
        self.dropped = 0
        """Batches dropped since the process began."""
        self._last = max([self._mark(), *(number for number, _ in found)])

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def next(self) -> int:
        """The number of the next batch."""
        return self._last + 1

    def add(self, batch: bytes) -> int:
        """Keep a batch under the next number; one that can't be written is dropped, and counted."""
        number = self.next
        try:
            write_whole(self._path(number), batch)
        except OSError as error:
            log.error("telemetry can't be kept: %s", error)  # noqa: TRY400 - the disk says it all
            self.dropped += 1
            return number
        self._last = number
        self._waiting.append((number, len(batch)))
        self._size += len(batch)
        while self._size > self._bound and len(self._waiting) > 1:
            self._forget()
            self.dropped += 1
        return number

    def first(self) -> tuple[int, bytes] | None:
        """The oldest batch; None when all are gone."""
        while self._waiting:
            number = self._waiting[0][0]
            try:
                return number, self._path(number).read_bytes()
            except OSError:  # somebody removed it: it can't be sent, and must not stand in the way
                self._forget()
                self.dropped += 1
        return None

    def done(self, number: int) -> None:
        """Batches up to this number have arrived."""
        while self._waiting and self._waiting[0][0] <= number:
            self._forget()

    def refuse(self) -> None:
        """The oldest batch will never be taken: drop it."""
        self._forget()
        self.dropped += 1

    def _forget(self) -> None:
        number, size = self._waiting.popleft()
        self._size -= size
        if not self._waiting:  # the last file carries the count of numbers; hand it on first
            write_whole(self._folder / "last", b"%d" % self._last)
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:010d}.json"

    def _mark(self) -> int:
        try:
            return int((self._folder / "last").read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def _name(self) -> str:
        path = self._folder / "stream"
        try:
            return path.read_text().strip()
        except FileNotFoundError:
            name = secrets.token_hex(8)
            write_whole(path, name.encode())
            return name


class InUse(OSError):  # noqa: N818 - reads as what happened
    """Another process keeps its state there."""


def hold(folder: Path) -> int:
    """Take a state folder for this process alone; the handle that holds it until it is closed."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        message = f"{folder} is in use by another gateway; give each its own --state-dir"
        raise InUse(message) from None
    return handle


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is never seen half written."""
    part = path.with_name(f".{path.name}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    part.replace(path)
