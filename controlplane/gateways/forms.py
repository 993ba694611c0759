"""Forms about gateways: what may be chosen, and how its text becomes a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import DocumentForm, tell
from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Tenant
from controlplane.gateways.documents import GatewayDocument
from controlplane.teams.models import Team
from documents.parse import build
from documents.problem import DocumentError

LABELS = {
    "anonymous": _("Without a key"),
    "queue_bound": _("Queue"),
    "queue_ttl_s": _("Longest wait"),
    "first_byte_s": _("Until the first byte"),
    "idle_s": _("Between two tokens"),
    "total_s": _("Whole answer"),
}
"""Where a field's own name says too little beside others."""


class GatewayForm(DocumentForm):
    """A gateway's document; versions and tenants are chosen, lanes are written."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        team: Team,
        values: Mapping[str, Any] | None = None,
        fixed_name: bool = False,
    ) -> None:
        super().__init__(data, of=GatewayDocument, values=values)
        self._choose("policy", _versions(PolicyVersion.objects.for_team(team)), none="")
        self._choose("slo", _versions(SloVersion.objects.for_team(team)), none=_("none"))
        tenants = [(one.slug, one.name) for one in Tenant.objects.for_team(team)]
        self._choose("anonymous", tenants, none=_("nobody: a key is needed"))
        slugs = ", ".join(Endpoint.objects.for_team(team).values_list("slug", flat=True))
        lanes = self.fields["lanes"]
        lanes.help_text = _(
            "One lane a line, as p: [engine-1, engine-2]. One policy runs in a lane at a time, so "
            "a canary needs two of equally many equal engines. Endpoints: %(slugs)s"
        ) % {"slugs": slugs or "–"}
        self.fields["policy"].help_text = _("Live traffic runs under it from the next poll on")
        self.fields["slo"].help_text = _("By which live traffic is judged")
        lanes.code = False
        for name, label in LABELS.items():
            self.fields[name].label = label
        if fixed_name:
            self.fields["name"].widget.attrs["readonly"] = True
            self.fields["name"].help_text = _("Its processes ask for it by its name: it stays")

    def _choose(self, name: str, choices: list[tuple[str, Any]], *, none: Any) -> None:
        field = self.fields[name]
        given = self.values.get(name) or ""
        if given and given not in [value for value, _label in choices]:
            choices = [(given, given), *choices]
        first = [("", none)] if none else []
        field.widget = forms.Select(choices=[*first, *choices])

    def document(self) -> GatewayDocument:
        """DocumentError with every fault, each at its field."""
        return build(GatewayDocument, self.mapping())


class ServeForm(forms.Form):
    """Another version for a gateway to serve."""

    version = forms.ModelChoiceField(PolicyVersion.objects.none(), label=_("Policy version"))
    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=200, help_text=_("For the audit log")
    )

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        versions = PolicyVersion.objects.for_team(team).select_related("line")
        field: Any = self.fields["version"]
        field.queryset = versions.order_by("line__name", "-number")
        field.label_from_instance = version_label

    def tell(self, error: DocumentError) -> None:
        """Its one field is named otherwise in documents."""
        for problem in error.problems:
            name = "version" if problem.path.partition(".")[0] in ("policy", "shadow") else None
            self.add_error(name, str(problem.message))


class KeyForm(forms.Form):
    """A key for a tenant."""

    tenant = forms.ModelChoiceField(Tenant.objects.none(), label=_("Tenant"))
    name = forms.CharField(
        label=_("Name"), max_length=80, help_text=_("Where it will be used, such as web-prod")
    )

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["tenant"]
        field.queryset = Tenant.objects.for_team(team)

    def tell(self, error: DocumentError) -> None:
        tell(self, error)


def version_label(version: PolicyVersion) -> str:
    """``steady v3 · 878216e0730a``."""
    return f"{version.line.name} {version} · {version.sha256[:12]}"


def _versions(rows: Any) -> list[tuple[str, Any]]:
    found = rows.select_related("line").order_by("line__name", "-number")
    return [
        (f"{one.line.slug}@{one.number}", f"{one.line.name} {one} · {one.sha256[:12]}")
        for one in found
    ]
