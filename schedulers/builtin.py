"""The policies that come with Headway: documents like any other, found by their name."""

from __future__ import annotations

from functools import cache
from importlib import resources

from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from schedulers.document import Policy

_SUFFIX = ".yaml"


@cache
def builtin_names() -> tuple[str, ...]:
    """The names of every built-in policy, in order."""
    files = (resources.files("schedulers") / "catalogue").iterdir()
    return tuple(sorted(f.name.removesuffix(_SUFFIX) for f in files if f.name.endswith(_SUFFIX)))


@cache
def builtin(name: str) -> Policy:
    """The built-in policy of that name, or a DocumentError that lists the known ones."""
    if name not in builtin_names():
        message = f"unknown built-in policy; known: {', '.join(builtin_names())}"
        raise DocumentError([Problem("policy", name, message)])
    text = (resources.files("schedulers") / "catalogue" / f"{name}{_SUFFIX}").read_text("utf-8")
    return Policy.parse(parse_yaml(text))
