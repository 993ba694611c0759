"""What headers and bodies may tell us: when to come back, and an excerpt without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

LONGEST_RETRY = 86_400.0
EXCERPT = 500

_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+")
_KEY = re.compile(r"\b(?:sk|pk|rk|hw|hf|gsk|xai)[-_](?=[\w-]*\d)[\w-]{16,}")
_FIELD = re.compile(
    r"(?i)(api[-_]?key|authorization|password|secret)([\"']?\s*[:=]\s*[\"']?)[^\s\"',;&}]+"
)
_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?")


def retry_after(headers: Mapping[str, str], wall: Callable[[], float]) -> float | None:
    """Seconds to wait, from seconds or an HTTP date; 0 to a day, None when not said or unreadable.

    A date is held against the answer's own Date where it has one, so the two clocks may differ.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_RETRY)
    then = _timestamp(value)
    if then is None:
        return None
    now = _timestamp(headers.get("date", ""))
    return min(max(0.0, then - (wall() if now is None else now)), LONGEST_RETRY)


def _timestamp(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def excerpt(body: bytes, secrets: tuple[str, ...] = ()) -> str:
    """The first 500 characters of a body, with our own key and anything like one removed."""
    text = body.decode("utf-8", "replace").strip()
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[removed]")
    text = _BEARER.sub(r"\1 [removed]", text)
    text = _FIELD.sub(r"\1\2[removed]", text)
    text = _KEY.sub("[removed]", text)
    return text[:EXCERPT]
