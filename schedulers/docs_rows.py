"""The rows of docs/policies.md, written by the laws themselves; a test holds the page to them."""

from __future__ import annotations

from documents.fields import FieldInfo, describe
from schedulers.decision import DecisionPoint, Reason
from schedulers.enforcement import Host, enforcement
from schedulers.law import Law
from schedulers.points import registered

_ARTICLE = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def law_rows() -> list[str]:
    """One row a law: decision point, name, standing, what it does, what is wrong with it."""
    return [
        _row(str(point), f"`{law.name}`", str(law.standing), law.summary, _faults(law))
        for point in DecisionPoint
        for law in registered(point).values()
    ]


def parameter_rows() -> list[str]:
    """One row a parameter of every law."""
    return [
        _row(
            f"`{point}.{info.name}`",
            f"`{law.name}`",
            _takes(info),
            info.unit or "–",
            _default(info),
            info.help,
        )
        for point in DecisionPoint
        for law in registered(point).values()
        for info in describe(law)
    ]


def reason_rows() -> list[str]:
    """One row a reason that a decision can give."""
    return [_row(f"`{reason}`", reason.meaning) for reason in Reason]


def enforcement_rows() -> list[str]:
    """One row a decision point and host."""
    found = [enforcement(point, host) for point in DecisionPoint for host in Host]
    return [_row(str(cell.point), _words(cell.host), _words(cell.mode), cell.why) for cell in found]


def _row(*cells: str) -> str:
    safe = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(safe)} |"


def _faults(law: type[Law]) -> str:
    return " ".join(fault.text for fault in law.faults) or "–"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _takes(info: FieldInfo) -> str:
    if info.choices:
        takes = " or ".join(f"`{choice}`" for choice in info.choices)
    else:
        above = "above " if info.exclusive_minimum else ""
        low = "" if info.minimum is None else f"{above}{info.minimum:.10g}"
        high = "" if info.maximum is None else f" to {info.maximum:.10g}"
        takes = f"{_ARTICLE[info.kind]}, {low}{high}" if low or high else _ARTICLE[info.kind]
    return f"{takes}; or empty" if info.optional else takes


def _default(info: FieldInfo) -> str:
    if info.required:
        return "required"
    if info.default is None:
        return "empty"
    return f"{info.default:.10g}" if isinstance(info.default, int | float) else f"`{info.default}`"
