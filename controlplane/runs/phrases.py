"""Numbers as people read them: thousands with a comma, a true minus, a time as m:ss."""

from __future__ import annotations

NOTHING = "–"


def number(value: float | None, digits: int = 0) -> str:
    """``3190`` is ``3,190``; None is a dash, never 0."""
    if value is None:
        return NOTHING
    return f"{value:,.{digits}f}".replace("-", "−")


def share(value: float | None, digits: int = 2) -> str:
    """A share as a percentage without its sign."""
    return NOTHING if value is None else number(100 * value, digits)


def clock(seconds: float) -> str:
    """``40`` is ``0:40``; past an hour ``1:02:03``."""
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count(value: int, noun: str, plural: str = "") -> str:
    """``1 cohort``, ``30 cohorts``."""
    return f"{number(value)} {noun if value == 1 else plural or noun + 's'}"
