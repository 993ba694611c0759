"""What people type about a rollout; its services judge it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import tell
from documents.problem import DocumentError


class DecideForm(forms.Form):
    """A person's word, with the password again."""

    comment = forms.CharField(
        label=_("Comment"),
        required=False,
        max_length=1000,
        help_text=_("Kept in the audit log; needed to reject"),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    password = forms.CharField(
        label=_("Your password"),
        required=False,
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text=_("An approval is given by a person, signed in again"),
    )
    binding = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)
    criteria = forms.MultipleChoiceField(required=False, widget=forms.MultipleHiddenInput)

    def __init__(self, *args: Any, rare: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["criteria"].choices = [(name, name) for name in rare]  # type: ignore[attr-defined]
        for name in ("comment", "password"):
            self.fields[name].tall = True  # type: ignore[attr-defined]

    def tell(self, error: DocumentError) -> None:
        tell(self, error)


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), required=False, max_length=400)


class FreezeForm(forms.Form):
    starts_at = forms.DateTimeField(
        label=_("From"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("UTC"),
    )
    ends_at = forms.DateTimeField(
        label=_("Until"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("UTC; within 31 days"),
    )
    reason = forms.CharField(label=_("Reason"), max_length=200)

    def tell(self, error: DocumentError) -> None:
        tell(self, error)
