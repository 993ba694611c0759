"""How a gateway stands, in one word, one sentence and what to do: the bar of its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways import feed
from controlplane.gateways.models import Gateway, GatewayFault, GatewayProcess
from controlplane.gateways.recent import Recent
from controlplane.gateways.waiting import STALE_AFTER, stalled
from controlplane.runs import phrases
from documents.problem import DocumentError

LATE_AFTER = 15.0
"""Seconds that a new revision may take; a process asks every 2 s."""


@dataclass(frozen=True, slots=True)
class State:
    """``outcome`` is a word of the visual language; the rest is for people."""

    outcome: str
    word: str
    state: str
    because: str
    detail: str = ""

    def to_json(self) -> dict[str, str]:
        """As the bar takes it."""
        return {
            "outcome": self.outcome,
            "word": self.word,
            "state": self.state,
            "because": self.because,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class Facts:
    """What the state is read from."""

    gateway: Gateway
    wanted: str
    """Hash of the configuration that it should serve by; empty where there can be none."""
    refused: str
    """Why there can be none."""
    processes: Sequence[GatewayProcess]
    fault: GatewayFault | None
    """The newest refusal since the wanted revision was made."""
    recent: Recent
    now: datetime

    @property
    def age(self) -> float:
        seen_at = self.gateway.seen_at
        return 0.0 if seen_at is None else (self.now - seen_at).total_seconds()

    @property
    def waited(self) -> float:
        return (self.now - self.gateway.published_at).total_seconds()

    @property
    def behind(self) -> int:
        """Live processes that serve by another configuration."""
        return sum(one.config_sha256 != self.wanted for one in self.processes)


def facts(
    gateway: Gateway, processes: Sequence[GatewayProcess], recent: Recent, now: datetime
) -> Facts:
    """From the database."""
    wanted = refused = ""
    try:
        wanted = feed.config(gateway).sha256
    except DocumentError as error:
        refused = str(error.problems[0])
    newest = GatewayFault.objects.filter(gateway=gateway, heard_at__gte=gateway.published_at)
    return Facts(gateway, wanted, refused, processes, newest.first(), recent, now)


def state(seen: Facts) -> State:
    """The first that holds, the worst first."""
    for rule in (_never, _silent, _refusing, _late, _unreachable, _stalled, _missing):
        found = rule(seen)
        if found is not None:
            return found
    taking = _("taking revision %(n)s") if seen.behind else _("revision %(n)s")
    return State("pass", _("Serving"), taking % _n(seen), _serving(seen), _beside(seen))


def _n(seen: Facts) -> dict[str, int]:
    return {"n": seen.gateway.revision}


def _never(seen: Facts) -> State | None:
    if seen.gateway.seen_at is not None:
        return None
    if seen.refused:
        why = _("Nobody could ask it anything: it has no key and no anonymous tenant. Make a key.")
        return State("none", _("Not ready"), _("no key yet"), why)
    why = _("No process has reported yet. Start one with the command below and a gateway token.")
    return State("none", _("Never heard"), _("nothing runs"), why)


def _silent(seen: Facts) -> State | None:
    if seen.age <= STALE_AFTER:
        return None
    why = _(
        "Silent because no telemetry has come for %(age)s. It may well serve on by the last "
        "configuration that it took; what is shown below is the last that was known."
    ) % {"age": phrases.clock(seen.age)}
    return State(
        "inconclusive", _("Silent"), _("revision %(n)s wanted") % _n(seen), why, _beside(seen)
    )


def _refusing(seen: Facts) -> State | None:
    if not seen.behind or seen.fault is None:
        return None
    why = _("Refusing because %(why)s The last good revision serves on.") % {
        "why": seen.fault.problems[0] if seen.fault.problems else seen.fault.code
    }
    state_ = _("refuses revision %(n)s") % _n(seen)
    return State("fail", _("Refuses"), state_, why, _serving(seen))


def _late(seen: Facts) -> State | None:
    if not seen.behind or seen.waited <= LATE_AFTER:
        return None
    why = _(
        "Behind because %(behind)s of %(all)s processes still serve by another configuration, "
        "%(waited)s after revision %(n)s was made. See that they reach this server with a token "
        "that may."
    ) % {
        "behind": seen.behind,
        "all": len(seen.processes),
        "waited": phrases.clock(seen.waited),
        **_n(seen),
    }
    return State("inconclusive", _("Behind"), _("revision %(n)s wanted") % _n(seen), why)


def _unreachable(seen: Facts) -> State | None:
    down = sorted(
        {
            lane["lane"]
            for process in seen.processes
            for lane in process.lanes
            if lane["endpoints"] and not any(end["up"] for end in lane["endpoints"])
        }
    )
    if not down:
        return None
    why = _("Failing because no endpoint of lane %(lanes)s can be reached.") % {
        "lanes": ", ".join(down)
    }
    return State("fail", _("No endpoint"), _("revision %(n)s") % _n(seen), why, _serving(seen))


def _stalled(seen: Facts) -> State | None:
    """Requests count when they end, and engines that say nothing end none."""
    lanes = [lane for one in seen.processes for lane in one.lanes if stalled(lane)]
    if not lanes:
        return None
    why = _(
        "Failing because no byte has come from the engines of lane %(lanes)s for %(quiet)s, "
        "while %(n)s that wait there have missed their objective already, the oldest for "
        "%(oldest)s. See whether the engines still work."
    ) % {
        "lanes": ", ".join(sorted({lane["lane"] for lane in lanes})),
        "quiet": phrases.clock(max(lane["quiet_s"] for lane in lanes)),
        "n": phrases.count(sum(lane["overdue"] for lane in lanes), "request"),
        "oldest": phrases.clock(max(lane["oldest_s"] for lane in lanes)),
    }
    return State("fail", _("Stalled"), _("revision %(n)s") % _n(seen), why, _serving(seen))


def _missing(seen: Facts) -> State | None:
    """The objective, when even the interval's better end misses it."""
    slo, share = seen.recent.slo, seen.recent.attainment
    if slo is None or not share.n:
        return None
    _low, high = share.interval()
    if high is None or high >= slo.target:
        return None
    why = _(
        "Missing because %(share)s %% of %(n)s requests met every objective in the last "
        "%(span)s, where %(target)s %% must."
    ) % {
        "share": phrases.share(share.value),
        "n": phrases.number(share.n),
        "span": seen.recent.span,
        "target": phrases.share(slo.target),
    }
    word = _("Misses its SLO")
    return State("fail", word, _("revision %(n)s") % _n(seen), why, _serving(seen))


