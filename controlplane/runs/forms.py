"""The launch form: what may be chosen, and how its text becomes a launch."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import label_of
from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Workload
from controlplane.runs.launch import MACHINES, SEEDS, WORKERS, Launch, faults
from controlplane.runs.models import Run
from controlplane.teams.models import Team
from documents.fields import FieldInfo, describe
from documents.problem import DocumentError, Problem
from loadtest import transports
from loadtest.arrivals.base import processes
from loadtest.behaviour import Cancellations, Retries
from loadtest.scenario import Limits, Scenario
from loadtest.workloads.base import workloads
from simulator import profile as profiles

AS_GIVEN = ("duration_s", "warm_up_s", "drain_s", "seed")
TIMEOUTS = tuple(info.name for info in describe(Limits))
SALT = "prompt_salt"
TRANSPORT = "transport"
CLIENTS = {
    f"{part}_{info.name}": (part, info)
    for part, cls in (("retries", Retries), ("cancellations", Cancellations))
    for info in describe(cls)
}
"""Fields on what clients do beside asking, each with its part of the scenario."""
RARE = (*TIMEOUTS, *CLIENTS, SALT, TRANSPORT, WORKERS, MACHINES)
"""Fields that most runs leave as they are."""
OF_AN_ENDPOINT = (TRANSPORT, WORKERS, MACHINES, "shadow_version")
"""Fields that say how a load is sent: the engine model is sent nothing."""
WARM_UP = "warm_up"
DEFAULT_PROCESS = "poisson"
OF_SESSIONS = tuple(name for name, kind in workloads.all().items() if hasattr(kind, "session"))
"""Kinds of workload that ask for closed arrivals, which are not the form's own."""
REFERENCES = {
    "endpoint": "endpoint",
    "model": "profile",
    "policy": "policy_version",
    "workload": "workload",
    "slo": "slo_version",
    "shadow": "shadow_version",
}
"""The fields that name the catalogue's parts of a scenario."""


class VersionField(forms.ModelChoiceField):
    """A version is shown as its line's name with its number."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.line.name} {obj}"


class PolicyVersionField(VersionField):
    """A policy's version says which aliases point at it."""

    def label_from_instance(self, obj: Any) -> str:
        named = ", ".join(alias.name for alias in obj.aliases.all())
        label = super().label_from_instance(obj)
        return f"{label} ({named})" if named else label


def process_parameters() -> dict[str, tuple[FieldInfo, list[str]]]:
    """Every parameter of every arrival process, with the processes that have it."""
    found: dict[str, tuple[FieldInfo, list[str]]] = {}
    for name, cls in processes.all().items():
        for info in describe(cls):
            found.setdefault(info.name, (info, []))[1].append(name)
    return found


def _number_field(info: FieldInfo, **more: Any) -> forms.Field:
    """A field with the parameter's own range, unit and help."""
    cls = forms.IntegerField if info.kind is int else forms.FloatField
    field = cls(label=label_of(info), help_text=info.help, required=False, **more)
    field.unit = info.unit
    field.widget.attrs |= {"step": "1" if info.kind is int else "any", "inputmode": "decimal"}
    return field


def _warm_up_field(info: FieldInfo) -> forms.Field:
    """Which of the two ways to cut the start; nothing chosen is the first."""
    choices = [("seconds", _("begins after the warm-up")), ("auto", _("is found, after it"))]
    return forms.ChoiceField(
        label=_("Steady part"),
        choices=choices,
        initial=info.default,
        required=False,
        help_text=_("found from where requests in flight and latencies settle (MSER-5)"),
    )


def _profile_label(name: str) -> str:
    profile = profiles.load(name)
    error = profile.mean_error_percent
    known = f"±{error:g} %" if error is not None else str(_("unchecked"))
    return f"{name}, {known}"


