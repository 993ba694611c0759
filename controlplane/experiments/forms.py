"""The form that plays a system."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.experiments.asking import MOST_SEEDS, Ask
from loadtest.reproduce.systems.base import systems


class ExperimentForm(forms.Form):
    """``ask()`` is for a form that is valid."""

    system = forms.ChoiceField(label=_("Source system"))
    seeds = forms.IntegerField(
        label=_("Seeds"),
        initial=5,
        min_value=1,
        max_value=MOST_SEEDS,
        help_text=_("runs of everything; an interval takes two, and five say more"),
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

    def ask(self) -> Ask:
        """What it asks for."""
        given = self.cleaned_data
        return Ask(given["system"], given["seeds"], given["reduced"])