def _serving(seen: Facts) -> str:
    running = {lane["policy"] for process in seen.processes for lane in process.lanes}
    named = ", ".join(name_of(seen.gateway, policy) for policy in sorted(running))
    return _("%(rate)s req/s on %(lanes)s under %(policy)s; %(processes)s.") % {
        "policy": named or "–",
        "rate": phrases.number(seen.recent.rate, 1),
        "lanes": phrases.count(len({row.name for row in seen.gateway.lane_rows.all()}), "lane"),
        "processes": phrases.count(len(seen.processes), "process", "processes"),
    }


def _beside(seen: Facts) -> str:
    """What is tried beside, how far it is, and what is not known."""
    gateway = seen.gateway
    said = []
    if gateway.canary is not None and gateway.canary_version is not None:
        canary = gateway.canary
        done = (seen.now.timestamp() - canary["starts_at"]) / canary["slot_s"]
        block = max(0, min(int(done) + 1, canary["blocks"]))
        said.append(
            _("Canary %(name)s: block %(block)s of %(blocks)s, %(weight)s %% of requests.")
            % {
                "name": name_of(gateway, gateway.canary_version.sha256),
                "block": block,
                "blocks": canary["blocks"],
                "weight": phrases.share(canary["weight"], 0),
            }
        )
    if gateway.shadow_version is not None:
        name = name_of(gateway, gateway.shadow_version.sha256)
        said.append(_("Shadow %(name)s decides beside it.") % {"name": name})
    lost = sum(process.dropped for process in seen.processes)
    if lost:
        told = _("%(n)s of telemetry were lost: the numbers below lack them.")
        said.append(told % {"n": phrases.count(lost, "batch", "batches")})
    return " ".join(said)


def name_of(gateway: Gateway, sha256: str) -> str:
    """``steady@878216e0730a``; a version that is none of the gateway's own by its hash alone."""
    own = (gateway.active_version, gateway.canary_version, gateway.shadow_version)
    for version in own:
        if version is not None and version.sha256 == sha256:
            return f"{version.line.name}@{sha256[:12]}"
    found = PolicyVersion.objects.filter(line__team=gateway.team_id, sha256=sha256)
    version = found.select_related("line").first()
    return f"{version.line.name}@{sha256[:12]}" if version else sha256[:12]
