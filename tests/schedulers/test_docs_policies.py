"""The page on policies is complete: it holds every row that the code writes about itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from schedulers.builtin import builtin_names
from schedulers.docs_rows import enforcement_rows, law_rows, parameter_rows, reason_rows

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"


def table(heading: str) -> list[str]:
    """The rows under a heading, without the table's own two head lines."""
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("Laws", law_rows),
        ("Parameters", parameter_rows),
        ("Decisions", reason_rows),
        ("Who enforces what", enforcement_rows),
    ],
)
def test_the_page_has_exactly_the_rows_that_the_code_writes(
    heading: str, rows: Callable[[], list[str]]
) -> None:
    written = table(heading)
    missing = [row for row in rows() if row not in written]
    assert not missing, "rows to add to docs/policies.md:\n" + "\n".join(missing)
    assert written == rows()


def test_the_page_names_every_built_in_policy() -> None:
    text = PAGE.read_text("utf-8")
    assert [name for name in builtin_names() if f"`{name}`" not in text] == []
