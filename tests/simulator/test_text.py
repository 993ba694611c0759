"""The tokeniser's rule, and answers that keep to it token for token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.text import (
    WIDTH,
    Ending,
    Wanted,
    count_tokens,
    ending,
    key_of,
    natural_length,
    text_of,
)

KEYS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   \n\t", 0),
        ("hello", 1),
        ("hello there", 2),
        ("continuous batching", 4),
        ("naïve", 1),
        ("日本語", 2),
    ],
)
def test_a_token_is_up_to_six_bytes_without_a_blank(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(key=KEYS, tokens=st.integers(0, 300))
def test_an_answer_has_exactly_its_tokens(key: int, tokens: int) -> None:
    text = text_of(key, tokens)
    assert count_tokens(text) == tokens
    assert len(text) == tokens * WIDTH


@given(text=st.text(), seed=st.integers(0, 9))
def test_the_same_prompt_and_seed_give_the_same_answer(text: str, seed: int) -> None:
    assert key_of(text, seed) == key_of(text, seed)
    assert key_of("a prompt", 1) != key_of("a prompt", 2)


def test_natural_lengths_spread_about_their_median() -> None:
    lengths = sorted(natural_length(key_of(str(place), 0)) for place in range(2000))
    assert 170 < lengths[1000] < 230
    assert lengths[100] < 100
    assert lengths[1900] > 400


@given(key=KEYS, most=st.integers(1, 400), least=st.integers(0, 400), ignore=st.booleans())
def test_an_answer_ends_naturally_or_at_max_tokens(
    key: int, most: int, least: int, ignore: bool
) -> None:
    least = min(least, most)
    ends = ending(key, Wanted(most, min_tokens=least, ignore_eos=ignore))
    assert least <= ends.tokens <= most
    if ignore:
        assert (ends.tokens, ends.reason) == (most, "length")
    else:
        assert (ends.reason == "stop") == (ends.tokens < most)


def test_a_stop_string_ends_the_answer_and_is_not_shown() -> None:
    third = text_of(5, 3)[2 * WIDTH :]
    ends = ending(5, Wanted(50, ignore_eos=True, stop=("nowhere", third)))
    assert ends == Ending(3, 2 * WIDTH, "stop", third)


def test_a_stop_string_may_end_within_a_token() -> None:
    text = text_of(5, 9)
    stop = text[12:17]
    first = text.find(stop)
    ends = ending(5, Wanted(50, ignore_eos=True, stop=(stop,)))
    assert ends.characters == first
    assert ends.tokens == -(-(first + 5) // WIDTH)


def test_a_stop_string_can_be_shown() -> None:
    text = text_of(5, 3)
    ends = ending(5, Wanted(50, ignore_eos=True, stop=(text[10:],), show_stop=True))
    assert text[: ends.characters] == text


@given(key=KEYS, least=st.integers(1, 60))
def test_no_stop_string_counts_before_min_tokens(key: int, least: int) -> None:
    ends = ending(key, Wanted(60, min_tokens=least, ignore_eos=True, stop=("a", "e", "o")))
    assert ends.tokens >= least
