"""Bodies as clients send them, and what is said about those that can't be used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ask import Reader
from simulator.errors import ApiError

READER = Reader("simulated", max_model_len=1000, seed=0)
HELLO = [{"role": "user", "content": "hello there"}]


def chat(**fields: Any) -> Any:
    return READER.chat(json.dumps({"messages": HELLO} | fields).encode())


def completion(**fields: Any) -> Any:
    return READER.completion(json.dumps({"prompt": "hello there"} | fields).encode())


def test_a_chat_counts_the_texts_of_its_messages() -> None:
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hello there"}]},
        {"role": "assistant", "content": None},
    ]
    assert chat(messages=messages).prompt_tokens == 4


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [("hello there", 2), ("", 1), (["hello there"], 2), ([1, 2, 3], 3), ([[1, 2, 3]], 3)],
)
def test_a_prompt_is_one_text_or_one_list_of_token_ids(prompt: Any, tokens: int) -> None:
    assert completion(prompt=prompt).prompt_tokens == tokens


def test_max_completion_tokens_goes_before_max_tokens() -> None:
    assert chat(max_tokens=5).wanted.max_tokens == 5
    assert chat(max_tokens=5, max_completion_tokens=7).wanted.max_tokens == 7


def test_without_max_tokens_a_chat_has_the_rest_and_a_completion_sixteen() -> None:
    assert chat().wanted.max_tokens == 998
    assert completion().wanted.max_tokens == 16


def test_stream_options_are_read() -> None:
    ask = chat(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True})
    assert (ask.stream, ask.include_usage, ask.continuous_usage) == (True, True, True)


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"model": "gpt-2"}, 404, "The model `gpt-2` does not exist."),
        ({"messages": []}, 400, "at least one message"),
        ({"messages": "hi"}, 400, "$.messages"),
        ({"max_tokens": "five"}, 400, "$.max_tokens"),
        ({"max_tokens": 0}, 400, "max_tokens must be at least 1"),
        ({"max_tokens": 999}, 400, "maximum context length is 1000"),
        ({"messages": [{"role": "user", "content": "x " * 1000}]}, 400, "requested 1000 tokens"),
        ({"min_tokens": 6, "max_tokens": 5}, 400, "min_tokens must be from 0"),
        ({"n": 2}, 400, "one choice"),
        ({"stop": [""]}, 400, "stop"),
        ({"stream_options": {"include_usage": True}}, 400, "only with stream=true"),
    ],
)
def test_what_is_wrong_with_a_chat_is_told(fields: dict[str, Any], status: int, told: str) -> None:
    with pytest.raises(ApiError) as caught:
        chat(**fields)
    assert caught.value.status == status
    assert told in caught.value.message


@pytest.mark.parametrize("prompt", [[], ["a", "b"], [1, "a"], [True], 7, None, [[]]])
def test_a_prompt_of_another_shape_is_refused(prompt: Any) -> None:
    with pytest.raises(ApiError) as caught:
        completion(prompt=prompt)
    assert caught.value.status == 400


@given(body=st.binary() | st.text().map(str.encode) | st.just(b'{"prompt":' + b"[" * 5000))
def test_any_bytes_are_read_or_refused_with_a_400(body: bytes) -> None:
    for read in (READER.chat, READER.completion):
        with pytest.raises(ApiError) as caught:
            read(body)
        assert caught.value.status == 400
        assert json.loads(caught.value.body())["error"]["code"] == 400
