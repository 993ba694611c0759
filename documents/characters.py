"""Characters that no text has: half surrogate pairs, which JSON and YAML can write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from documents.problem import Problem

NO_TEXT = "holds a character that is no text"


def is_text(value: str) -> bool:
    """Whether it can be written as UTF-8, and so stored and sent."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(key: object) -> str:
    """A key as a path can tell it."""
    return str(key).encode(errors="backslashreplace").decode()


def not_text(value: object, *, path: str = "") -> Iterator[Problem]:
    """One problem for each string in a value, keys included, that is no text.

    None tells what stands there, which may be a secret.
    """
    waiting = [(path, value)]
    while waiting:
        where, one = waiting.pop()
        if isinstance(one, str) and not is_text(one):
            yield Problem(where, "…", NO_TEXT)
        elif isinstance(one, Mapping):
            for key, item in one.items():
                below = f"{where}.{shown(key)}" if where else shown(key)
                if isinstance(key, str) and not is_text(key):
                    yield Problem(below, "…", NO_TEXT)
                waiting.append((below, item))
        elif isinstance(one, list | tuple):
            waiting.extend(
                (f"{where}.{n}" if where else str(n), item) for n, item in enumerate(one)
            )
