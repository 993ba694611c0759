"""The cells of every list, and a document as its editor shows it."""

from __future__ import annotations

from typing import Any

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


def as_yaml(document: object) -> str:
    return to_yaml(document)
