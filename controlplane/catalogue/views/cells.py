"""The cells of every list, and a document as its editor shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _

from controlplane.catalogue.diffing import Change, Kind
from controlplane.catalogue.models import Owned
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


def diff_rows(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """For catalogue/_diff.html: a diff's lines with their values as people read them."""
    return [
        {
            "path": one.path,
            "before": "–" if one.kind is Kind.ADDED else value_text(one.before),
            "after": "–" if one.kind is Kind.REMOVED else value_text(one.after),
            "kind": str(one.kind),
            "unit": one.unit,
            "help": one.help,
        }
        for one in changes
    ]


def value_text(value: object) -> str:
    """``4,096``, ``true``, a list with commas; a parameter without a value is ``unset``."""
    if value is None or value in ("", [], {}):
        return _("unset")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,.15g}".replace("-", "−")
    if isinstance(value, list):
        return ", ".join(value_text(one) for one in value)
    return str(value)


def as_yaml(document: object) -> str:
    return to_yaml(document)
