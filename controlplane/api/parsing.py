"""Bodies as the API reads them: JSON, not too deep, whose every string is text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from documents.characters import not_text
from documents.problem import DocumentError

MAX_DEPTH = 64
TOO_DEEP = f"The body is nested more than {MAX_DEPTH} levels deep."


class BodyParser(JSONParser):
    """DRF's; it refuses what could be neither stored nor answered."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            given = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError(TOO_DEEP) from None
        if too_deep(given):
            raise ParseError(TOO_DEEP)
        if problems := list(not_text(given)):
            raise DocumentError(problems)
        return given


def too_deep(value: Any) -> bool:
    """Whether what reads it by recursion could fail; level by level, so this does not."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
