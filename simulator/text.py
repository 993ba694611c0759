"""The simulated tokeniser, and answers whose token count is exact.

A token is a run of up to six non-blank bytes of UTF-8: ``hello`` is one token, ``continuous`` two.
A chat's prompt is the sum over its messages' texts; roles cost nothing. English comes out at about
1.3 tokens a word, as with real tokenisers. Answers are words of four letters, one token each.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from zlib import crc32

_TOKEN = re.compile(rb"\S{1,6}")
_NORMAL = NormalDist()
NATURAL_MEDIAN = 200
NATURAL_SIGMA = 0.7
"""Answers that may end by themselves: log-normal lengths, by default this median and spread."""

_VOCABULARY = """
able area away back bank base bear best blue boat body book both call calm camp card care case
city cold cool copy corn cost crew dark data dawn deal deep desk door down draw east easy edge
even face fact fair fall farm fast felt file find fire fish flat flow food form free from full
game gate give glad goal gold good gray grew grow half hall hand hard head hear heat help here
high hill hold home hope hour idea into iron item join just keep kind know lake land last late
lead leaf left less life lift like line list live long look lost made main make many
"""
WIDTH = 5
"""Characters of one token of an answer: a space and a word."""
PIECES = tuple(f" {word}" for word in _VOCABULARY.split())


def tokens_of(text: str) -> list[bytes]:
    """Tokens of a text by the rule above."""
    return _TOKEN.findall(text.encode(errors="surrogatepass"))


def count_tokens(text: str) -> int:
    """How many they are."""
    return len(tokens_of(text))


def key_of(text: str, seed: int) -> int:
    """What decides the answer: the same prompt and seed give the same words."""
    return crc32(text.encode(errors="surrogatepass"), seed & 0xFFFFFFFF)


def piece(key: int, index: int) -> str:
    """Token ``index`` of the answer, with its leading space."""
    return PIECES[(key + index * (1 + key % 7) + (index * index >> 3)) % len(PIECES)]


def text_of(key: int, tokens: int) -> str:
    """The first ``tokens`` tokens of the answer."""
    return "".join(piece(key, index) for index in range(tokens))


def natural_length(key: int) -> int:
    """Tokens after which the answer would end by itself: log-normal, always the same for a key."""
    scattered = (key * 2654435761 + 0x9E3779B9) & 0xFFFFFFFF
    share = (scattered + 0.5) / 2**32
    return max(1, round(NATURAL_MEDIAN * math.exp(NATURAL_SIGMA * _NORMAL.inv_cdf(share))))


@dataclass(frozen=True, slots=True)
class Ending:
    """Where an answer ends: tokens generated, characters shown, and why."""

    tokens: int
    characters: int
    reason: str
    stop: str | None = None
    """The stop string that ended it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request says about where its answer ends."""

    max_tokens: int
    min_tokens: int = 0
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()
    show_stop: bool = False


def ending(key: int, wanted: Wanted) -> Ending:
    """Where the answer ends: the first of a stop string, its natural length and ``max_tokens``."""
    tokens, reason = wanted.max_tokens, "length"
    if not wanted.ignore_eos:
        natural = max(natural_length(key), wanted.min_tokens)
        if natural < tokens:
            tokens, reason = natural, "stop"
    stopped = _stopped(key, tokens, wanted) if wanted.stop else None
    return stopped or Ending(tokens, tokens * WIDTH, reason)


def _stopped(key: int, tokens: int, wanted: Wanted) -> Ending | None:
    text = text_of(key, tokens)
    found: tuple[int, int, str] | None = None
    for stop in wanted.stop:
        begins = _ends_after(text, stop, wanted.min_tokens * WIDTH)
        if begins >= 0 and (found is None or begins + len(stop) < found[0]):
            found = (begins + len(stop), begins, stop)
    if found is None:
        return None
    end, begins, stop = found
    return Ending(-(-end // WIDTH), end if wanted.show_stop else begins, "stop", stop)


def _ends_after(text: str, stop: str, earliest: int) -> int:
    """Where ``stop`` first occurs to end after ``earliest`` characters; −1 if nowhere."""
    return text.find(stop, max(0, earliest - len(stop) + 1))
