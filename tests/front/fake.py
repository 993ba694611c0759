"""A server in the place of the product's: rendered pages, made-up frames, a scripted socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

STATIC = Path(__file__).resolve().parents[2] / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"
)


class Fake:
    """Everything a page asks for. Calls from the test's thread run on the server's own loop."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.backfill: Callable[[int], dict[str, Any] | None] = lambda _since: None
        self.preview: Callable[[], tuple[int, dict[str, Any]]] = lambda: (404, {})
        self.asked: list[int] = []
        self.refuse_sockets = False
        self.accepted = 0
        self.sockets: set[web.WebSocketResponse] = set()
        self.violations: list[str] = []
        self.origin = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])

    def __enter__(self) -> Fake:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    def send(self, *frames: dict[str, Any]) -> None:
        """To every open socket, in order, as fast as they take it."""

        async def each() -> None:
            for frame in frames:
                for socket in list(self.sockets):
                    await socket.send_json(frame)

        asyncio.run_coroutine_threadsafe(each(), self._loop).result(30)

    def drop(self) -> None:
        """Close every socket, as a restart of the server does."""

        async def each() -> None:
            for socket in list(self.sockets):
                await socket.close(code=1012)

        asyncio.run_coroutine_threadsafe(each(), self._loop).result(10)

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes(
            [
                web.static("/static", STATIC),
                web.get("/ws/runs/{run}/", self._socket),
                web.get("/runs/{run}/frames/", self._frames),
                web.post("/runs/preview/", self._preview),
                web.get("/{path:.*}", self._page),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        self.origin = f"http://127.0.0.1:{port}"
        self._ready.set()
        await self._stop.wait()
        for socket in list(self.sockets):
            await socket.close()
        await runner.cleanup()

    async def _page(self, request: web.Request) -> web.Response:
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404)
        headers = {"Content-Security-Policy": POLICY}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _frames(self, request: web.Request) -> web.Response:
        since = int(request.query["since"])
        self.asked.append(since)
        frame = self.backfill(since)
        if frame is None:
            return web.Response(status=503)
        return web.json_response(frame, headers={"Date": formatdate(usegmt=True)})

    async def _preview(self, request: web.Request) -> web.Response:
        await request.post()
        status, answer = self.preview()
        return web.json_response(answer, status=status)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_sockets:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.add(socket)
        self.accepted += 1
        try:
            async for message in socket:
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            self.sockets.discard(socket)
        return socket