class LaunchForm(forms.Form):
    """Fields of arrival processes carry ``when``: the processes that they belong to.

    ``rare`` are fields that most runs leave as they are; a page may fold them away.
    """

    host = forms.ChoiceField(
        label=_("Where"),
        choices=[("endpoint", _("On an endpoint")), ("model", _("On the engine model"))],
        initial="endpoint",
        required=False,
        help_text=_(
            "the engine model plays it in virtual time, sends nothing, and measures nothing"
        ),
    )
    endpoint = forms.ModelChoiceField(Endpoint.objects.none(), empty_label=None, required=False)
    profile = forms.ChoiceField(
        label=_("Profile"),
        required=False,
        initial=profiles.DEFAULT,
        help_text=_("what stands in for the engine, and the mean TPOT error that is stated of it"),
    )
    policy_version = PolicyVersionField(
        PolicyVersion.objects.none(), label=_("Policy version"), empty_label=None
    )
    shadow_version = PolicyVersionField(
        PolicyVersion.objects.none(),
        label=_("Shadow policy"),
        required=False,
        empty_label=_("No shadow"),
        help_text=_("a second version that sees what the first one sees: recorded, never obeyed"),
    )
    workload = forms.ModelChoiceField(Workload.objects.none(), empty_label=None)
    slo_version = VersionField(
        SloVersion.objects.none(), label=_("SLO"), required=False, empty_label=_("No objectives")
    )
    process = forms.ChoiceField(label=_("Arrivals"), initial=DEFAULT_PROCESS)

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["endpoint"].queryset = Endpoint.objects.for_team(team)
        self.fields["workload"].queryset = Workload.objects.for_team(team)
        for name, rows in (("policy_version", PolicyVersion), ("slo_version", SloVersion)):
            versions = rows.objects.for_team(team).select_related("line")
            self.fields[name].queryset = versions.order_by("line__name", "-number")
        policies = self.fields["policy_version"]
        policies.queryset = policies.queryset.prefetch_related("aliases")
        shadows = policies.queryset.filter(document__spec__concurrency__isnull=False)
        self.fields["shadow_version"].queryset = shadows
        self._preselect(team)
        self._offer_arrivals()
        infos = {info.name: info for info in describe(Scenario)}
        for name in AS_GIVEN:
            initial = 60 if name == "duration_s" else infos[name].default
            initial = secrets.randbelow(SEEDS) if name == "seed" else initial
            if name == "warm_up_s":
                self.fields[WARM_UP] = _warm_up_field(infos[WARM_UP])
            self.fields[name] = _number_field(infos[name], initial=initial)
        self.fields["seed"].help_text = _("fixes the whole schedule")
        for info in describe(Limits):
            self.fields[info.name] = _number_field(info, initial=info.default)
        for name, (part, info) in CLIENTS.items():
            self.fields[name] = _number_field(info)
            self.fields[name].label = f"{part.capitalize()}: {label_of(info).lower()}"
        self.fields[SALT] = forms.CharField(
            label=_("Prompt salt"),
            required=False,
            strip=False,
            help_text=infos[SALT].help,
        )
        self.fields[TRANSPORT] = forms.ChoiceField(
            choices=[(name, name) for name in transports.CHOICES],
            required=False,
            initial=infos[TRANSPORT].default,
            help_text=infos[TRANSPORT].help,
        )
        self._share()
        self._fit_to_host()

    def _share(self) -> None:
        """How many processes, on how many machines, share the load."""
        self.fields[WORKERS] = forms.IntegerField(
            label=_("Workers"),
            required=False,
            initial=1,
            help_text=_("processes that share the load; the requests are the same"),
        )
        self.fields[MACHINES] = forms.IntegerField(
            label=_("Machines"),
            required=False,
            initial=1,
            help_text=_("machines that share the load; a Celery worker must run on each"),
        )

    def _offer_arrivals(self) -> None:
        """Each process by its name, with its words beside the field, and all their parameters."""
        known = processes.all()
        self.fields["process"].choices = [(name, name.capitalize()) for name in known]
        says = {name: cls.summary for name, cls in known.items()}
        self.fields["process"].widget.attrs["data-says"] = json.dumps(says)
        self.fields["process"].help_text = says[self._process()]
        for name, (info, owners) in process_parameters().items():
            field = _number_field(info, initial=20 if name == "rate" else info.default)
            field.when = " ".join(owners)
            field.widget.attrs["data-when"] = f"process={field.when}"
            self.fields[name] = field

    def _process(self) -> str:
        """The one whose words stand beside the field as it opens; a script changes them."""
        given = self.data if self.is_bound else self.initial
        chosen = str(given.get("process") or "")
        return chosen if chosen in processes.all() else DEFAULT_PROCESS

    def _fit_to_host(self) -> None:
        """The profiles to choose from, and which fields are shown for which host."""
        known = [(name, _profile_label(name)) for name in profiles.names()]
        self.fields["profile"].choices = known
        for name in (*OF_AN_ENDPOINT, "endpoint"):
            self.fields[name].widget.attrs["data-when"] = "host=endpoint"
        self.fields["profile"].widget.attrs["data-when"] = "host=model"

    @property
    def on_the_model(self) -> bool:
        """Whether the engine model is to answer; what only an endpoint takes is then not read."""
        return bool(self.cleaned_data.get("host") == "model")

    @property
    def rare(self) -> list[forms.BoundField]:
        return [self[name] for name in RARE]

    @property
    def common(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in RARE]

    @property
    def rare_matter(self) -> bool:
        """Whether one of the rare fields has a fault, or another value than it has by itself."""
        return any(
            field.errors or str(field.value() or "") != str(self.fields[field.name].initial or "")
            for field in self.rare
        )

    def _preselect(self, team: Team) -> None:
        """The endpoint that was run last, the newest objectives, and a workload that goes with
        the form's open arrivals, so that it opens with a load to draw; a link may say otherwise.
        """
        measured = Run.objects.for_team(team).exclude(endpoint=None)
        last = measured.values_list("endpoint_id", flat=True).first()
        newest = SloVersion.objects.for_team(team).order_by("-created_at", "-id").first()
        self.fields["endpoint"].initial = last or self.fields["endpoint"].queryset.first()
        self.fields["slo_version"].initial = newest
        plain = self.fields["workload"].queryset.exclude(document__kind__in=OF_SESSIONS)
        self.fields["workload"].initial = plain.first()

    def clean(self) -> dict[str, Any]:
        """The scenario's faults beside the fields', all at once; no field is told off twice."""
        given = self.cleaned_data
        given |= self._elsewhere()
        if not self.on_the_model and not given.get("endpoint") and "endpoint" not in self.errors:
            self.add_error("endpoint", _("This field is required."))
        found = {name: given.get(field) for name, field in REFERENCES.items()}
        told = {*self.errors}
        problems = [one for one in faults(found, self._rest(), ()) if self._field(one) not in told]
        self.tell(DocumentError(problems))
        return given

    def _elsewhere(self) -> dict[str, Any]:
        """The fields that belong to the host that was not chosen, emptied."""
        if not self.on_the_model:
            return {"profile": ""}
        return dict.fromkeys((*OF_AN_ENDPOINT, "endpoint"))

    def launch(self) -> Launch:
        """What the form asks for; call it when the form is valid."""
        given = self.cleaned_data
        return Launch(
            endpoint=given["endpoint"],
            policy_version=given["policy_version"],
            workload=given["workload"],
            slo_version=given["slo_version"],
            rest=self._rest(),
            shadow_version=given["shadow_version"],
            profile=given["profile"],
        )

    def _rest(self) -> dict[str, Any]:
        """What the scenario says beside what it names."""
        given = self.cleaned_data
        return {
            "arrivals": self._arrivals(),
            "timeouts": _filled(given, TIMEOUTS),
            **_filled(given, (*AS_GIVEN, SALT, WORKERS, MACHINES)),
            **({TRANSPORT: given[TRANSPORT]} if given.get(TRANSPORT) else {}),
            **({WARM_UP: given[WARM_UP]} if given.get(WARM_UP) else {}),
            **self._clients(),
        }

    def _clients(self) -> dict[str, dict[str, Any]]:
        """Each part of which something is filled in; the rest of it has its defaults."""
        found: dict[str, dict[str, Any]] = {}
        for name, (part, info) in CLIENTS.items():
            if (value := self.cleaned_data.get(name)) is not None:
                found.setdefault(part, {})[info.name] = value
        return found

    def _arrivals(self) -> dict[str, Any]:
        process = self.cleaned_data.get("process")
        if process is None:
            return {"process": process}
        names = [info.name for info in describe(processes.get(process))]
        return {"process": process, **_filled(self.cleaned_data, names)}

    def tell(self, error: DocumentError) -> None:
        """Each fault beside the field that it is about."""
        for problem in error.problems:
            message = problem.message
            self.add_error(self._field(problem), message[:1].upper() + message[1:])

    def _field(self, problem: Problem) -> str | None:
        """The field that a problem is about; None when no field is."""
        first, _dot, rest = problem.path.partition(".")
        name = REFERENCES.get(first, first)
        if first == "arrivals":
            name = rest or "process"
        elif first == "timeouts":
            name = rest
        elif f"{first}_{rest}" in CLIENTS:
            name = f"{first}_{rest}"
        return name if name in self.fields else None


