"""A mapping becomes a frozen dataclass, or a list of everything that is wrong with it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from documents.characters import NO_TEXT, is_text, not_text, shown
from documents.fields import FieldInfo, describe
from documents.problem import DocumentError, Problem

T = TypeVar("T")


def build(cls: type[T], given: object, *, path: str = "") -> T:
    """Make ``cls`` from a mapping; every fault is collected before raising DocumentError."""
    if not isinstance(given, Mapping):
        raise DocumentError([Problem(path, given, "must be a mapping of field: value")])
    infos = {info.name: info for info in describe(cls)}
    problems = list(unknown_keys(given, infos, path=path))
    values: dict[str, Any] = {}
    for name, info in infos.items():
        where = f"{path}.{name}" if path else name
        if name not in given:
            if info.required:
                problems.append(Problem(where, None, f"is required; {_wanted(info)}"))
            continue
        try:
            values[info.attribute] = check(info, given[name], path=where)
        except DocumentError as error:
            problems.extend(error.problems)
    if problems:
        raise DocumentError(problems)
    try:
        return cls(**values)
    except DocumentError as error:
        raise (error.below(path) if path else error) from None


def unknown_keys(
    given: Mapping[Any, Any], known: Iterable[str], *, path: str = ""
) -> Iterable[Problem]:
    """One problem for each key that nobody reads, with the nearest known one as the remedy."""
    names = list(known)
    for key in given:
        if key in names:
            continue
        near = difflib.get_close_matches(str(key), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(names)}"
        where = f"{path}.{shown(key)}" if path else shown(key)
        yield Problem(where, given[key], f"unknown field; {hint}")


def check(info: FieldInfo, value: object, *, path: str) -> Any:
    """One value against its field's type, range and choices."""
    if value is None and info.optional:
        return None
    if info.kind is bool:
        return _boolean(info, value, path)
    if info.kind in (int, float):
        return _number(info, value, path)
    if info.kind is str:
        return _text(info, value, path)
    if problems := list(not_text(value, path=path)):
        raise DocumentError(problems)
    return value


def _boolean(info: FieldInfo, value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise DocumentError([Problem(path, value, f"must be true or false{_help(info)}")])
    return value


def _number(info: FieldInfo, value: object, path: str) -> int | float:
    def fault() -> DocumentError:
        return DocumentError([Problem(path, value, f"must be {_wanted(info)}")])

    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise fault()
    if info.kind is int and value != int(value):
        raise fault()
    low, high = info.minimum, info.maximum
    too_low = low is not None and (value < low or (info.exclusive_minimum and value == low))
    if too_low or (high is not None and value > high):
        raise fault()
    return int(value) if info.kind is int else float(value)


def _finite(value: float) -> bool:
    """A whole number too large for a float is as good as infinite."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _text(info: FieldInfo, value: object, path: str) -> str:
    if not isinstance(value, str) or (info.choices and value not in info.choices):
        raise DocumentError([Problem(path, value, f"must be {_wanted(info)}")])
    if not is_text(value):
        raise DocumentError([Problem(path, value, NO_TEXT)])
    return value


def _wanted(info: FieldInfo) -> str:
    """What the field takes, in words: type, range and unit."""
    if info.choices:
        return f"one of {', '.join(info.choices)}"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    wanted = words.get(info.kind, "a value")
    low, high = info.minimum, info.maximum
    if low is not None and info.exclusive_minimum:
        wanted += f" above {low:g}" + (f" and up to {high:g}" if high is not None else "")
    elif low is not None and high is not None:
        wanted += f" from {low:g} to {high:g}"
    elif low is not None:
        wanted += f" of at least {low:g}"
    elif high is not None:
        wanted += f" of at most {high:g}"
    return f"{wanted} {info.unit}".rstrip()


def _help(info: FieldInfo) -> str:
    return f" ({info.help})" if info.help else ""
