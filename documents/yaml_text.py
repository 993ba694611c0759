"""YAML as people write it, read strictly: no double keys, no aliases, capped in size and depth."""

from __future__ import annotations

import json
from typing import Any

import yaml

from documents.characters import not_text
from documents.problem import DocumentError, Problem

MAX_BYTES = 64 * 1024
MAX_DEPTH = 24


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which keeps the last of two equal keys, made to refuse them."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise self._fault("aliases (*name) are not read here; write the value out")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._fault(f"is nested more than {MAX_DEPTH} levels deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _fault(self, message: str) -> DocumentError:
        return DocumentError([Problem("", f"line {self.line + 1}", message)])

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen = set()
        for key_node, _ in node.value:
            key = (key_node.tag, key_node.value) if isinstance(key_node.value, str) else None
            if key in seen:
                line = key_node.start_mark.line + 1
                message = f"stands twice in one mapping (again in line {line})"
                raise DocumentError([Problem(str(key_node.value), key_node.value, message)])
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep=deep)


def parse_yaml(text: str) -> Any:
    """The plain value that a YAML (or JSON) text holds; DocumentError says where it is broken."""
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentError([Problem("", f"{size} bytes", f"must not exceed {MAX_BYTES} bytes")])
    try:
        value = _json(text)
        if value is None:
            value = yaml.load(text, _StrictLoader)  # noqa: S506 - a SafeLoader, only stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise DocumentError([Problem("", _snippet(text), f"{error.problem}{where}")]) from None
    except DocumentError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError([Problem("", _snippet(text), f"is no YAML: {error}")]) from None
    if problems := list(not_text(value)):
        raise DocumentError(problems)
    return value


def _json(text: str) -> Any:
    """What a JSON text holds: PyYAML reads no tab, no ``2e1`` and no pair of surrogates, which JSON
    has. None where it is none, or holds what YAML's reader refuses and names."""
    bare = text.removeprefix("\ufeff").strip()
    if bare[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(bare, object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return None if _deeper(value, MAX_DEPTH) else value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refused(word: str) -> None:
    raise ValueError(word)


def _deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels <= 0 or any(_deeper(one, levels - 1) for one in inside)


def to_yaml(document: Any) -> str:
    """A document as YAML, in its own order of keys."""
    text = _dump(document, plain=True)
    # PyYAML writes these as they are and reads them back as line breaks.
    return _dump(document, plain=False) if any(c in text for c in "\x85\u2028\u2029") else text


def _dump(document: Any, *, plain: bool) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=plain, width=100)
    return text


def _snippet(text: str) -> str:
    return text.strip()[:60]
