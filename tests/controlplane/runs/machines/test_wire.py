"""What goes over the broker comes out as it went in, and which machines are asked."""

from __future__ import annotations

import pytest

from controlplane.runs.machines.choosing import TooFewMachines, chosen
from controlplane.runs.machines.wire import Keys, decode, encode


@pytest.mark.parametrize("text", ["", "two\nlines, \u2028 and \x00", "ein Wort: Übergröße"])
@pytest.mark.parametrize("lines", [None, b"\n", b"{}\n" * 1_000, bytes(range(256))])
def test_a_message_comes_out_as_it_went_in(text: str, lines: bytes | None) -> None:
    message = {"type": "samples", "n": 2**53, "text": text}
    message |= {} if lines is None else {"lines": lines}
    assert decode(encode(message)) == message


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"n":1}', b'{"type":"samples"}\nnot compressed'])
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"no |Expecting"):
        decode(raw)


def test_no_two_names_in_the_broker_are_the_same() -> None:
    names = [*Keys("a").every(16), *Keys("b").every(16)]
    assert len(set(names)) == len(names) == 2 * (1 + 3 * 16)


def test_one_worker_of_each_machine_is_chosen_and_whoever_leads_is_last() -> None:
    up = ["celery@b", "celery@a", "second@b", "celery@c"]
    assert chosen(up, 2, own="celery@a", within=2.0) == ["celery@b", "celery@c"]
    assert chosen(up, 3, own="second@b", within=2.0) == ["celery@a", "celery@c", "second@b"]
    assert chosen(reversed(up), 3, within=2.0) == chosen(up, 3, within=2.0)


def test_two_workers_of_one_machine_are_one_machine() -> None:
    with pytest.raises(TooFewMachines) as refused:
        chosen(["celery@a", "second@a"], 2, within=2.0)
    told = "2 machines were asked for, and 1 answered within 2 s: a. No request was sent."
    assert str(refused.value).startswith(told)
