"""What the signs of a reproduction mean, in words: of those that it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from loadtest.reproduce.rendering import shown
from loadtest.reproduce.table import Cell, Reproduction

NOTHING = "–"
AGAIN = "″"


class Sign(NamedTuple):
    """``sign`` as it stands in a table; ``found``: where, as a regular expression."""

    sign: str
    words: str
    found: str


SIGNS = (
    Sign(
        "±",
        "half of the 95 % interval of the mean over seeds, by Student's t: with other seeds the "
        "mean would mostly lie so near",
        "±",
    ),
    Sign(NOTHING, "no such number: it was neither told nor measured", f"^{NOTHING}$"),
    Sign(AGAIN, "the same case as the line above", f"^{AGAIN}$"),
    Sign("…", "the measure above goes on", "^…"),
    Sign("( )", "after a number: the setting that it was had with, or what it is of", r"\)$"),
    Sign("never", "it did not happen before the run ended, with as many seeds as told", "^never"),
    Sign(
        "σ",
        "spread: the standard deviation of the logarithm of what is drawn, so 0.1 is about 10 %",
        r"σ(?!²)",
    ),
    Sign("e^σ²", "what log-normal sizes of spread σ multiply a mean wait by", r"e\^σ²"),
    Sign("λ", "requests that came a second", "λ"),
    Sign("W", "mean stay of a request, from its coming to its leaving", r"\bW\b"),
    Sign("L", "requests inside, as a mean over time; by Little's law it is λ·W", r"\bL\b"),
    Sign(
        "α",
        "index of a Pareto tail: the smaller, the heavier; moments from it on are infinite",
        "α",
    ),
    Sign("κ", "how much a request's size counts in its order; 0: not at all", "κ"),
    Sign("τ(n)", "seconds that a step of the engine takes with n sequences in it", r"τ\(n\)"),
    Sign("E[O]", "mean tokens of an answer", r"E\[O\]"),
    Sign("v·TPOT", "the source's own sum: tokens a second × the time that a token may take", "v·"),
    Sign("TTFT", "time to first token, from a request's arrival", "TTFT"),
    Sign("TPOT", "time per output token after the first", "TPOT"),
    Sign("P50, P95, P99", "as many in a hundred are at or below it", r"\bP\d\d\b"),
    Sign("KV", "the memory that keeps keys and values of the tokens in the engine", r"\bKV\b"),
    Sign("429", "an answer of the server: too many requests, come again later", "429"),
    Sign("Jain", "Jain's index of how alike shares are: 1 is equal, 1/n all for one of n", "Jain"),
    Sign("tok/s", "output tokens a second", "tok/s"),
)


def legend(result: Reproduction, laws: str, *, repeats_cases: bool = True) -> list[Sign]:
    """Those of SIGNS that stand in its table, in its sentences, or in what is said of its laws.

    ``repeats_cases``: the table says ″ where a case goes on.
    """
    told = {*_told(result), *(one.sentence for one in result.findings), laws}
    if repeats_cases and len({row.case for row in result.rows}) < len(result.rows):
        told.add(AGAIN)
    return [one for one in SIGNS if any(re.search(one.found, text) for text in told)]


def _told(result: Reproduction) -> Iterator[str]:
    for row in result.rows:
        yield from (row.case, row.measure, row.unit)
        yield from (_shown(cell) for cell in row.cells)


def _shown(cell: Cell | None) -> str:
    return NOTHING if cell is None else shown(cell)
