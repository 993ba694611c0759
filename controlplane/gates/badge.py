"""The badge: one small SVG, and the key in its address that shows it to those not signed in."""

from __future__ import annotations

import uuid
from html import escape

from django.core import signing

SALT = "headway.gate.badge"
WORDS = {
    "pass": ("passed", "#1a7f37"),
    "fail": ("failed", "#b3261e"),
    "inconclusive": ("inconclusive", "#8a5a00"),
    "invalid": ("invalid", "#57606a"),
    "infrastructure": ("not judged", "#b3261e"),
    "cancelled": ("cancelled", "#57606a"),
    "": ("no verdict yet", "#57606a"),
}
"""White on each of these has a contrast of 4.5 or more."""

_WIDTH, _PAD = 6.6, 12
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="20" role="img" \
aria-label="{said}"><title>{said}</title>\
<rect width="{width:.0f}" height="20" rx="3" fill="#24292f"/>\
<path d="M{left:.0f} 0h{right:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right:.0f}z" fill="{colour}"/>\
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\
<text x="{name_at}" y="14">{name}</text><text x="{word_at:.0f}" y="14">{word}</text></g></svg>
"""


def svg(name: str, outcome: str) -> str:
    """The gate's name, and its newest verdict in a word and a colour."""
    word, colour = WORDS[outcome]
    left, right = len(name) * _WIDTH + _PAD, len(word) * _WIDTH + _PAD
    return _SVG.format(
        width=left + right,
        left=left,
        right=right - 3,
        colour=colour,
        name=escape(name),
        word=word,
        said=escape(f"{name}: {word}"),
        name_at=_PAD // 2,
        word_at=left + _PAD / 2,
    )


def key_of(gate_id: uuid.UUID) -> str:
    """Opens this gate's badge and nothing else; a new SECRET_KEY ends it."""
    return signing.Signer(salt=SALT).signature(str(gate_id))


def opens(key: str, gate_id: uuid.UUID) -> bool:
    """Whether the key was made for this gate."""
    try:
        signing.Signer(salt=SALT).unsign(f"{gate_id}:{key}")
    except signing.BadSignature:
        return False
    return True
