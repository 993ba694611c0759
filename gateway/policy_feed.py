"""The feed: configurations from the control plane, the last good one kept, on disk too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from gateway.config import GatewayConfig
from gateway.config_reader import parse
from gateway.control_plane import ControlPlane, Unreachable
from gateway.spool import write_whole

EVERY = 2.0
SLOWEST = 15.0

log = logging.getLogger("headway.gateway")


class ConfigFile:
    """The last good configuration, with the ETag that it came under."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> tuple[GatewayConfig, str] | None:
        """What was kept; None when nothing was, or it can't be read any more."""
        try:
            kept = json.loads(self._path.read_bytes())
            return parse(kept["document"]), str(kept["etag"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the kept configuration can't be used: %s", error)
            return None

    def keep(self, config: GatewayConfig, etag: str) -> None:
        """Keep it, whole or not at all."""
        kept = {"etag": etag, "document": config.to_document()}
        write_whole(self._path, json.dumps(kept).encode())


@dataclass(frozen=True, slots=True)
class FeedFault:
    """A configuration that was refused, and why; telemetry reports it."""

    at: float
    code: str
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As telemetry sends it."""
        return {"at": self.at, "code": self.code, "problems": list(self.problems)}


class PolicyFeed:
    """Asks for the configuration, and hands on a good one that differs from the last."""

    def __init__(
        self,
        control_plane: ControlPlane,
        kept: ConfigFile,
        clock: Callable[[], float],
        adopt: Callable[[GatewayConfig], None],
    ) -> None:
        self._control_plane = control_plane
        self._kept = kept
        self._clock = clock
        self._adopt = adopt
        self._etag = ""
        self.serving: str | None = None
        """Hash of the configuration handed on last."""
        self.heard_at: float | None = None
        """When the control plane last answered."""
        self.silent = 0
        """Polls in a row without an answer."""
        self.refused = 0
        self.faults: list[FeedFault] = []
        """Refusals not reported yet."""

    def resume(self) -> bool:
        """Serve by what was kept, if it is of use: a start without the control plane."""
        found = self._kept.load()
        if found is None:
            return False
        config, self._etag = found
        self.serving = config.sha256
        self._adopt(config)
        return True

    async def poll(self) -> None:
        """Ask once. Whatever comes, what serves now goes on serving until a good one is there."""
        headers = {"If_None_Match": self._etag} if self._etag else {}
        try:
            page = await self._control_plane.get("config", **headers)
        except Unreachable as error:
            self._unheard(str(error))
            return
        if page.status == 304:
            self._heard()
        elif page.status == 200:
            self._heard()
            self._etag = page.headers.get("etag", "")
            self._take(page.body)
        else:
            self._unheard(f"HTTP {page.status}")

    def delay(self) -> float:
        """Seconds until the next poll: longer while nothing answers."""
        return min(SLOWEST, EVERY * 2.0 ** min(self.silent, 4)) if self.silent else EVERY

    def _take(self, body: bytes) -> None:
        try:
            config = _own(body, self._control_plane.slug)
        except DocumentError as error:
            self._refuse(error)
            return
        if config.sha256 != self.serving:
            self._adopt(config)
            self.serving = config.sha256
        self._kept.keep(config, self._etag)

    def _refuse(self, error: DocumentError) -> None:
        self.refused += 1
        problems = tuple(str(problem)[:300] for problem in error.problems[:20])
        log.error("a configuration was refused; the last good one serves on: %s", problems[0])
        self.faults.append(FeedFault(self._clock(), "config_refused", problems))

    def _heard(self) -> None:
        self.heard_at = self._clock()
        self.silent = 0

    def _unheard(self, why: str) -> None:
        self.silent += 1
        if self.silent == 1:
            log.warning("the control plane does not answer: %s", why)


def _own(body: bytes, slug: str) -> GatewayConfig:
    config = parse(_decoded(body))
    if config.gateway != slug:
        message = f"is another gateway's; this one is {slug}"
        raise DocumentError([Problem("gateway", config.gateway, message)])
    return config


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DocumentError([Problem("", "…", f"is no JSON: {error}")]) from None
