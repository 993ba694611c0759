"""Bodies as the API reads them: JSON whose every string is text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import JSONParser

from documents.characters import not_text
from documents.problem import DocumentError


class BodyParser(JSONParser):
    """DRF's; it refuses what could be neither stored nor answered."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        given = super().parse(stream, media_type, parser_context)
        if problems := list(not_text(given)):
            raise DocumentError(problems)
        return given
