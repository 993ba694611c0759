"""The form of an A/B: what may be chosen, and how its text becomes an ask."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import label_of
from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Workload
from controlplane.comparisons.asking import ARRIVALS, Ask
from controlplane.comparisons.models import Comparison
from controlplane.runs.forms import VersionField, process_parameters
from controlplane.runs.launch import SEEDS
from controlplane.teams.models import Team
from documents.fields import FieldInfo, describe
from documents.problem import DocumentError
from loadtest.ab.draft import Draft
from loadtest.arrivals.base import processes
from measurement.comparison.criterion import PASS_MARGINS, Kind
from simulator import profile as profiles

_AS_GIVEN = ("blocks", "block_s", "washout_s", "seed")
_FIELDS = {"slo": "slo_version", "margins": "margin", "endpoints": "endpoint"}
"""Where a fault in a part of the ask is told."""


class ComparisonForm(forms.Form):
    """Fields that belong to one ``where`` carry ``data-when``, as those of arrivals do."""

    baseline = VersionField(PolicyVersion.objects.none(), label=_("Baseline"), empty_label=None)
    candidate = VersionField(PolicyVersion.objects.none(), label=_("Candidate"), empty_label=None)
    where = forms.ChoiceField(
        label=_("Where"), choices=Comparison.Where.choices, initial=Comparison.Where.MODEL
    )
    profile = forms.ChoiceField(label=_("Engine profile"), initial=profiles.DEFAULT)
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), label=_("Endpoint, lane P"), required=False
    )
    second_endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), label=_("Endpoint, lane Q"), required=False
    )
    workload = forms.ModelChoiceField(Workload.objects.none(), empty_label=None)
    slo_version = VersionField(SloVersion.objects.none(), label=_("SLO"), empty_label=None)
    process = forms.ChoiceField(label=_("Arrivals"), initial=ARRIVALS["process"])
    margin = forms.FloatField(
        label=_("Margin of attainment"),
        initial=100 * PASS_MARGINS[Kind.ATTAINMENT],
        min_value=0.01,
        max_value=100,
        help_text=_("a candidate that is surely worse by less passes"),
    )

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team = team
        for name, rows in (
            ("baseline", PolicyVersion),
            ("candidate", PolicyVersion),
            ("slo_version", SloVersion),
        ):
            versions = rows.objects.for_team(team).select_related("line")
            self.fields[name].queryset = versions.order_by("line__name", "-number")
        for name in ("endpoint", "second_endpoint"):
            self.fields[name].queryset = Endpoint.objects.for_team(team)
        self.fields["workload"].queryset = Workload.objects.for_team(team)
        self.fields["profile"].choices = [(name, name) for name in profiles.names()]
        self.fields["margin"].unit = _("points")
        self._preselect()
        self._arrival_fields()
        infos = {info.name: info for info in describe(Draft)}
        for name in _AS_GIVEN:
            initial = secrets.randbelow(SEEDS) if name == "seed" else infos[name].default
            self.fields[name] = _number_field(infos[name], initial)
        self.fields["block_s"].label = _("Slot")
        for name, owners in (
            ("profile", "model engines"),
            ("endpoint", "endpoints switchback"),
            ("second_endpoint", "endpoints"),
        ):
            self.fields[name].widget.attrs["data-when"] = f"where={owners}"

    def _preselect(self) -> None:
        """The newest version against the one before it, under the newest objectives."""
        newest = PolicyVersion.objects.for_team(self.team).order_by("-created_at", "-id")[:2]
        first, last = (*newest, None, None)[:2]
        self.fields["candidate"].initial = first
        self.fields["baseline"].initial = last or first
        slos = SloVersion.objects.for_team(self.team).order_by("-created_at", "-id")
        self.fields["slo_version"].initial = slos.first()

    def _arrival_fields(self) -> None:
        """Open loops only: a closed one can't ask two policies the same."""
        known = {name: cls for name, cls in processes.all().items() if cls.open_loop}
        choices = [(name, f"{name}: {cls.summary}") for name, cls in known.items()]
        self.fields["process"].choices = choices
        self._parameters: dict[str, list[str]] = {}
        for name, (info, owners) in process_parameters().items():
            open_ones = [owner for owner in owners if owner in known]
            if not open_ones or info.kind not in (int, float):
                continue
            field = _number_field(info, ARRIVALS.get(name, info.default))
            field.widget.attrs["data-when"] = f"process={' '.join(open_ones)}"
            self.fields[name] = field
            self._parameters[name] = open_ones

    def ask(self) -> Ask:
        """What the form asks for; call it when the form is valid."""
        given = self.cleaned_data
        where = given["where"]
        chosen = {
            "endpoints": (given["endpoint"], given["second_endpoint"]),
            "switchback": (given["endpoint"],),
        }.get(where, ())
        process = given["process"]
        parameters = {
            name: given[name]
            for name, owners in self._parameters.items()
            if process in owners and given.get(name) is not None
        }
        numbers = {name: given[name] for name in _AS_GIVEN if given.get(name) is not None}
        return Ask(
            baseline=given["baseline"],
            candidate=given["candidate"],
            slo_version=given["slo_version"],
            workload=given["workload"],
            where=where,
            endpoints=tuple(one for one in chosen if one is not None),
            profile=given["profile"],
            arrivals={"process": process, **parameters},
            margins={"attainment": round(given["margin"] / 100, 6)},
            **numbers,
        )

    def clean(self) -> dict[str, Any]:
        """The order's faults beside the fields', all at once."""
        given = self.cleaned_data
        if not self.errors:
            try:
                self.ask().order(self.team)
            except DocumentError as error:
                self.tell(error)
        return given

    def tell(self, error: DocumentError) -> None:
        """Each fault beside the field that it is about."""
        for problem in error.problems:
            first, _dot, rest = problem.path.partition(".")
            name = (rest or "process") if first == "arrivals" else _FIELDS.get(first, first)
            message = problem.message[:1].upper() + problem.message[1:]
            self.add_error(name if name in self.fields else None, message)

    def told(self) -> list[str]:
        """Every fault in a line, for where no field stands beside it."""
        labels = {name: str(field.label or name) for name, field in self.fields.items()}
        return [
            f"{labels.get(name, name)}: {text}" if name != "__all__" else str(text)
            for name, texts in self.errors.items()
            for text in texts
        ]


def missing_of(form: ComparisonForm) -> list[str]:
    """What the catalogue has to hold before an A/B can be asked for."""
    names = ("candidate", "workload", "slo_version")
    return [name for name in names if not form.fields[name].queryset.exists()]


def _number_field(info: FieldInfo, initial: Any) -> forms.Field:
    """A field with the parameter's own unit and help; its range is the parser's to check."""
    cls = forms.IntegerField if info.kind is int else forms.FloatField
    field = cls(label=label_of(info), help_text=info.help, required=False, initial=initial)
    field.unit = info.unit
    field.optional = initial is None
    field.widget.attrs |= {"step": "1" if info.kind is int else "any", "inputmode": "decimal"}
    return field
