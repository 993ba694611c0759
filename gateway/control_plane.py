"""Where the control plane is, and how it is asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engines.egress import EgressDenied
from engines.http_get import GetFailed, Page, fetch
from engines.transport.base import HttpRequest, Transport

WITHIN = 10.0
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """One gateway's place in the API. The token never shows in a repr or a log."""

    url: str
    slug: str
    token: str = field(repr=False)
    transport: Transport = field(repr=False)
    clock: Clock = time.monotonic

    async def get(self, path: str, **headers: str) -> Page:
        """Any status is a page; Unreachable when there is none."""
        return await self._ask("GET", path, b"", headers)

    async def post(self, path: str, body: bytes) -> Page:
        """The same with a JSON body."""
        return await self._ask("POST", path, body, {"Content-Type": "application/json"})

    async def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Page:
        named = (("Authorization", f"Bearer {self.token}"), ("Accept", "application/json"))
        given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        url = f"{self.url.rstrip('/')}/api/v1/gateways/{self.slug}/{path}"
        request = HttpRequest(method, url, (*named, *given), body)
        try:
            return await fetch(request, self.transport, within=WITHIN, clock=self.clock)
        except (GetFailed, EgressDenied) as error:
            raise Unreachable(str(error)) from None


class Unreachable(Exception):  # noqa: N818 - reads as what it says
    """The control plane gave no answer."""
