"""A Headway server as the command sees it: bounded calls that end in JSON or in a plain reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engines.egress import EgressRules
from engines.http_get import GetFailed, Page, fetch
from engines.transport.base import HttpRequest
from engines.transport.httptools_stream import HttptoolsTransport

API = "/api/v1"
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_WORDS = {401: "not_authorised", 403: "not_authorised"}


class Away(Exception):  # noqa: N818 - a state of the server
    """No answer that says anything, now; the same call may be answered in a while."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Refused(Exception):  # noqa: N818 - what was done to the call
    """The same call would be refused again; ``word`` is the exit code's."""

    def __init__(self, word: str, lines: list[str]) -> None:
        super().__init__("; ".join(lines))
        self.word = word
        self.lines = lines


@dataclass(slots=True)
class Server:
    """``token`` goes into the Authorization header and nowhere else."""

    base: str
    token: str = field(repr=False)
    transport: HttptoolsTransport = field(
        default_factory=lambda: HttptoolsTransport(EgressRules.open())
    )

    async def get(self, path: str, *, within: float = 15.0) -> dict[str, Any]:
        return await self._ask("GET", path, b"", (), within)

    async def post(
        self, path: str, body: Mapping[str, Any], *, key: str = "", within: float = 30.0
    ) -> dict[str, Any]:
        """``key`` makes it safe to repeat: the server does it once."""
        more = (("Idempotency-Key", key),) if key else ()
        return await self._ask("POST", path, json.dumps(body).encode(), more, within)

    async def close(self) -> None:
        await self.transport.close()

    async def _ask(
        self, method: str, path: str, body: bytes, more: tuple[tuple[str, str], ...], within: float
    ) -> dict[str, Any]:
        headers = (
            ("Authorization", f"Bearer {self.token}"),
            ("Accept", "application/json"),
            *((("Content-Type", "application/json"),) if method == "POST" else ()),
            *more,
        )
        request = HttpRequest(method, f"{self.base}{API}{path}", headers, body)
        try:
            page = await fetch(request, self.transport, within=within)
        except GetFailed as error:
            raise Away(f"{self.base} gives no answer: {error}") from None
        except OSError as error:
            raise Away(f"{self.base} can't be reached: {error}") from None
        return self._read(page)

    def _read(self, page: Page) -> dict[str, Any]:
        said = _json(page)
        if page.status in _AGAIN:
            raise Away(f"{self.base} answers {page.status}: {_detail(said)}", _retry_after(page))
        if 200 <= page.status < 300 and said is not None:
            return said
        if 300 <= page.status < 400:
            where = page.headers.get("location", "")[:200]
            raise Refused("bad_configuration", [f"{self.base} redirects to {where}; give that"])
        if said is None:
            what = f"{self.base} answers {page.status} without JSON: is it a Headway server?"
            raise Refused("bad_configuration", [what])
        raise Refused(_word(page.status, said), _lines(said))


def _json(page: Page) -> dict[str, Any] | None:
    try:
        said = json.loads(page.body)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _word(status: int, said: Mapping[str, Any]) -> str:
    if str(said.get("type", "")).endswith(":target-not-allowed"):
        return "target_not_allowed"
    return _WORDS.get(status, "bad_configuration")


def _lines(said: Mapping[str, Any]) -> list[str]:
    """The problem document in words: each fault, or what it says of itself."""
    faults = said.get("errors")
    found = [
        str(one.get("detail"))
        for one in (faults if isinstance(faults, list) else [])
        if isinstance(one, dict)
    ]
    return found or [_detail(said)]


def _detail(said: Mapping[str, Any] | None) -> str:
    return str((said or {}).get("detail") or "no reason given")[:500]


def _retry_after(page: Page) -> float:
    text = page.headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isdecimal() else 0.0
