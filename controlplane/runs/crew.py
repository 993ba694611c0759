"""Who sends a run's load, where that is more than one: a row a worker, or a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from controlplane.runs.machines.choosing import machine_of
from controlplane.runs.models import Run


def rows(run: Run) -> list[dict[str, Any]]:
    """As last told while it runs, as reported afterwards; empty where one process sends all."""
    if run.machines == run.workers == 1:
        return []
    client: Mapping[str, Any] = (run.summary or {}).get("client") or {}
    reported = client.get("by_worker")
    told = reported or (run.live.get("totals") or {}).get("by_worker") or ()
    state = (
        _("sending") if run.is_live else _("reported") if reported else _("not heard to its end")
    )
    return [_row(one, state) for one in told]


def mark(run: Run) -> str:
    """What a page that shows the rows must not miss a change of."""
    told = (run.live.get("totals") or {}).get("by_worker") or ()
    return f"{len(told)} {sum(bool(one.get('lost')) for one in told)}"


def _row(told: Mapping[str, Any], state: str) -> dict[str, Any]:
    number, _slash, of = str(told["slice"]).partition("/")
    place = {"number": int(number) + 1, "of": of}
    node = told.get("machine")
    clock: Mapping[str, Any] = told.get("clock") or {}
    return {
        "who": machine_of(node) if node else _("worker %(number)d") % place,
        "node": node or "",
        "slice": _("%(number)d of %(of)s") % place,
        "state": _("lost: %(why)s") % {"why": told["lost"]} if told.get("lost") else state,
        "offset": _offset(clock),
        "off_by": _ms(clock.get("off_by_at_most_ms"), 2),
        "cpu": _percent(told.get("cpu_share")),
        "lag": _ms(told.get("loop_lag_p99_ms"), 1),
        "cpu_course": list(told.get("cpu_course") or ()),
        "lag_course": list(told.get("lag_course_ms") or ()),
    }


def _offset(clock: Mapping[str, Any]) -> str:
    """Against the clock of the machine that leads, with its uncertainty."""
    if clock.get("offset_ms") is None:
        return "–"
    offset = f"{clock['offset_ms']:+,.2f}".replace("-", "−")
    return f"{offset} ± {clock['uncertainty_ms']:.2f} ms"


def _ms(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f} ms"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
