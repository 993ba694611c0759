"""The one byte form of a document, and the hash that names it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from documents.characters import not_text
from documents.problem import DocumentError


def canonical(document: Any) -> bytes:
    """Sorted keys, no spaces, UTF-8; a whole float is written as an integer, so 1.0 names 1."""
    if problems := list(not_text(document)):
        raise DocumentError(problems)
    text = json.dumps(
        _plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def sha256(document: Any) -> str:
    """Hex SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical(document)).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
