"""Text to a stream that may be closed, full or a pipe nobody reads: it never ends a load test."""

from __future__ import annotations

import contextlib
import os
import select
from typing import TextIO


def say(text: str, stream: TextIO | None) -> Exception | None:
    """Write and flush; what stood in the way, if anything did. After that the stream is mute."""
    if stream is None:  # its descriptor was closed when the interpreter started
        return None
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:
            stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
        stream.flush()
    except (OSError, ValueError) as error:
        _mute(stream)
        return error
    return None


def would_wait(stream: TextIO | None) -> bool:
    """Whether a line written now would wait for whoever reads: a full pipe, a halted terminal."""
    try:
        return stream is not None and not select.select([], [stream.fileno()], [], 0)[1]
    except (OSError, ValueError):  # no descriptor, or a closed one: writing tells
        return False


def tell(text: str, stream: TextIO | None) -> None:
    """Say what may be missed: nobody who reads is waited for."""
    if not would_wait(stream):
        say(text, stream)


def hold_descriptors() -> None:
    """Keep 0, 1 and 2 from becoming a socket or a file of the run where they were closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free, so this one


def _mute(stream: TextIO) -> None:
    """What is still in its buffer must not fail again at exit, which would change the exit code."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
