"""Rollouts as evidence for a policy version, and who takes it to traffic now."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.catalogue.evidence import Entry, Source, Use
from controlplane.catalogue.models import PolicyVersion
from controlplane.rollouts.models import Rollout
from controlplane.rollouts.presenting import tone_of

SHOWN = 20


def uses(version: PolicyVersion) -> Iterator[Use]:
    """Open rollouts that would take it to a gateway's traffic."""
    for rollout in Rollout.objects.with_names().filter(candidate_version=version, ended_at=None):
        how = str(rollout.get_phase_display()).lower()
        yield Use("Rollout", rollout.title, rollout.get_absolute_url(), how)


def entries(version: PolicyVersion) -> Iterator[Entry]:
    """The newest rollouts in which it was tried."""
    tried = Rollout.objects.with_names().filter(candidate_version=version)
    for rollout in tried[:SHOWN]:
        yield Entry(
            what="Rollout",
            name=rollout.short_id,
            href=rollout.get_absolute_url(),
            where=f"{rollout.gateway.name}, against {rollout.baseline_version.line.name} "
            f"{rollout.baseline_version}",
            at=rollout.created_at,
            tone=tone_of(rollout),
            word=str(rollout.get_phase_display()),
        )


SOURCE = Source(uses=uses, entries=entries)
