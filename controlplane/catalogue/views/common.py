"""What the pages of all kinds share: the list's shape, and deleting."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from controlplane.catalogue.models import Owned
from controlplane.catalogue.services.common import InUse, delete
from documents.yaml_text import to_yaml


def table(columns: list[tuple[str, str]], rows: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """For parts/table.html: columns are (label, "n" for a number or ""), cells get the label."""
    for row in rows:
        for cell, (label, align) in zip(row, columns, strict=True):
            cell |= {"label": label, "n": align == "n"}
    return {
        "columns": [{"label": label, "n": align == "n"} for label, align in columns],
        "rows": rows,
    }


def main(row: Owned) -> dict[str, Any]:
    """A row's first cell: its name, linked, with its description below."""
    return {
        "text": row.name,
        "href": row.get_absolute_url(),
        "sub": row.description,
        "main": True,
    }


def remove(request: HttpRequest, row: Owned, *, back: str) -> HttpResponse:
    """Delete and go back to the list; what is in use stays, and the page says by what."""
    try:
        delete(actor=request.actor, row=row)
    except InUse as refusal:
        messages.error(request, str(refusal))
        return redirect(row.get_absolute_url())
    messages.success(request, _("%(name)s is deleted.") % {"name": row.name})
    return redirect(back)


def as_yaml(document: object) -> str:
    return to_yaml(document)
