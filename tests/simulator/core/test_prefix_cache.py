"""What is found again: whole blocks of what came before, until somebody needs the memory."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from simulator.core.content import Runs
from simulator.core.engine import Engine
from simulator.core.request import Request
from simulator.core.step import Step
from simulator.virtual import Arrival, replay
from tests.simulator.core.engines import config, drain, step

SIZE = 4


def asked(made: Engine, name: str, prompt: Sequence[tuple[str, int]], output: int = 1) -> None:
    tokens = sum(length for _, length in prompt)
    content = Runs((*prompt, (f"answer of {name}", output)))
    made.add(Request(name, tokens, output, content), made.free_at)


def computed(made: Engine) -> list[int]:
    return [each.prefill_tokens for each in drain(made) if each.prefill_tokens]


def test_the_second_of_two_equal_prompts_computes_its_last_block_alone() -> None:
    made = Engine(config(), seed=0)
    asked(made, "first", [("p", 40)])
    assert computed(made) == [40]
    asked(made, "second", [("p", 40)])
    assert computed(made) == [4], "the last token is always computed, and with it its block"
    assert (made.state.queried_tokens, made.state.hit_tokens) == (80, 36)


def test_only_whole_blocks_of_a_common_beginning_are_found() -> None:
    made = Engine(config(), seed=0)
    asked(made, "first", [("system", 10), ("a", 20)])
    drain(made)
    asked(made, "second", [("system", 10), ("b", 20)])
    assert computed(made) == [22], "2 of 2.5 blocks"
    asked(made, "third", [("b", 20)])
    assert computed(made) == [20], "what is in the middle of another prompt is not found"


def test_the_next_turn_finds_prompt_and_answer_of_the_last() -> None:
    made = Engine(config(), seed=0)
    first = [("system", 12), ("user 1", 8)]
    asked(made, "turn 1", first, output=9)
    drain(made)
    asked(made, "turn 2", [*first, ("answer of turn 1", 9), ("user 2", 5)])
    assert computed(made) == [34 - 28], "20 + 8 tokens are in whole blocks"


def test_a_twin_finds_what_was_computed_a_step_before_and_shares_its_memory() -> None:
    made = Engine(config(token_budget=64), seed=0)
    asked(made, "first", [("p", 40)], output=20)
    step(made)
    asked(made, "twin", [("p", 40)], output=20)
    beside = step(made)
    assert beside.prefill_tokens == 4
    assert beside.used_blocks == 11 + 1, "10 shared blocks but the last, and one of each"


def test_use_counts_only_what_somebody_refers_to() -> None:
    made = Engine(config(), seed=0)
    asked(made, "first", [("p", 40)])
    drain(made)
    assert (made.pool.usage, made.pool.used, made.pool.cached) == (0.0, 0, 10)
    made.pool.forget()
    assert (made.pool.cached, made.pool.free) == (0, 100)
    asked(made, "second", [("p", 40)])
    assert computed(made) == [40]


def test_the_longest_idle_goes_first_and_of_a_prompt_its_end() -> None:
    made = Engine(config(blocks=31, max_model_len=100), seed=0)
    asked(made, "a", [("a", 40)])
    drain(made)
    asked(made, "b", [("b", 40)])
    drain(made)
    asked(made, "c", [("c", 60)])
    drain(made)
    assert made.pool.tree.evicted == 5
    asked(made, "a again", [("a", 40)])
    assert computed(made) == [20], "the first 5 of its 10 blocks are still there"


def test_a_warm_start_is_asked_for() -> None:
    made = Engine(config(), seed=0)
    made.warm(Runs((("system", 33),)), 33)
    assert (made.pool.used, made.pool.cached) == (0, 8)
    asked(made, "first", [("system", 33), ("u", 7)])
    assert computed(made) == [8]


def test_without_a_prefix_cache_everything_is_computed() -> None:
    made = Engine(config(prefix_cache=False), seed=0)
    for name in ("first", "second"):
        asked(made, name, [("p", 40)])
    assert computed(made) == [64, 16]
    assert made.pool.cached == 0


def tokens(runs: tuple[tuple[str, int], ...], upto: int) -> list[tuple[str, int]]:
    return [(name, place) for name, length in runs for place in range(length)][:upto]


names = st.sampled_from(["x", "y", "z"])
prompts = st.lists(st.tuples(names, st.integers(1, 9)), min_size=1, max_size=4).map(tuple)


@given(asking=st.lists(prompts, max_size=12))
def test_with_memory_for_all_hits_are_those_of_a_set_of_prefixes(
    asking: list[tuple[tuple[str, int], ...]],
) -> None:
    """One at a time, against a plain set of token sequences cut at block ends."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    expected, load = [], []
    for place, runs in enumerate(asking):
        length = sum(each for _, each in runs)
        said = tokens(runs, length)
        found = 0
        while found + SIZE < length and tuple(said[: found + SIZE]) in seen:
            found += SIZE
        expected.append(found)
        seen |= {tuple(said[:end]) for end in range(SIZE, length + 1, SIZE)}
        load.append(Arrival(10.0 * place, length, 1, content=Runs(runs)))
    steps: list[Step] = []
    served = replay(load, config(blocks=2000), on_step=steps.append)
    assert [each.cached_tokens for each in served] == expected


@given(runs=prompts, start=st.integers(0, 6), more=st.integers(0, 6))
def test_keys_cover_each_block_once(
    runs: tuple[tuple[str, int], ...], start: int, more: int
) -> None:
    length = sum(each for _, each in runs) // SIZE
    start = min(start, length)
    end = min(start + more, length)
    content = Runs(runs)
    assert sum(count for _, count in content.keys(start, end, SIZE)) == end - start

    def single(first: int, last: int) -> list[tuple[object, int]]:
        return [
            (origin, offset + SIZE * place)
            for (origin, offset), count in content.keys(first, last, SIZE)
            for place in range(count)
        ]

    assert single(start, end) == single(0, length)[start:end]
