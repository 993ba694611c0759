"""What is planned for: an endpoint under a workload, a load, a target."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.models import Endpoint, Workload
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Team
from simulator import profile as profiles


class PlanForm(forms.Form):
    endpoint = forms.ModelChoiceField(Endpoint.objects.none(), empty_label=None)
    workload = forms.ModelChoiceField(Workload.objects.none(), empty_label=None)
    load = forms.FloatField(
        label=_("Load to plan for"), min_value=0.001, max_value=1e6, required=False
    )
    target = forms.FloatField(
        label=_("Attainment asked for"), min_value=1, max_value=99.999, required=False
    )
    profile = forms.ChoiceField(
        label=_("Engine model"),
        required=False,
        help_text=_("draws its curve, and takes the limits on sequences and KV tokens from it"),
    )

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["endpoint"].queryset = Endpoint.objects.for_team(team)
        self.fields["workload"].queryset = Workload.objects.for_team(team)
        self.fields["load"].unit = "1/s"
        self.fields["target"].unit = "%"
        for name in ("load", "target"):
            self.fields[name].widget.attrs |= {"step": "any", "inputmode": "decimal"}
        named = [(name, name) for name in profiles.names()]
        self.fields["profile"].choices = [("", _("none")), *named]


def usual(team: Team) -> dict[str, Any]:
    """The endpoint and workload of the newest finished run; nothing without one."""
    done = Run.objects.for_team(team).filter(status=Status.DONE)
    newest = done.exclude(endpoint=None).first()
    if newest is None:
        return {}
    return {"endpoint": newest.endpoint_id, "workload": newest.workload_id}
