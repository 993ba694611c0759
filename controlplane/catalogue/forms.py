"""Forms made from documents' own fields: label, help, unit and range are written once, there.

A form only gathers what was typed; the document's parser judges it, and each of its problems comes
back to the field it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from documents.fields import FieldInfo, describe
from documents.in_words import label
from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml, to_yaml

SCALARS = (int, float, str, bool)


class DocumentForm(forms.Form):
    """The fields of a dataclass as a form; ``mapping`` is what its parser takes."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        of: type[Any],
        values: Mapping[str, Any] | None = None,
        prefix: str | None = None,
    ) -> None:
        self.infos = describe(of)
        self.values = dict(values or {})
        super().__init__(data, prefix=prefix)
        for info in self.infos:
            self.fields[info.name] = field_for(info, self.values.get(info.name, info.default))

    def mapping(self) -> dict[str, Any]:
        """What was typed, as the parser takes it: numbers as numbers, blank left out."""
        self.is_valid()
        found = {}
        for info in self.infos:
            typed = self.cleaned_data.get(info.name)
            if info.kind is bool:
                found[info.name] = bool(typed)
            elif typed not in (None, ""):
                found[info.name] = typed if info.kind is str else _read(str(typed), info)
            elif info.kind is str and not info.required and not info.choices:
                found[info.name] = ""
        return found

    def tell(self, error: DocumentError, *, below: str = "") -> None:
        """Put each problem at its field; what belongs to none stands on top."""
        tell(self, error, below=below)


class YamlForm(forms.Form):
    """A document as text."""

    text = forms.CharField(
        label=_("Document (YAML)"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 22, "spellcheck": "false", "autocomplete": "off"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, document: object = None) -> None:
        initial = {"text": to_yaml(document)} if document is not None else None
        super().__init__(data, initial=initial)
        self.fields["text"].code = True  # type: ignore[attr-defined]
        self.fields["text"].tall = True  # type: ignore[attr-defined]

    def document(self) -> Any:
        """The parsed text; DocumentError says where it is no YAML."""
        self.is_valid()
        return parse_yaml(self.cleaned_data.get("text", ""))

    def tell(self, error: DocumentError, *, below: str = "") -> None:  # noqa: ARG002
        """Every problem with its path, under the text."""
        for problem in error.problems:
            self.add_error("text", str(problem))


class CredentialForm(forms.Form):
    """Write-only: what is stored never comes back to the page."""

    credential = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        max_length=4000,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
        help_text=_("Sealed when stored and never shown again; a new URL clears it"),
    )
    clear_credential = forms.BooleanField(label=_("Forget the stored key"), required=False)


class WorkloadForm(forms.Form):
    name = forms.CharField(label=_("Name"), required=False)
    description = forms.CharField(label=_("Description"), required=False, max_length=400)

    def tell(self, error: DocumentError, *, below: str = "") -> None:
        tell(self, error, below=below)


class AliasForm(forms.Form):
    """Where an alias is to point. Its checks are the service's, so the API has the same."""

    alias = forms.CharField(
        label=_("Alias"),
        required=False,
        help_text=_("stable, canary, or a new name of small letters, digits and hyphens"),
        widget=forms.TextInput(attrs={"list": "alias-names", "autocomplete": "off"}),
    )
    version = forms.TypedChoiceField(label=_("Points at"), coerce=int)
    reason = forms.CharField(
        label=_("Reason"), required=False, help_text=_("For whoever reads the history")
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, numbers: Iterable[int], alias: str = ""
    ) -> None:
        super().__init__(data, initial={"alias": alias})
        self.fields["version"].choices = [(n, f"v{n}") for n in numbers]  # type: ignore[attr-defined]

    def tell(self, error: DocumentError, *, below: str = "") -> None:
        tell(self, error, below=below)


def field_for(info: FieldInfo, value: Any) -> forms.Field:
    """A form field for one document field. Its checks are the document's, not the form's."""
    label, kwargs = label_of(info), {"required": False, "help_text": info.help, "initial": value}
    field: forms.Field
    if info.choices:
        field = forms.CharField(
            label=label,
            widget=forms.Select(choices=[(word, word) for word in info.choices]),
            **kwargs,
        )
    elif info.kind is bool:
        field = forms.BooleanField(label=label, **kwargs)
    elif info.kind in (int, float):
        kwargs["initial"] = "" if value is None else f"{value:g}" if value < 1e6 else str(value)
        decimal = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        field = forms.CharField(label=label, widget=decimal, **kwargs)
    elif info.kind is str:
        field = forms.CharField(label=label, **kwargs)
    else:
        kwargs["initial"] = to_yaml(value).strip() if value else ""
        field = forms.CharField(
            label=label, widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}), **kwargs
        )
        field.code = True  # type: ignore[attr-defined]
    field.unit, field.bounds = info.unit, bounds(info)  # type: ignore[attr-defined]
    field.required_by_document = info.required  # type: ignore[attr-defined]
    return field


def label_of(info: FieldInfo) -> str:
    """``max_duration_s`` is ``Max duration``: its unit stands beside the field."""
    return label(info.name, unit=bool(info.unit))


def bounds(info: FieldInfo) -> str:
    """``1 – 4,096``, as the mock writes a range."""
    low, high = info.minimum, info.maximum
    if low is not None and high is not None:
        return f"{low:,g} – {high:,g}" if high < 1e6 else f"{low:,g} – {high:,.0f}"
    if low is not None:
        return f"{'over' if info.exclusive_minimum else 'from'} {low:,g}"
    return f"up to {high:,g}" if high is not None else ""


def tell(form: forms.Form, error: DocumentError, *, below: str = "") -> None:
    """Each problem at the field its path names, else on top with its path."""
    for problem in error.problems:
        path = problem.path.removeprefix(f"{below}.") if below else problem.path
        name = path.partition(".")[0]
        if name in form.fields:
            form.add_error(name, _at_field(problem, path, name))
        else:
            form.add_error(None, str(problem))


def _at_field(problem: Problem, path: str, name: str) -> str:
    inner = path.removeprefix(name).lstrip(".")
    shown = "nothing" if problem.value in (None, "") else repr(problem.value)
    said = f"{problem.message} (got {shown})"
    return f"{inner}: {said}" if inner else said


def _read(text: str, info: FieldInfo) -> Any:
    """A number or a mapping as typed; what is none goes on as text, for the parser to refuse."""
    if info.kind in (int, float):
        plain = text.replace(",", "").replace(" ", "")
        for kind in (int, float):
            try:
                return kind(plain)
            except ValueError:
                continue
        return text
    return parse_yaml(text)
