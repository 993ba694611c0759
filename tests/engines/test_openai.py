"""What is asked of each kind of engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engines.dialect import Dialect
from engines.openai import body
from engines.request import CompletionRequest
from engines.signals.base import adapter


def asked(kind: str = "openai", **fields: Any) -> dict[str, Any]:
    request = CompletionRequest("Hi", 8, **fields)
    made: dict[str, Any] = json.loads(body(request, model="m", dialect=adapter(kind).dialect))
    return made


def test_the_common_body_holds_nothing_that_a_strict_server_refuses() -> None:
    assert asked() == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_vllm_is_asked_for_the_full_length_and_for_continuous_usage() -> None:
    made = asked("vllm")
    assert made["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (made["ignore_eos"], made["min_tokens"]) == (True, 8)


def test_llamacpp_is_asked_for_the_full_length_only() -> None:
    made = asked("llamacpp")
    assert made["ignore_eos"] is True
    assert "min_tokens" not in made
    assert "continuous_usage_stats" not in made["stream_options"]


@pytest.mark.parametrize("kind", ["vllm", "llamacpp", "simulated"])
def test_the_engine_may_stop_early_when_it_is_let(kind: str) -> None:
    assert not {"ignore_eos", "min_tokens"} & asked(kind, ignore_eos=False).keys()


def test_a_body_without_stream_asks_for_no_stream_options() -> None:
    made = asked("vllm", stream=False)
    assert made["stream"] is False
    assert "stream_options" not in made


def test_completions_take_a_prompt() -> None:
    made = asked(shape="completions", temperature=0.0)
    assert made["prompt"] == "Hi"
    assert "messages" not in made
    assert made["temperature"] == 0.0


def test_extra_fields_win_and_the_tenant_is_not_sent() -> None:
    made = asked(extra={"max_tokens": 9, "seed": 1}, tenant="acme")
    assert (made["max_tokens"], made["seed"]) == (9, 1)
    assert "acme" not in json.dumps(made)


def test_a_dialect_without_usage_gets_no_stream_options() -> None:
    made = json.loads(
        body(CompletionRequest("Hi", 8), model="m", dialect=Dialect(include_usage=False))
    )
    assert "stream_options" not in made
