"""Writes every report format that has a file, and renders one by name."""

from __future__ import annotations

from pathlib import Path

from loadtest.conclusion import Conclusion
from loadtest.reports.base import formats


def write_files(conclusion: Conclusion, out: Path) -> None:
    """Each file whole or not at all, so that a reader never meets half a report."""
    for cls in formats.all().values():
        if cls.filename is not None:
            path = out / cls.filename
            fresh = path.with_name(f".{cls.filename}.new")
            text = cls().render(conclusion)
            try:
                fresh.write_text(text, "utf-8")
                fresh.replace(path)
            except OSError as error:  # a full disk names no file
                raise OSError(error.errno, error.strerror, str(path)) from error


def render(name: str, conclusion: Conclusion) -> str:
    """One report as text; DocumentError lists the formats."""
    return formats.get(name)().render(conclusion)
