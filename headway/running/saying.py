"""Text to a stream that may be closed, full or a pipe nobody reads: it never ends a load test, and
never keeps one from its end."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from typing import TextIO

from loadtest.printable import printable

PATIENCE = 60.0
"""Seconds without a byte taken after which a reader is waited for no longer. A terminal is a
person, who may have halted it to read."""


def say(text: str, stream: TextIO | None, *, patience: float = PATIENCE) -> Exception | None:
    """Write and flush; what stood in the way, if anything did. After that the stream is mute."""
    if stream is None:  # its descriptor was closed when the interpreter started
        return None
    try:
        try:
            number = stream.fileno()
        except (OSError, ValueError):  # no descriptor, so nobody to wait for
            stream.write(text)
        else:
            stream.flush()
            _write(number, _encoded(text, stream), patience)
    except (OSError, ValueError) as error:
        mute(stream)
        return error
    return None


def _encoded(text: str, stream: TextIO) -> bytes:
    try:
        return text.encode(stream.encoding, stream.errors or "strict")
    except UnicodeEncodeError:
        return text.encode(stream.encoding, "backslashreplace")


def _write(number: int, data: bytes, patience: float) -> None:
    """In pieces that a pipe takes whole or not at all: a larger one would wait in the kernel."""
    within = None if os.isatty(number) else patience
    while data:
        if not select.select([], [number], [], within)[1]:
            raise TimeoutError(f"whoever should read it took nothing for {patience:g} s")
        with contextlib.suppress(BlockingIOError):  # another one wrote first
            data = data[os.write(number, data[: select.PIPE_BUF]) :]


def report(text: str, *, name: str, kept: str = "", patience: float = PATIENCE) -> bool:
    """A command's result on stdout; whether its reader got what it wanted.

    ``kept`` says where the same is all the same ("it is in run-1/summary.json").
    """
    failure = say(text, sys.stdout, patience=patience)
    if failure is None or isinstance(failure, BrokenPipeError):  # as ``head`` does
        return True
    why = f"headway {name}: the report can't be written: {failure}"
    tell(printable(f"{why}; {kept}" if kept else why) + "\n", sys.stderr)
    return False


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


def mute(stream: TextIO) -> None:
    """Let go of its reader: what is still in its buffer must not fail again at exit, which would
    change the exit code."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
