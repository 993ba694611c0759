"""The loop as vLLM V1 runs it: who is scheduled, in what order, and who has to go."""

from __future__ import annotations

import pytest

from documents.problem import DocumentError
from simulator.core.engine import Engine, QueueFull
from simulator.core.request import Phase, Request
from tests.simulator.core.engines import config, drain, engine, names, step


def test_a_prompt_and_its_first_token_take_one_step_and_each_further_token_one() -> None:
    steps = drain(engine((10, 4)))
    assert [each.tokens for each in steps] == [10, 1, 1, 1]
    assert [names(each.emitted) for each in steps] == [["0"]] * 4
    assert [names(each.finished) for each in steps] == [[], [], [], ["0"]]


def test_a_long_prompt_is_cut_to_the_budget_that_decodes_leave() -> None:
    made = engine((4, 9), (90, 2))
    chunks = [step(made).prefill_tokens for _ in range(3)]
    assert chunks == [64, 30, 0], "4 + 60, then 30 beside one decode"


def test_only_a_prefill_that_is_whole_emits() -> None:
    made = engine((90, 1))
    assert names(step(made).emitted) == []
    assert names(step(made).emitted) == ["0"]


def test_running_come_before_waiting_and_nobody_passes_the_head() -> None:
    made = engine((60, 3), (60, 3), (2, 3))
    first = step(made)
    assert first.tokens == 64
    assert [each.request.id for each in made.running] == ["0", "1"]
    second = step(made)
    assert names(second.emitted) == ["0", "1", "2"]


def test_no_more_than_max_seqs_run() -> None:
    steps = drain(engine(*[(4, 5)] * 7, max_seqs=3))
    assert max(each.running for each in steps) == 3
    assert sum(len(each.finished) for each in steps) == 7


def test_the_head_of_the_queue_waits_until_its_whole_prompt_fits() -> None:
    made = engine((44, 30), (60, 2), (4, 2), blocks=26)
    first = step(made)
    assert (first.running, first.waiting) == (1, 2), "11 + 15 blocks don't fit into 25"
    assert first.used_blocks == 11


def test_the_watermark_is_kept_back_only_while_others_run() -> None:
    made = engine((40, 2), (40, 2), blocks=26, watermark=0.3)
    assert step(made).running == 1
    steps = drain(made)
    assert sum(len(each.finished) for each in steps) == 2


def test_the_last_to_come_is_preempted_and_first_to_come_back() -> None:
    made = engine((32, 40), (32, 40), blocks=22, max_model_len=80, prefix_cache=False)
    steps = drain(made)
    struck = next(each for each in steps if each.preempted)
    assert names(struck.preempted) == ["1"]
    assert names(struck.emitted) == ["0"], "who stays goes on in the same step"
    back = next(each for each in steps if each.index > struck.index and "1" in names(each.emitted))
    assert back.prefill_tokens > 32, "it recomputes its prompt and what it had said"
    assert [names(each.finished) for each in steps if each.finished] == [["0"], ["1"]]
    assert sum(len(each.emitted) for each in steps) == 80, "no token is said twice"


def test_nothing_is_admitted_in_a_step_that_preempted() -> None:
    made = engine((32, 40), (32, 40), blocks=22, max_model_len=80, prefix_cache=False)
    while not (struck := step(made)).preempted:
        pass
    assert struck.prefill_tokens == 0
    made.add(Request("small", 1, 1), struck.end)
    assert next(iter(made.waiting)).request.id == "1"


def test_a_finished_request_gives_its_blocks_back_at_the_end_of_its_step() -> None:
    made = engine((10, 1))
    only = step(made)
    assert only.used_blocks == 3
    assert made.pool.used == 0


@pytest.mark.parametrize("steps_before", [0, 1, 2])
def test_an_abort_frees_everything_at_once(steps_before: int) -> None:
    made = engine((90, 5), (90, 5))
    for _ in range(steps_before):
        step(made)
    assert made.abort("1")
    assert made.abort("0")
    assert not made.abort("0")
    assert (made.pool.used, len(made), made.next_step_at()) == (0, 0, None)


def test_an_aborted_request_says_no_more() -> None:
    made = engine((4, 9), (4, 9))
    step(made)
    made.abort("0")
    assert {name for each in drain(made) for name in names(each.emitted)} == {"1"}


def test_requests_are_seen_in_the_order_their_ingest_ends() -> None:
    made = Engine(config(ingest_s=0.01, ingest_sigma=1.0), seed=3)
    added = [made.add(Request(str(place), 4, 3), 0.0) for place in range(5)]
    drain(made)
    by_queue = sorted(added, key=lambda each: each.queued_at)
    by_start = sorted(added, key=lambda each: (each.scheduled_at, each.queued_at))
    assert by_queue == by_start
    assert by_queue != added


def test_a_step_cannot_begin_before_the_last_one_ended() -> None:
    made = engine((4, 9))
    first = step(made)
    with pytest.raises(ValueError, match="no step can begin"):
        made.step(first.end - 1e-6)


def test_a_limit_on_requests_counts_all_that_are_not_over() -> None:
    made = engine((4, 2), (4, 2), max_queued_requests=2)
    with pytest.raises(QueueFull) as caught:
        made.add(Request("more", 4, 2), 0.0)
    assert caught.value.reason == "max_num_queued_reqs"
    drain(made)
    assert made.add(Request("more", 4, 2), 9.0).phase is Phase.INGEST


def test_a_limit_on_tokens_counts_prompts_still_in_prefill() -> None:
    made = engine((60, 9), max_queued_tokens=50)
    with pytest.raises(QueueFull, match="max_num_queued_tokens"):
        made.add(Request("more", 4, 2), 0.0)
    step(made)
    assert made.add(Request("more", 4, 2), 1.0)


def test_what_can_never_fit_is_refused_at_the_door() -> None:
    made = engine()
    with pytest.raises(ValueError, match="max_model_len"):
        made.add(Request("long", 90, 20), 0.0)
    with pytest.raises(DocumentError, match="must fit the KV cache"):
        config(max_model_len=401)
    with pytest.raises(DocumentError, match="could starve"):
        config(token_budget=8)
    with pytest.raises(ValueError, match="at least one"):
        Request("empty", 0, 5)
