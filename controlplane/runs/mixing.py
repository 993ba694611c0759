"""Runs that load one address at one time: each is part of what the other measures."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from controlplane.catalogue.models import Endpoint
from controlplane.runs.models import Run, RunQuerySet
from controlplane.teams.models import Team

MOST_NAMED = 5


def beside(run: Run) -> Sequence[Run]:
    """Other runs of the team that load the same address while this one does, or did; not all."""
    if run.endpoint is None:  # a model is no machine that others could load
        return []
    others = _at(run.endpoint.base_url, run.team_id).exclude(pk=run.pk)
    if run.started_at is None:
        return others.live()[:MOST_NAMED]
    others = others.filter(Q(ended_at=None) | Q(ended_at__gt=run.started_at))
    if run.ended_at is not None:
        others = others.filter(started_at__lt=run.ended_at)
    return others[:MOST_NAMED]


def caveat(name: str, run: Run) -> str:
    """What a comparison must say of a run, called A or B, that others were mixed with; or empty."""
    others = beside(run)
    if not others:
        return ""
    said = _("%(name)s shared its endpoint with %(others)s: its numbers are of all that load.")
    return said % {"name": name, "others": ", ".join(_name(one) for one in others)}


def now(run: Run) -> list[dict[str, str]]:
    """Those that load it while this run does, for its live page: name and address of each."""
    if not run.is_live or run.endpoint is None:
        return []
    others = _at(run.endpoint.base_url, run.team_id).live().exclude(pk=run.pk)
    return [{"name": _name(it), "url": it.get_absolute_url()} for it in others[:MOST_NAMED]]


def warning(team: Team, endpoint: Endpoint | None) -> str:
    """What to know before one more run is sent there; empty when nothing loads it now."""
    if endpoint is None:
        return ""
    live = _at(endpoint.base_url, team.pk).live()
    count = len(live)
    if not count:
        return ""
    said = ngettext(
        "Another run is live on this endpoint (%(names)s).",
        "%(count)d other runs are live on this endpoint (%(names)s).",
        count,
    ) % {"count": count, "names": ", ".join(_name(run) for run in live[:MOST_NAMED])}
    return f"{said} {_('Started now, each is load to the other, and their numbers mix.')}"


def _at(base_url: str, team_id: object) -> RunQuerySet:
    """The team's runs that have been taken by a worker, on any endpoint of this address."""
    runs = Run.objects.filter(team_id=team_id, endpoint__base_url=base_url)
    return runs.exclude(started_at=None).with_names()


def _name(run: Run) -> str:
    return f"{run.policy_version.line.name} {run.policy_version} {run.short_id}"