def _filled(given: Mapping[str, Any], names: Any) -> dict[str, Any]:
    return {name: given[name] for name in names if given.get(name) is not None}


def initial_from(query: Mapping[str, str]) -> dict[str, str]:
    """What a link to the form may choose beforehand."""
    known = {*LaunchForm.base_fields, *process_parameters(), *AS_GIVEN, *RARE, WARM_UP}
    return {name: query[name] for name in query if name in known}


def choices_of(run: Run) -> dict[str, Any]:
    """The choices that made a run, for a link that opens the form with all of them."""
    scenario = run.scenario
    return {
        **(
            {"host": "model", "profile": run.profile}
            if run.profile
            else {"endpoint": run.endpoint_id}
        ),
        "policy_version": run.policy_version_id,
        "workload": run.workload_id,
        "slo_version": run.slo_version_id or "",
        "shadow_version": run.shadow_version_id or "",
        WORKERS: run.workers,
        MACHINES: run.machines,
        **{
            name: value for name, value in scenario.get("arrivals", {}).items() if value is not None
        },
        **_filled(scenario, (*AS_GIVEN, WARM_UP, SALT, TRANSPORT)),
        **_filled(scenario.get("timeouts", {}), TIMEOUTS),
        **{
            name: scenario[part][info.name]
            for name, (part, info) in CLIENTS.items()
            if scenario.get(part)
        },
    }
