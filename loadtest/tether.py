"""What ends a run from outside: a signal, the end of stdin, or the death of the parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator

_LOOK_EVERY = 0.5


@contextlib.contextmanager
def stop_on_signals(stop: asyncio.Event, *, patience: int = 2) -> Iterator[None]:
    """SIGINT and SIGTERM set ``stop``; the ``patience``-th one takes the default way out."""
    loop = asyncio.get_running_loop()
    handled = (signal.SIGINT, signal.SIGTERM)
    seen = 0

    def on_signal() -> None:
        nonlocal seen
        seen += 1
        stop.set()
        if seen + 1 >= patience:
            for number in handled:
                loop.remove_signal_handler(number)

    for number in handled:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


async def stop_with_parent(
    stop: asyncio.Event, heard: Callable[[bytes], None] = lambda _: None
) -> None:
    """Set ``stop`` when stdin ends, where it is a pipe, or when another process adopts us.

    ``heard`` is handed what is written to that pipe.
    """
    parent = os.getppid()
    loop = asyncio.get_running_loop()
    tied = _is_tie(sys.stdin.fileno())
    if tied:
        loop.add_reader(sys.stdin.fileno(), _drain, stop, heard)
    try:
        while not stop.is_set():
            if os.getppid() != parent:
                stop.set()
            await asyncio.sleep(_LOOK_EVERY)
    finally:
        if tied:
            loop.remove_reader(sys.stdin.fileno())


def _is_tie(descriptor: int) -> bool:
    """Whether somebody holds the other end; /dev/null and files end at once and mean nothing."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _drain(stop: asyncio.Event, heard: Callable[[bytes], None]) -> None:
    """The end of what is written to us means stop."""
    try:
        said = os.read(sys.stdin.fileno(), 4096)
    except OSError:
        said = b""
    if said:
        heard(said)
    else:
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
