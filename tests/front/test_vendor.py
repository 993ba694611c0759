"""What others wrote is pinned: name, version, licence and hash of each file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

VENDOR = Path(__file__).resolve().parents[2] / "static/vendor"
LINES = [
    line.split()
    for line in (VENDOR / "VERSIONS").read_text().splitlines()
    if line and not line.startswith("#")
]
OPEN = {"MIT", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"}


@pytest.mark.parametrize(("name", "version", "licence", "sha256", "file"), LINES)
def test_a_vendored_file_is_the_one_that_was_pinned(
    name: str, version: str, licence: str, sha256: str, file: str
) -> None:
    assert licence in OPEN
    assert hashlib.sha256((VENDOR / file).read_bytes()).hexdigest() == sha256


def test_every_vendored_file_is_pinned_and_has_its_licence_beside_it() -> None:
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert files - {"VERSIONS"} == {line[-1] for line in LINES}
    assert all((VENDOR / Path(line[-1]).parent / "LICENSE").exists() for line in LINES)


def test_the_plot_library_says_its_own_version() -> None:
    head = (VENDOR / "uplot/uPlot.iife.min.js").read_text()[:200]
    assert next(line[1] for line in LINES if line[0] == "uplot") in head
