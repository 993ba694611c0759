"""The server's door: sockets only from our own pages."""

from __future__ import annotations

import uuid

import pytest
from asgiref.testing import ApplicationCommunicator

from controlplane.asgi import application
from controlplane.runs.consumers import NOT_FOUND, NOT_SIGNED_IN

OURS = b"http://localhost"
pytestmark = pytest.mark.django_db(transaction=True)


async def answers_to(origin: bytes | None, path: str = "") -> list[tuple[str, int | None]]:
    """What a socket that asks for some run's frames is told until it is closed."""
    headers = [(b"host", b"localhost")] + ([(b"origin", origin)] if origin else [])
    path = path or f"/ws/runs/{uuid.uuid4()}/"
    scope = {"type": "websocket", "path": path, "headers": headers, "query_string": b""}
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    told: list[tuple[str, int | None]] = []
    while not told or told[-1][0] != "websocket.close":
        answer = await socket.receive_output(5)
        told.append((answer["type"], answer.get("code")))
    socket.stop(exceptions=False)
    return told


@pytest.mark.parametrize("origin", [b"https://evil.example", b"http://localhost.evil", None])
async def test_a_socket_from_another_site_is_never_opened(origin: bytes | None) -> None:
    assert [kind for kind, _code in await answers_to(origin)] == ["websocket.close"]


async def test_a_stranger_on_our_own_page_is_told_to_sign_in() -> None:
    told = await answers_to(OURS)
    assert told == [("websocket.accept", None), ("websocket.close", NOT_SIGNED_IN)]


@pytest.mark.parametrize("path", ["/", "/ws/nothing/", "/ws/runs/1/"])
async def test_an_unknown_path_is_closed_with_a_code(path: str) -> None:
    told = await answers_to(OURS, path)
    assert told == [("websocket.accept", None), ("websocket.close", NOT_FOUND)]
