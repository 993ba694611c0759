"""Runs of events that are alike: one event after the other, the same but for one text.

The events of one stream differ in the token that each brings, and in little else. Where one has
been read, others that begin and end with the same bytes and have another text between say the same:
one token more. One pattern finds them all, at a twentieth of what reading each one's JSON costs.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

_LONGEST = 4096
"""Bytes of the first event of a run; what tries places in it must not be made to try for long."""
# A JSON string that is not empty, and that every reader takes: no bare control character, no escape
# that does not exist, none of half a character.
_TEXT = (
    rb'(?!")[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
)
_RUN = re.compile(
    rb'data: (\{[^\n]*?"(?:content|text|reasoning|reasoning_content)" ?: ?")' + _TEXT +
    rb'("[^\n]*\})\n\n((?:data: \1' + _TEXT + rb"\2\n\n)++)"
)  # fmt: skip
_INT = rb"(?:0|[1-9][0-9]{0,8})"
# The usage is the last that the event says, and nothing in it is more than a number: so it is the
# event's own, and the count in it the one that counts.
_COUNTED = re.compile(
    rb'data: (\{[^\n]*?"(?:content|text|reasoning|reasoning_content)" ?: ?")' + _TEXT +
    rb'("[^\n]*?, ?"usage" ?: ?\{"prompt_tokens" ?: ?' + _INT + rb', ?"total_tokens" ?: ?)' + _INT +
    rb'(, ?"completion_tokens" ?: ?)' + _INT +
    rb'((?:, ?"[a-z_]+" ?: ?(?:null|[0-9]+))*\}\})\n\n((?:data: \1' + _TEXT + rb"\2" + _INT +
    rb"\3" + _INT + rb"\4\n\n){2,}+)"
)  # fmt: skip
_COUNT = re.compile(rb'"completion_tokens" ?: ?([0-9]+)')


@dataclass(frozen=True, slots=True)
class Run:
    """Places in the text: of the first event's data, of its end, and of the last one's."""

    data: bytes
    first_end: int
    end: int


def run_at(text: bytes, place: int) -> Run | None:
    """The run of two events or more that begins at ``place``, where an event begins."""
    line_end = text.find(b"\n", place)
    if not 0 <= line_end - place <= _LONGEST:
        return None
    found = _RUN.match(text, place)
    if found is None:
        return None
    data_end = found.end(2)
    return Run(text[place + len(b"data: ") : data_end], data_end + 2, found.end())


def counted_at(text: bytes, place: int) -> tuple[Run, list[int]] | None:
    """The run of events that begins at ``place`` and differ in how many tokens there are so far,
    too; its last is left out, to be read. With what each says, the first included.
    """
    line_end = text.find(b"\n", place)
    if not 0 <= line_end - place <= _LONGEST:
        return None
    found = _COUNTED.match(text, place)
    if found is None:
        return None
    data_end = found.end(4)
    end = text.rfind(b"\n\n", 0, found.end() - 2) + 2
    said = [int(count) for count in _COUNT.findall(text, place, end)]
    if 2 * len(said) != text.count(b"\n", place, end):
        return None
    return Run(text[place + len(b"data: ") : data_end], data_end + 2, end), said


def arrivals(
    text: bytes, run: Run, ats: Sequence[float], ends: Sequence[int], pieces: Sequence[bytes]
) -> Sequence[float]:
    """When each event of the run behind its first came: with the piece that completed it.

    ``ends`` are the places at which the pieces of the text end, ``ats`` when each came.
    """
    first, last = bisect_right(ends, run.first_end), bisect_left(ends, run.end)
    count = text.count(b"\n", run.first_end, run.end) // 2
    # As many pieces as events, and each piece ends with one: so each piece holds just one.
    if last - first + 1 == count and all(map(bytes.endswith, pieces[first:last], repeat(b"\n\n"))):
        return ats[first : last + 1]
    found = re.finditer(rb"\n\n", text[run.first_end : run.end])
    return [ats[bisect_left(ends, run.first_end + one.end())] for one in found]
