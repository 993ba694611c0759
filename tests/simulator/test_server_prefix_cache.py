"""The served prefix cache: a chat's next turn finds the last, and says so in the metrics."""

from __future__ import annotations

from simulator.text import tokens_of
from simulator.text_content import TextContent
from tests.simulator.core.engines import config
from tests.simulator.serving import ask, metrics, sample, serving, until

ENGINE = config(blocks=2001, max_model_len=2000, token_budget=512)
HITS = sample("vllm:prefix_cache_hits_total")
CHAT = "/v1/chat/completions"


async def test_the_next_turn_of_a_chat_finds_prompt_and_answer() -> None:
    first = [{"role": "user", "content": " ".join(["word"] * 40)}]
    body = {"messages": first, "max_tokens": 20, "ignore_eos": True}
    async with serving(ENGINE) as server:
        said = (await ask(server, "POST", CHAT, body)).json()["choices"][0]["message"]["content"]
        turn = [*first, {"role": "assistant", "content": said}, {"role": "user", "content": "on"}]
        await ask(server, "POST", CHAT, body | {"messages": turn})
        page = await metrics(server)
        assert page[HITS] == 56, "40 + 20 tokens, whose last one was said but never read"
        assert page[sample("vllm:prefix_cache_queries_total")] == 40 + 61
        assert page[sample("vllm:prompt_tokens_cached_total")] == 56
        assert page[sample("headway:kv_cache_idle_perc")] > 0
        await until(server, sample("vllm:kv_cache_usage_perc"), 0.0)
        assert (await ask(server, "POST", "/reset_prefix_cache")).status == 200
        await ask(server, "POST", CHAT, body | {"messages": turn})
        assert (await metrics(server))[HITS] == 56, "forgotten, so nothing more was found"


def test_a_block_is_known_by_its_words_over_prompt_and_answer() -> None:
    content = TextContent(tokens_of("one two three four five"), key=3)
    (straddling, count) = next(iter(content.keys(1, 2, 4)))
    assert count == 1
    words = straddling[0].split()
    assert words[0] == b"five"
    assert len(words) == 4
    assert list(content.keys(0, 3, 4))[1] == (straddling, 1)
