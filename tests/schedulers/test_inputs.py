"""Every input that a law tells has words that a page can show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import schedulers
from schedulers.inputs import INPUTS

TELLS = {"decided", "admit", "hold", "shed", "never"}
OTHER = {"at", "point", "law", "before", "after", "reason"}


def told(tree: ast.AST) -> Iterator[str]:
    """Names in calls that make an answer, and in dictionaries given as ``inputs``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TELLS:
            words = (word.arg for word in node.keywords)
            yield from (word for word in words if word and word not in OTHER)
        if isinstance(node, ast.keyword) and node.arg == "inputs":
            keys = node.value.keys if isinstance(node.value, ast.Dict) else []
            yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def test_each_input_of_a_decision_is_described() -> None:
    folder = Path(schedulers.__file__).parent
    found = {
        name for file in folder.rglob("*.py") for name in told(ast.parse(file.read_text("utf-8")))
    }
    assert len(found) > 30
    assert found - set(INPUTS) == set()
