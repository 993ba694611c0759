"""YAML as people write it, read strictly: no double keys, no aliases, capped in size and depth."""

from __future__ import annotations

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
