"""The page on engines is complete: a row for each kind, saying what its adapter says."""

from __future__ import annotations

from pathlib import Path

from engines.dialect import Dialect
from engines.signals.base import SIGNALS, EngineAdapter, adapter, adapters

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def asked(dialect: Dialect) -> str:
    fields = {
        "continuous_usage_stats": dialect.continuous_usage,
        "ignore_eos": dialect.ignore_eos,
        "min_tokens": dialect.min_tokens,
    }
    return ", ".join(f"`{name}`" for name, on in fields.items() if on) or "–"


def marks(made: EngineAdapter) -> str:
    owners = [f"`owned_by` {', '.join(made.owners)}"] if made.owners else []
    metrics = [f"metrics `{made.metric_prefix}…`"] if made.metric_prefix else []
    return "; ".join(owners + metrics) or "–"


def row(kind: str) -> str:
    made = adapter(kind)
    signals = ", ".join(name for name in SIGNALS if name in made.capabilities) or "none"
    cells = [f"`{kind}`", made.summary, asked(made.dialect), signals, marks(made)]
    return f"| {' | '.join(cells)} |"


def test_the_page_has_exactly_a_row_for_each_kind() -> None:
    section = PAGE.read_text("utf-8").split("\n## Kinds\n")[1].split("\n## ")[0]
    written = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert written == [row(kind) for kind in adapters.all()]
