"""The form that plays a system."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.experiments.asking import MOST_SEEDS, Ask
from controlplane.experiments.models import Way
from documents.problem import DocumentError
from loadtest.reproduce.plan import MOST_SCALE
from loadtest.reproduce.systems.base import systems
from simulator import profile as profiles

SERVED = "served"


def _with_day() -> str:
    """Where a scale means something: which systems, played how."""
    named = "|".join(name for name, system in sorted(systems.all().items()) if system.has_day)
    return f"system={named}&way={Way.VIRTUAL}"


class ExperimentForm(forms.Form):
    """``ask()`` is for a form that is valid."""

    system = forms.ChoiceField(label=_("Source system"))
    way = forms.ChoiceField(
        label=_("How"),
        choices=Way.choices,
        required=False,
        initial=Way.VIRTUAL,
        help_text=_(
            "over HTTP a load test plays what it can enforce, in real time on the worker's machine"
        ),
    )
    configuration = forms.CharField(
        label=_("Configuration"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        help_text=_("JSON with scheduler, slo, admission and loadgen, as the source writes it"),
    )
    profile = forms.ChoiceField(
        label=_("Engine"), required=False, help_text=_("the model that plays the configuration")
    )
    seeds = forms.IntegerField(
        label=_("Seeds"),
        initial=5,
        min_value=1,
        max_value=MOST_SEEDS,
        help_text=_("runs of everything; an interval takes two, and five say more"),
    )
    scale = forms.FloatField(
        label=_("Scale of the day"),
        required=False,
        help_text=_(
            "an hour of its day is played as an Nth of one: empty is 60, a minute; 1 is the whole "
            "day, most of an hour of one core a seed"
        ),
    )
    reduced = forms.BooleanField(
        label=_("Reduced"),
        required=False,
        help_text=_("shorter runs of the same shape: a look, not the figures of the documentation"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].choices = [(name, name) for name in sorted(systems.all())]
        self.fields["seeds"].bounds = f"1 – {MOST_SEEDS}"
        self.fields["profile"].choices = [(name, name) for name in profiles.names()]
        self.fields["profile"].initial = profiles.DEFAULT
        self.fields["configuration"].code = True
        for name in ("configuration", "profile"):
            self.fields[name].widget.attrs["data-when"] = f"way={Way.CONFIGURATION}"
        scale = self.fields["scale"]
        scale.bounds = f"1 – {MOST_SCALE:g}"
        scale.widget.attrs |= {"placeholder": f"{MOST_SCALE:g}", "data-when": _with_day()}
        self._ask: Ask | None = None

    def clean_configuration(self) -> object:
        """As JSON; empty where none is played."""
        text = self.cleaned_data["configuration"].strip()
        if self.cleaned_data.get("way") != Way.CONFIGURATION:
            return None
        if not text:
            raise forms.ValidationError(_("This field is required."))
        try:
            given = json.loads(text)
        except ValueError as error:
            raise forms.ValidationError(
                _("This is no JSON: %(why)s.") % {"why": str(error)}
            ) from None
        if not isinstance(given, dict):
            raise forms.ValidationError(
                _("It must be an object with scheduler, slo, admission and loadgen.")
            )
        return given

    def clean(self) -> dict[str, Any]:
        """What can't be played is told at its field."""
        given = self.cleaned_data
        if self.errors:
            return given
        configured = given["configuration"] is not None
        try:
            self._ask = Ask(
                system=given["system"],
                seeds=given["seeds"],
                reduced=given["reduced"],
                served=given["way"] == Way.SERVED,
                configuration=given["configuration"],
                profile=given["profile"] or None if configured else None,
                scale=given["scale"],
            )
        except DocumentError as error:
            for problem in error.problems:
                self._tell(problem.path, problem.message)
        return given

    def _tell(self, path: str, message: str) -> None:
        name, _dot, rest = path.partition(".")
        field = "way" if name == SERVED else name
        if name == "configuration" and not rest:
            field = "system"  # only one system has one
        said = f"{rest} {message}" if rest else message
        self.add_error(field if field in self.fields else None, said)

    def ask(self) -> Ask:
        """What it asks for."""
        assert self._ask is not None  # noqa: S101 - asked of a valid form
        return self._ask
