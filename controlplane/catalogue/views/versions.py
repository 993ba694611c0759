"""The versions of an SLO or a policy: their list, one of them, what changed in it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from controlplane.catalogue.diffing import parameter_diff
from controlplane.catalogue.models import Policy, Slo, Version
from controlplane.catalogue.views.cells import as_yaml, diff_rows


def context_of(line: Slo | Policy | None) -> dict[str, Any]:
    """What a line's page shows besides its forms."""
    if line is None:
        return {"versions": [], "latest": None, "yaml": "", "next": 1}
    versions = list(line.versions.select_related("created_by"))
    latest = versions[0]
    return {
        "versions": versions,
        "latest": latest,
        "yaml": as_yaml(latest.document),
        "next": latest.number + 1,
    }


def show_version(
    request: HttpRequest, line: Slo | Policy, number: int, *, back: str
) -> HttpResponse:
    return render(request, "catalogue/version.html", version_context(line, number, back=back))


def version_context(line: Slo | Policy, number: int, *, back: str) -> dict[str, Any]:
    """One version beside the one that it was made from, or that came before it."""
    version = get_object_or_404(line.versions.select_related("created_by"), number=number)
    origin = getattr(version, "based_on", None) or number - 1
    before = line.versions.filter(number=origin).first()
    changed = parameter_diff(before.document, version.document) if before else []
    return {
        "line": line,
        "back": back,
        "version": version,
        "before": before,
        "changes": diff_rows(changed),
        "yaml": as_yaml(version.document),
    }


def saved_words(name: str, version: Version, *, new: bool) -> str:
    if new:
        return _("%(name)s %(version)s is saved.") % {"name": name, "version": version}
    return _("Nothing changed: this document is %(name)s %(version)s already.") % {
        "name": name,
        "version": version,
    }
