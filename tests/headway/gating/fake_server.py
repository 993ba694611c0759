"""A server that answers as it is told, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.loadtest.gate_reports.builders import gate_run

RUN = "0198c0de-0000-7000-8000-000000000001"


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: Any


def live(**changes: Any) -> dict[str, Any]:
    """A gate's run that has not ended."""
    nothing = {"outcome": None, "exit_code": None, "because": "", "status": "running"}
    return gate_run() | {"id": RUN, "so_far": None} | nothing | changes


def over(outcome: str, code: int, **changes: Any) -> dict[str, Any]:
    """One that has."""
    return gate_run(outcome) | {"id": RUN, "exit_code": code} | changes


class FakeServer:
    """``posts`` and ``gets`` are (status, JSON, headers) in order; the last one stays."""

    def __init__(self, *, posts: list[Any] | None = None, gets: list[Any] | None = None) -> None:
        self.posts = posts or [(202, live(), {})]
        self.gets = gets or [(200, over("pass", 0), {})]
        self.asked: list[Asked] = []
        self.cancelled = threading.Event()
        self.polled = threading.Event()

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.polled.set()
                self._answer(outer.gets)

            def do_POST(self) -> None:
                if self.path.endswith("/cancel"):
                    outer.cancelled.set()
                    self._answer([(202, {}, {})])
                else:
                    self._answer(outer.posts)

            def _answer(self, script: list[Any]) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or b"null")
                outer.asked.append(Asked(self.command, self.path, dict(self.headers), body))
                status, said, headers = script.pop(0) if len(script) > 1 else script[0]
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its signature
                """Tests are quiet."""

        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._httpd.daemon_threads = True
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._httpd.server_address[1]}"
