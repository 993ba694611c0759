"""Telemetry: what the books say, as numbered batches, to the control plane in order."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from gateway.assignment import Arm
from gateway.books import Books
from gateway.config_checks import ENFORCED
from gateway.control_plane import ControlPlane, Unreachable
from gateway.engine import Engine
from gateway.lane import Lane
from gateway.lane_shadow import report_json
from gateway.policy_feed import PolicyFeed
from gateway.routing import Router
from gateway.spool import Spool
from schedulers.runtime.shadow import ShadowReport

API_VERSION = "headway/v1"
KIND = "GatewayTelemetry"
SLOWEST = 30.0
_LATER = (401, 403, 404, 408, 425, 429)
"""Refusals that another try may overcome."""

log = logging.getLogger("headway.gateway")


class Telemetry:
    """Collects a batch a second into the spool, and empties the spool while somebody takes it."""

    def __init__(
        self,
        books: Books,
        router: Router,
        spool: Spool,
        clock: Callable[[], float],
        feed: PolicyFeed | None = None,
    ) -> None:
        self._books = books
        self._router = router
        self._spool = spool
        self._clock = clock
        self._feed = feed
        self.boot = secrets.token_hex(8)
        """Names this process: windows of two processes merge, and never overwrite each other."""
        self.failures = 0

    def collect(self, *, last: bool = False) -> None:
        """Keep a batch of what changed, and of how the lanes stand."""
        now = self._clock()
        windows = self._books.finish(now) if last else self._books.changed(now)
        batch: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "gateway": self._router.config.gateway,
            "stream": self._spool.stream,
            "sequence": self._spool.next,
            "boot": self.boot,
            "at": now,
            "revision": self._router.config.revision,
            "config_sha256": self._router.config.sha256,
            "enforced": [str(point) for point in ENFORCED],
            "windows": [
                {
                    "arm": str(key.arm),
                    "policy": key.policy,
                    "tenant": key.tenant,
                    "slo": key.slo or None,
                    "window": window.to_json(),
                }
                for key, window in windows
            ],
            "blocks": [count.to_json() for count in self._books.changed_blocks(now)],
            "lanes": [self._lane(lane, now) for lane in self._router.lanes.values()],
            "canary": self._router.canary,
            "shadow": self._shadows(),
            "decisions": self._decisions(),
            "faults": self._faults(),
            "dropped": self._spool.dropped,
            "last": last,
        }
        self._spool.add(msgspec.json.encode(batch))

    async def send(self, control_plane: ControlPlane) -> bool:
        """Send the oldest batch; whether it went and another may follow."""
        first = self._spool.first()
        if first is None:
            return False
        number, batch = first
        try:
            page = await control_plane.post("telemetry", batch)
        except Unreachable as error:
            self._failed(str(error))
            return False
        if 200 <= page.status < 300:
            self.failures = 0
            self._spool.done(max(number, self._acknowledged(page.body)))
            return True
        if 400 <= page.status < 500 and page.status not in _LATER:
            log.error("telemetry batch %d was refused with HTTP %d", number, page.status)
            self._spool.refuse()
            return True
        self._failed(f"HTTP {page.status}")
        return False

    def delay(self) -> float:
        """Seconds until the next try after a failure."""
        return min(SLOWEST, 2.0 ** min(self.failures, 5))

    def _acknowledged(self, body: bytes) -> int:
        """The highest number that has arrived: an answer that got lost costs no second send."""
        try:
            answer = json.loads(body)
            if answer["stream"] == self._spool.stream:
                return min(int(answer["acknowledged"]), self._spool.next - 1)
        except (ValueError, KeyError, TypeError):
            pass
        return 0

    def _failed(self, why: str) -> None:
        self.failures += 1
        if self.failures == 1:
            log.warning("telemetry is kept on disk: %s", why)

    def _lane(self, lane: Lane, now: float) -> dict[str, Any]:
        arm: Arm = self._router.arm_of(lane)
        stands = lane.waits.standing(now, self._router.config.slo)
        return {
            "lane": lane.name,
            "arm": str(arm),
            "policy": lane.policy.sha256,
            "block": self._router.block,
            "limit": lane.limiter.limit,
            "in_flight": lane.limiter.in_flight,
            "waiting": lane.waiting,
            "overdue": stands.overdue,
            "oldest_s": round(stands.oldest_s, 3),
            "quiet_s": round(stands.quiet_s, 3),
            "overdue_by": stands.by,
            "overdue_tenants": stands.tenants,
            "deciding_seconds": lane.deciding_seconds,
            "endpoints": [_endpoint(engine) for engine in lane.engines],
        }

    def _decisions(self) -> list[dict[str, Any]]:
        said = []
        for lane in self._router.lanes.values():
            while lane.decisions:
                decision = lane.decisions.popleft().to_json()
                said.append({"lane": lane.name, "shadow": False, **decision})
            while lane.shadow.decisions:
                decision = lane.shadow.decisions.popleft().to_json()
                said.append({"lane": lane.name, "shadow": True, **decision})
        return said

    def _shadows(self) -> list[dict[str, Any]]:
        """One report a lane; of a shadow that failed, why."""
        return [
            {
                "lane": lane.name,
                "policy": lane.shadow.policy.sha256,
                "report": report_json(lane.shadow.report or ShadowReport()),
                "deciding_seconds": lane.shadow.deciding_seconds,
                "fault": lane.shadow.fault or None,
            }
            for lane in self._router.lanes.values()
            if lane.shadow.policy is not None
        ]

    def _faults(self) -> list[dict[str, Any]]:
        if self._feed is None:
            return []
        faults, self._feed.faults = self._feed.faults, []
        return [fault.to_json() for fault in faults]


def _endpoint(engine: Engine) -> dict[str, Any]:
    return {"name": engine.config.name, "up": engine.up, "in_flight": engine.in_flight}
