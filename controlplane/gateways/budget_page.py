"""Error budgets as people read them: each in one row, with the sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from controlplane.audit.models import AuditEntry
from controlplane.gateways import budgets
from controlplane.gateways.models import Gateway, GatewayBudget
from controlplane.gateways.waiting import Doubt
from controlplane.runs import phrases
from measurement.burn_rate import LEAST_HEARD, LEAST_MISSED, Standing, State
from measurement.objectives import METRICS
from measurement.slo import Slo

TONES = {
    Standing.PAGE: ("fail", gettext_lazy("Page")),
    Standing.TICKET: ("warn", gettext_lazy("Ticket")),
    Standing.UNKNOWN: ("inconclusive", gettext_lazy("Unknown")),
    Standing.OK: ("pass", gettext_lazy("OK")),
    Standing.IDLE: ("none", gettext_lazy("Idle")),
}
"""Shape and word of each state, the worst first."""
ORDER = tuple(TONES)
HUES = ("s1", "s3", "s5", "s2")
"""All objectives at once, then each in its order; what is beyond is grey."""
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
CHANGES = 10
WHOLE = 0.98
"""Share of a window that counts as all of it."""

Row = dict[str, Any]


def rows(gateway: Gateway, doubt: Doubt | None) -> list[Row]:
    """Each budget as it was last looked at: all objectives, each of them, tenants.

    In ``doubt`` none of them is well: what ended before says nothing of now.
    """
    found = GatewayBudget.objects.filter(gateway=gateway)
    slo = Slo.parse(gateway.slo_version.document) if gateway.slo_version else None
    known = [row(one, slo) for one in found]
    return known if doubt is None else [_doubted(one, doubt) for one in known]


def _doubted(known: Row, doubt: Doubt) -> Row:
    if known["state"] in budgets.ALERTS:
        return known
    tone, word = TONES[Standing.UNKNOWN]
    told = {"state": str(Standing.UNKNOWN), "tone": tone, "word": word}
    return known | told | {"because": doubt.because}


def row(budget: GatewayBudget, slo: Slo | None) -> Row:
    """The numbers as they are, and what is said of them."""
    tone, word = TONES[Standing(budget.state)]
    spent: Mapping[str, Any] = budget.data["budget"]
    burns, saying = [_burn(alert) for alert in budget.data["alerts"]], budget.data["saying"]
    return {
        **spent,
        "counted_from": _at(spent["since"]),
        "scope": budget.scope,
        "name": budget.name,
        "title": title(budget, slo),
        "target": budget.target,
        "state": budget.state,
        "tone": tone,
        "word": word,
        "since": budget.since,
        "at": budget.at,
        "because": because(budget.data),
        "lacking": lacking(budget),
        "unmeasured": budget.data["unmeasured"],
        "n_text": phrases.number(spent["n"]),
        "missed_text": phrases.number(spent["missed"]),
        "target_text": _percent(budget.target, 2),
        "left_text": left_text(spent["left"]),
        "lasts": _lasts(spent),
        "spent": spent["left"] is not None and spent["left"] <= 0,
        "burns": burns,
        "saying": None if saying is None else burns[saying],
    }


def worst(found: Sequence[Row]) -> Row | None:
    """The one that somebody should look at first."""
    return min(found, key=_badness, default=None)


def _badness(one: Row) -> tuple[int, float]:
    left = one["left"]
    return ORDER.index(Standing(one["state"])), 1.0 if left is None else left


def title(budget: GatewayBudget, slo: Slo | None) -> str:
    """Whose it is."""
    if budget.scope == GatewayBudget.Scope.TENANT:
        return _("tenant %(name)s") % {"name": budget.name}
    if budget.scope == GatewayBudget.Scope.JOINT:
        return _("All objectives")
    metric = METRICS[budget.name]
    found = [one for one in slo.objectives if one.metric == budget.name] if slo else []
    limit = f" ≤ {found[0].max:g} {metric.unit}" if found and metric.unit else ""
    return f"{metric.title}{limit}"


def because(data: Mapping[str, Any]) -> str:
    """The alert that speaks for all, with its numbers."""
    if data["saying"] is None:
        return _("The SLO's window is shorter than that of every alert.")
    alert: Mapping[str, Any] = data["alerts"][data["saying"]]
    said = {
        "long": span(alert["long_s"]),
        "short": span(alert["short_s"]),
        "burn": _times(alert["long_burn"]),
        "now": _times(alert["short_burn"]),
        "factor": _times(alert["factor"]),
        "missed": phrases.number(alert["missed"]),
        "n": phrases.number(alert["n"]),
        "least": LEAST_MISSED,
        "heard_long": _percent(alert["long_heard"], 0),
        "heard_short": _percent(alert["short_heard"], 0),
        "share": _percent(LEAST_HEARD, 0),
        "unmeasured": phrases.number(data.get("unmeasured", 0)),
    }
    case = _case(alert)
    blank = case == "idle" and data.get("unmeasured", 0)
    told = _SENTENCES["blank" if blank else case]() % said
    young = [_seen(alert, which) for which in ("long", "short")]
    only = _(" and ").join(one for one in young if one)
    return told + (_(" Only %(only)s seen.") % {"only": only} if only else "")


def _seen(alert: Mapping[str, Any], which: str) -> str:
    """``12 min of 1 h`` where the counts are younger than the window; else empty."""
    seen, whole = _seen_s(alert, which), alert[f"{which}_s"]
    if seen >= WHOLE * whole:
        return ""
    return _("%(seen)s of %(whole)s") % {"seen": span(seen, 2), "whole": span(whole)}


def _seen_s(alert: Mapping[str, Any], which: str) -> float:
    """One stored before it was told saw its window."""
    return float(alert.get(f"{which}_seen_s", alert[f"{which}_s"]))


_SENTENCES = {
    "firing": lambda: _(
        "It burns %(burn)s over %(long)s and %(now)s over %(short)s, where %(factor)s is too "
        "fast: %(missed)s of %(n)s missed."
    ),
    "unheard": lambda: _(
        "Telemetry came for %(heard_long)s of the last %(long)s and %(heard_short)s of the last "
        "%(short)s; under %(share)s of either, nobody can tell. Time unheard is not counted as "
        "good. See that the gateway runs and reaches this server."
    ),
    "idle": lambda: _("Nobody has asked anything for %(long)s."),
    "blank": lambda: _(
        "No answer of the last %(long)s has a value to judge by: %(unmeasured)s were not streamed, "
        "or had too few tokens. Let clients ask with stream: true, or set an objective on e2e_ms."
    ),
    "few": lambda: _(
        "It burns %(burn)s over %(long)s, but by %(missed)s misses of %(n)s requests; "
        "%(least)s misses are needed to tell."
    ),
    "quiet": lambda: _(
        "It burns %(burn)s over %(long)s, where %(factor)s over it and over %(short)s is too fast."
    ),
}


def _case(alert: Mapping[str, Any]) -> str:
    state = State(alert["state"])
    if state is State.INSUFFICIENT:
        return "idle" if alert["long_burn"] is None else "few"
    return {State.FIRING: "firing", State.UNKNOWN: "unheard", State.QUIET: "quiet"}[state]


def lacking(budget: GatewayBudget) -> str:
    """What the budget does not know, in words; empty where it knows all."""
    spent, said = budget.data["budget"], []
    if spent["heard"] is not None and spent["heard"] < 0.995:
        told = _("telemetry for %(heard)s of the time")
        said.append(told % {"heard": _percent(spent["heard"], 1)})
    known = None if spent["since"] is None else budget.at.timestamp() - spent["since"]
    if known is not None and known < WHOLE * spent["period_s"]:
        told = _("%(known)s of %(period)s counted")
        said.append(told % {"known": span(known), "period": span(spent["period_s"])})
    if waits := budget.data.get("waiting", 0):
        told = _("%(n)s of the missed wait still: late already, whatever becomes of them")
        said.append(told % {"n": phrases.number(waits)})
    if budget.data["unmeasured"]:
        told = _("%(n)s answers without a value (not streamed, or too short) left out")
        said.append(told % {"n": phrases.number(budget.data["unmeasured"])})
    return "; ".join(said)


def changes(gateway: Gateway) -> list[Row]:
    """Into an alert and out of one, the newest first, as the audit log has them."""
    entries = AuditEntry.objects.filter(
        team_id=gateway.team_id, object_kind="gateway", object_id=str(gateway.pk), verb=budgets.VERB
    ).order_by("-sequence")
    return [_change(entry) for entry in entries[:CHANGES]]


def _change(entry: AuditEntry) -> Row:
    detail = entry.detail
    scope, name = detail["scope"], detail["name"]
    word = {**{str(key): word for key, (_tone, word) in TONES.items()}, "none": _("none")}
    titles = {"joint": _("All objectives"), "tenant": _("tenant %(name)s") % {"name": name}}
    metric = METRICS.get(name)
    return {
        "at": entry.at,
        "title": titles.get(scope, metric.title if metric else name),
        "before": word[detail["from"]],
        "after": word[detail["to"]],
        "tone": {str(key): tone for key, (tone, _word) in TONES.items()}.get(detail["to"], "void"),
        "because": because({"saying": 0, "alerts": [detail["alert"]]}) if detail["alert"] else "",
    }


def figure(slo: Slo, *, overspent: bool = False) -> dict[str, Any]:
    """How what is left is drawn; below nothing too, where one is overspent."""
    held = [one for one in budgets.held(slo) if one.scope != GatewayBudget.Scope.TENANT]
    names = [
        _("All") if one.scope == GatewayBudget.Scope.JOINT else METRICS[one.name].title
        for one in held
    ]
    return {
        "id": "budget",
        "title": _("Error budget left"),
        "sub": _("%% of what the last %(period)s may miss") % {"period": span(slo.period_s)},
        "unit": "%",
        "source": "events",
        "series": [
            {
                "key": f"left_{place}",
                "label": name,
                "color": HUES[place] if place < len(HUES) else "s0",
                "d": 1,
            }
            for place, name in enumerate(names)
        ],
        "marks": [{"y": 0, "label": _("spent"), "bad": "below"}],
        "y": {"max": 100} if overspent else {"min": 0, "max": 100},
        "scale_toggle": False,
    }


def columns(slo: Slo) -> list[str]:
    """Keys of a row of that figure."""
    return ["t", *(one["key"] for one in figure(slo)["series"])]


def course(gateway: Gateway, now: datetime) -> dict[str, Any] | None:
    """The figure's rows; None without an SLO."""
    version = gateway.slo_version
    if version is None:
        return None
    slo = Slo.parse(version.document)
    return budgets.course(gateway, slo, version.sha256, now.timestamp())


