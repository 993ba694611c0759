"""A viewer on a socket, against the ASGI application itself."""

from __future__ import annotations

from typing import Any

from asgiref.testing import ApplicationCommunicator

from controlplane.asgi import application

TIMEOUT = 30.0


class Viewer:
    """One WebSocket connection, with the headers a browser sends."""

    def __init__(self, path: str, *, cookies: str, origin: str) -> None:
        self._talk = ApplicationCommunicator(
            application,
            {
                "type": "websocket",
                "path": path,
                "query_string": b"",
                "headers": [
                    (b"host", b"localhost"),
                    (b"origin", origin.encode()),
                    (b"cookie", cookies.encode()),
                ],
                "subprotocols": [],
            },
        )

    async def connect(self) -> bool:
        """Whether the server took the connection."""
        await self._talk.send_input({"type": "websocket.connect"})
        return (await self._talk.receive_output(TIMEOUT))["type"] == "websocket.accept"

    async def hear(self) -> dict[str, Any]:
        """The next thing the server does: a message or a close."""
        return await self._talk.receive_output(TIMEOUT)

    async def say(self, text: str) -> None:
        await self._talk.send_input({"type": "websocket.receive", "text": text})

    async def leave(self) -> None:
        await self._talk.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._talk.wait(TIMEOUT)
