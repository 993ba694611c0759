"""A policy's concurrency law as a form, made from the law's own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import DocumentForm, tell
from documents.problem import DocumentError
from schedulers.decision import DecisionPoint
from schedulers.points import registered

POINT = str(DecisionPoint.CONCURRENCY)


class AboutForm(forms.Form):
    """Who the policy is; once named it keeps its name."""

    name = forms.CharField(
        label=_("Name"), required=False, help_text=_("Small letters, digits and dashes")
    )
    owner = forms.CharField(label=_("Owner"), required=False)
    description = forms.CharField(label=_("Description"), required=False)


class LawForm:
    """Which law, its parameters, and who the policy is; ``document`` puts them into the base."""

    def __init__(
        self, data: Mapping[str, Any] | None, *, base: Mapping[str, Any], named: bool, asked: str
    ) -> None:
        self.laws = registered(DecisionPoint.CONCURRENCY)
        self.base = base
        now = base["spec"].get(POINT, {})
        wanted = (data or {}).get("law") or asked or now.get("law")
        self.law = self.laws.get(wanted) or next(iter(self.laws.values()))
        values = now if now.get("law") == self.law.name else {}
        self.parameters = DocumentForm(data, of=self.law, values=values)
        metadata = {key: base["metadata"].get(key, "") for key in ("owner", "description")}
        if named:
            metadata["name"] = base["metadata"]["name"]
        self.about = AboutForm(data, initial=metadata)
        if named:
            name = self.about.fields["name"]
            name.disabled = True
            name.help_text = _("All versions keep it; another name is another policy")

    def document(self) -> dict[str, Any]:
        """The base document with this law and these words in it."""
        self.about.is_valid()
        given = self.about.cleaned_data
        said = {key: given.get(key, "") for key in ("name", "owner", "description")}
        return {
            **self.base,
            "metadata": {**self.base["metadata"], **said},
            "spec": {
                **self.base["spec"],
                POINT: {"law": self.law.name, **self.parameters.mapping()},
            },
        }

    def tell(self, error: DocumentError) -> None:
        """Problems of the law at its parameters, of the metadata at its words."""
        mine = [p for p in error.problems if p.path.startswith("metadata.")]
        rest = [p for p in error.problems if not p.path.startswith("metadata.")]
        tell(self.about, DocumentError(mine), below="metadata")
        tell(self.parameters, DocumentError(rest), below=f"spec.{POINT}")