def sentence(found: Sequence[Row]) -> str:
    """What the figure says."""
    joint = next((one for one in found if one["scope"] == GatewayBudget.Scope.JOINT), None)
    if joint is None or joint["left"] is None:
        return _("Nothing has been judged yet.")
    told = _("%(left)s is left: %(missed)s missed, where %(allowed)s may.")
    if joint["left"] < 0:
        told = _("Overspent: %(missed)s missed, where %(allowed)s may.")
    return told % {
        "left": joint["left_text"],
        "missed": phrases.number(joint["missed"]),
        "allowed": phrases.number(joint["allowed"]),
    }


def span(seconds: float, digits: int = 3) -> str:
    """``300`` is ``5 min``, ``90,000`` is ``1.04 d``."""
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return "0 s"


def _burn(alert: Mapping[str, Any]) -> Row:
    return {
        **alert,
        "long": span(alert["long_s"]),
        "short": span(alert["short_s"]),
        "long_text": _times(alert["long_burn"]),
        "short_text": _times(alert["short_burn"]),
        "factor_text": _times(alert["factor"]),
        **{f"{which}_seen": _seen(alert, which) for which in ("long", "short")},
        **{f"{which}_seen_s": _seen_s(alert, which) for which in ("long", "short")},
    }


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _lasts(spent: Mapping[str, Any]) -> str:
    left, until = spent["left"], spent["spent_in_s"]
    if left is None:
        return ""
    if until is None:
        return _("lasts at this hour's burn")
    return _("spent") if left <= 0 else _("spent in %(span)s") % {"span": span(until)}


def left_text(left: float | None) -> str:
    """``62.1 %``; of an overspent budget nothing is left, and how often it was spent counts."""
    if left is None or left >= 0:
        return _percent(left)
    return _("0 %%, spent %(n)s times") % {"n": phrases.number(1 - left, 1)}


def _times(rate: float | None) -> str:
    return phrases.NOTHING if rate is None else f"{phrases.number(rate, 1 if rate < 100 else 0)} ×"


def _percent(share: float | None, digits: int = 1) -> str:
    return phrases.NOTHING if share is None else f"{phrases.share(share, digits)} %"
