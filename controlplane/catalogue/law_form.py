"""A policy's laws as a form, one part for each decision point, made from their own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.forms import DocumentForm, tell
from documents.problem import DocumentError
from schedulers.decision import DecisionPoint
from schedulers.enforcement import Host, enforcement
from schedulers.points import registered

TITLES = {
    DecisionPoint.ADMISSION: _("Admission law"),
    DecisionPoint.ORDERING: _("Ordering law"),
    DecisionPoint.CONCURRENCY: _("Concurrency law"),
    DecisionPoint.BATCHING: _("Batching law"),
    DecisionPoint.PREEMPTION: _("Preemption law"),
    DecisionPoint.RETRY: _("Retry law"),
}
HOSTS = {
    Host.ENGINE_MODEL: _("engine model"),
    Host.LOAD_TEST: _("load test"),
    Host.GATEWAY: _("gateway"),
    Host.REAL_ENGINE: _("a real engine's configuration"),
}


class AboutForm(forms.Form):
    """Who the policy is; once named it keeps its name."""

    name = forms.CharField(
        label=_("Name"), required=False, help_text=_("Small letters, digits and dashes")
    )
    owner = forms.CharField(label=_("Owner"), required=False)
    description = forms.CharField(label=_("Description"), required=False)


class PointForm:
    """One decision point: which law fills it, if any, and that law's parameters.

    What was typed counts for the law that the page showed it for (``shown``); another law begins
    with the base's values where the base has that law, else with its defaults.
    """

    def __init__(
        self, point: DecisionPoint, data: Mapping[str, Any] | None, *, now: Mapping[str, Any]
    ) -> None:
        self.point = str(point)
        self.title = TITLES[point]
        self.laws = registered(point)
        self._now = now
        self.select, self.shown = f"{point}-law", f"{point}-shown"
        told = data is not None and self.select in data
        self.name = str(data[self.select] if data and told else now.get("law", ""))
        self.law = self.laws.get(self.name)
        self.stranger = self.name if self.name and self.law is None else ""
        """A law that is no longer there: it stays until another is chosen."""
        self.parameters: DocumentForm | None = None
        if self.law is not None:
            values = now if now.get("law") == self.name else {}
            same = data is not None and told and data.get(self.shown, self.name) == self.name
            self.parameters = DocumentForm(
                data if same else None, of=self.law, values=values, prefix=self.point
            )

    @property
    def where(self) -> list[Any]:
        """The hosts on which a law of this point acts."""
        return [HOSTS[host] for host in Host if enforcement(DecisionPoint(self.point), host).acts]

    def entry(self) -> dict[str, Any] | None:
        """The point's part of the document; None leaves the point open."""
        if not self.name:
            return None
        if self.parameters is None or not self.parameters.is_bound:
            return dict(self._now) if self._now.get("law") == self.name else {"law": self.name}
        return {"law": self.name, **self.parameters.mapping()}


class LawForm:
    """Who the policy is, and its laws; ``document`` puts them into the base."""

    def __init__(
        self, data: Mapping[str, Any] | None, *, base: Mapping[str, Any], named: bool
    ) -> None:
        self.base = base
        self.points = [
            PointForm(point, data, now=base["spec"].get(str(point), {})) for point in DecisionPoint
        ]
        metadata = {key: base["metadata"].get(key, "") for key in ("owner", "description")}
        if named:
            metadata["name"] = base["metadata"]["name"]
        self.about = AboutForm(data, initial=metadata)
        if named:
            name = self.about.fields["name"]
            name.disabled = True
            name.help_text = _("All versions keep it; another name is another policy")

    def at(self, point: str) -> PointForm:
        """The part of one decision point."""
        return next(one for one in self.points if one.point == point)

    def document(self) -> dict[str, Any]:
        """The base document with these laws and these words in it."""
        self.about.is_valid()
        given = self.about.cleaned_data
        said = {key: given.get(key, "") for key in ("name", "owner", "description")}
        entries = {one.point: one.entry() for one in self.points}
        return {
            **self.base,
            "metadata": {**self.base["metadata"], **said},
            "spec": {point: entry for point, entry in entries.items() if entry is not None},
        }

    def tell(self, error: DocumentError) -> None:
        """Problems of a law at its parameters, of the metadata at its words, the rest on top."""
        left = list(error.problems)
        for one in self.points:
            mine = [p for p in left if p.path.startswith(f"spec.{one.point}")]
            form = one.parameters
            if mine and form is not None and form.is_bound:
                tell(form, DocumentError(mine), below=f"spec.{one.point}")
                left = [p for p in left if p not in mine]
        if left:
            tell(self.about, DocumentError(left), below="metadata")
