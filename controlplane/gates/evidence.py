"""Which gates would run a policy version if they were called now."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.catalogue.evidence import Source, Use
from controlplane.catalogue.models import PolicyVersion
from controlplane.gates.models import Gate
from controlplane.runs.launch import policy_version
from documents.problem import DocumentError


def uses(version: PolicyVersion) -> Iterator[Use]:
    """Gates whose newest document names it: by number, by an alias, or as the newest."""
    team = version.line.team
    for gate in Gate.objects.for_team(team).prefetch_related("versions"):
        named = gate.versions.all()[0].document["spec"]["policy"]
        try:
            found = policy_version(team, named)
        except DocumentError:  # the policy is gone, or the alias: the gate says so when it is run
            continue
        if found.pk == version.pk:
            yield Use("Gate", gate.name, gate.get_absolute_url(), named)


SOURCE = Source(uses=uses)
