"""Ports: whether one is free, and which one is."""

from __future__ import annotations

import socket


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    try:
        with _listening(host, port):
            return True
    except OSError:
        return False


def free_port(host: str = "127.0.0.1", *, preferred: int = 0) -> int:
    """A port that nothing listens on at this moment: the preferred one where it is free."""
    if preferred and is_free(host, preferred):
        return preferred
    with _listening(host, 0) as server:
        return int(server.getsockname()[1])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        # As servers do: a port in TIME_WAIT from the last start counts as free.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen(1)
    except OSError:
        server.close()
        raise
    return server
