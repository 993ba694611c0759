"""Text of others, as it may go to a terminal: nothing in it moves a cursor or changes a title."""

from __future__ import annotations

_SHOWN = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd") | {0x09: " ", 0x0A: "\n"}


def printable(text: str) -> str:
    """C0 and C1 control characters, but the end of a line, are shown as a replacement mark."""
    return text.translate(_SHOWN)
