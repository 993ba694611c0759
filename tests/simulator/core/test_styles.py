"""The loops of other engines, and the options: what differs from vLLM's defaults."""

from __future__ import annotations

import pytest

from documents.problem import DocumentError
from simulator.core.content import Runs
from simulator.core.engine import Engine
from simulator.core.hooks import Hooks, Load, View
from simulator.core.request import Request
from tests.simulator.core.engines import config, drain, engine, names, step


def test_sglang_prefills_alone_while_decodes_wait() -> None:
    made = engine((4, 9), style="prefill_first")
    step(made)
    made.add(Request("late", 90, 2), made.free_at)
    kinds = [(names(each.emitted), each.prefill_tokens) for each in (step(made), step(made))]
    assert kinds == [([], 64), (["late"], 26)], "both chunks run before the decode goes on"
    assert names(step(made).emitted) == ["0", "late"]


def test_sglang_retracts_who_said_least_and_does_not_admit_beyond_its_estimate() -> None:
    load = [(20, 600)] * 8
    made = engine(*load, style="prefill_first", blocks=401, max_model_len=620, prefix_cache=False)
    steps = drain(made)
    assert next(each.running for each in steps) == 2, "there is memory for 80 prompts"
    assert sum(len(each.emitted) for each in steps) == 8 * 600
    struck = next(each for each in steps if each.preempted)
    assert all(gone.place >= struck.running for gone in struck.preempted), "the last to come"


def test_tensorrt_llm_reserves_what_may_be_said_and_never_preempts() -> None:
    load = [(20, 60)] * 6
    made = engine(*load, style="reserve_max", blocks=61, max_model_len=80)
    steps = drain(made)
    assert max(each.running for each in steps) == 3, "20 blocks each, of 60"
    assert not any(each.preempted for each in steps)
    careful = Engine(config(style="reserve_max", blocks=61, max_model_len=80), seed=0)
    careful.add(Request("short", 20, 5, max_tokens=60), 0.0)
    step(careful)
    assert careful.pool.promised == 20 - 5, "what it may say counts, not what it will"


def test_llama_cpp_gives_each_request_a_slot_and_reuses_what_the_slot_holds() -> None:
    fields = {"style": "slots", "max_seqs": 2, "blocks": 41, "max_model_len": 80}
    made = Engine(config(**fields), seed=0)
    talk = Runs((("talk", 500),))
    for name, content, tokens in (("a", None, 30), ("b", talk, 30), ("c", None, 30)):
        made.add(Request(name, tokens, 2, content), 0.0)
    steps = drain(made)
    assert max(each.running for each in steps) == 2
    made.add(Request("next turn", 40, 2, talk), made.free_at)
    assert step(made).prefill_tokens == 40 - 28, "the slot that holds the talk, not the idle one"
    with pytest.raises(DocumentError, match="must fit a slot"):
        config(**fields | {"max_model_len": 81})


def test_a_swapped_victim_comes_back_without_recomputing() -> None:
    made = engine((32, 40), (32, 40), blocks=22, max_model_len=80, swap=True, swap_ms_per_token=0.1)
    steps = drain(made)
    struck = next(each for each in steps if each.preempted)
    assert struck.duration > 0.004, "moving its 43 tokens out takes time"
    assert sum(each.prefill_tokens for each in steps) == 64
    assert sum(len(each.emitted) for each in steps) == 80


def test_a_long_prompt_takes_no_more_than_its_share_while_others_are_there() -> None:
    alone = engine((60, 2), long_prefill_threshold=16)
    assert step(alone).prefill_tokens == 60
    made = engine((60, 2), (8, 2), long_prefill_threshold=16)
    assert [step(made).prefill_tokens for _ in range(3)] == [24, 16, 28]


def test_without_chunks_a_prompt_waits_until_the_budget_holds_all_of_it() -> None:
    made = engine((40, 3), (30, 3), chunked_prefill=False, max_model_len=64)
    assert [step(made).prefill_tokens for _ in range(2)] == [40, 30]
    with pytest.raises(DocumentError, match="without chunked_prefill"):
        config(chunked_prefill=False)


def hooked(hooks: Hooks, *asked: tuple[int, int], **changed: int) -> Engine:
    made = Engine(config(**changed), seed=0, hooks=hooks)
    for place, (prompt, output) in enumerate(asked):
        made.add(Request(str(place), prompt, output), 0.0)
    return made


def test_a_law_of_batching_says_how_much_a_step_with_prefills_holds() -> None:
    loads: list[Load] = []

    def budget(load: Load) -> int:
        loads.append(load)
        return 10

    made = hooked(Hooks(token_budget=budget), (30, 5), (4, 5))
    assert [step(made).tokens for _ in range(4)] == [10, 10, 10, 5]
    assert [load.waiting for load in loads] == [2, 1, 1, 1]
    drain(made)
    assert len(loads) == 4, "steps of decodes alone don't ask"


class Shortest(dict[str, View]):
    """A line in which the shortest prompt is first."""

    def joined(self, view: View) -> None:
        self[view.id] = view

    def left(self, name: str) -> None:
        del self[name]

    def first(self, now: float) -> str:
        return min(self.values(), key=lambda view: view.prompt_tokens).id


def test_a_law_of_ordering_says_who_is_next() -> None:
    made = hooked(Hooks(line=Shortest), (30, 2), (4, 2), (9, 2), max_seqs=1)
    assert [names(each.finished) for each in drain(made) if each.finished] == [["1"], ["2"], ["0"]]


def test_a_law_of_preemption_says_who_goes_even_who_was_scheduled_already() -> None:
    made = hooked(
        Hooks(victim=lambda running, now: 0), (32, 40), (32, 40), blocks=22, max_model_len=80
    )
    steps = drain(made)
    assert {name for each in steps for name in names(each.preempted)} == {"0"}
    assert sum(len(each.emitted) for each in steps) == 80
    assert made.pool.used == 0
