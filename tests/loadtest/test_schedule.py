"""One schedule from one seed: independent streams, and slices whose union is the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.parse import build
from loadtest.arrivals.base import processes
from loadtest.schedule import BLOCK, WHOLE, Job, Schedule, Slice
from loadtest.workloads.base import workloads


def schedule(
    *,
    rate: float = 40.0,
    duration: float = 30.0,
    seed: int = 1,
    part: Slice = WHOLE,
    salt: str = "",
    process: dict[str, Any] | None = None,
    **workload: Any,
) -> Schedule:
    process = process or {"process": "poisson", "rate": rate}
    name = process.pop("process")
    return Schedule(
        build(processes.get(name), process),
        build(workloads.get("synthetic"), {"prompt_tokens_sigma": 0.5, **workload}),
        duration=duration,
        seed=seed,
        salt=salt,
        part=part,
    )


@settings(deadline=None)
@given(workers=st.integers(1, 12), seed=st.integers(0, 2**63 - 1), rate=st.floats(0.5, 200))
def test_the_union_of_the_slices_is_the_schedule(workers: int, seed: int, rate: float) -> None:
    facts: dict[str, Any] = {"rate": rate, "seed": seed, "duration": 8.0}
    whole = list(schedule(**facts).jobs())
    slices = [schedule(**facts, part=Slice(k, workers)) for k in range(workers)]
    parts: list[Job] = [job for part in slices for job in part.jobs()]
    assert sorted(parts, key=lambda job: job.index) == whole
    assert sum(part.offered or 0 for part in slices) == len(whole)


def test_changing_lengths_moves_no_arrival() -> None:
    short, long = schedule(prompt_tokens_mean=32), schedule(prompt_tokens_mean=4000)
    assert np.array_equal(short.instants, long.instants)
    assert [job.shape.output_tokens for job in short.jobs()] == [
        job.shape.output_tokens for job in long.jobs()
    ]


def test_changing_the_rate_changes_no_request() -> None:
    slow, fast = schedule(rate=10), schedule(rate=40)
    pairs = zip(slow.jobs(), fast.jobs(), strict=False)
    assert all(one.shape == other.shape for one, other in pairs)


def test_tenants_do_not_move_lengths() -> None:
    alone, shared = schedule(), schedule(tenants={"a": 1, "b": 3})
    lengths = [[job.shape.prompt_tokens for job in each.jobs()] for each in (alone, shared)]
    assert lengths[0] == lengths[1]


def test_tenants_get_their_shares() -> None:
    jobs = list(schedule(rate=500, tenants={"vip": 1, "batch": 3}).jobs())
    share = sum(job.shape.tenant == "vip" for job in jobs) / len(jobs)
    assert share == pytest.approx(0.25, abs=0.02)


def test_a_seed_fixes_the_prompts_and_another_seed_or_salt_changes_all_of_them() -> None:
    def first(**facts: Any) -> list[str]:
        it = schedule(**facts)
        return [it.prompt(job) for job in list(it.jobs())[:20]]

    assert first(seed=1, salt="x") == first(seed=1, salt="x")
    for other in (first(seed=2, salt="x"), first(seed=1, salt="y")):
        assert not set(first(seed=1, salt="x")) & set(other)


def test_no_two_requests_share_a_prefix_that_a_cache_could_find() -> None:
    it = schedule(rate=400)
    starts = [" ".join(it.prompt(job).split()[:8]) for job in it.jobs()]
    assert len(set(starts)) == len(starts) > 5_000


def test_a_prompt_has_as_many_words_as_tokens_asked() -> None:
    it = schedule(prompt_tokens_mean=100, prompt_tokens_sigma=1.0)
    assert all(len(it.prompt(job).split()) == job.shape.prompt_tokens for job in it.jobs())


def test_shapes_do_not_depend_on_the_order_in_which_they_are_asked() -> None:
    it = schedule()
    places = [0, BLOCK - 1, BLOCK, 3 * BLOCK + 7]
    assert [it.shape(i) for i in places] == [it.shape(i) for i in reversed(places)][::-1]


@settings(deadline=None)
@given(slots=st.integers(1, 100), workers=st.integers(1, 12))
def test_slots_of_a_closed_loop_are_shared_out_and_indices_never_meet(
    slots: int, workers: int
) -> None:
    parts = [
        schedule(process={"process": "closed", "concurrency": slots}, part=Slice(k, workers))
        for k in range(workers)
    ]
    assert sum(part.slots for part in parts) == slots
    indices = [part.index(turn) for part in parts for turn in range(5)]
    assert len(set(indices)) == len(indices)
    assert all(part.offered is None for part in parts)


@pytest.mark.parametrize("text", ["2/2", "-1/3", "0/0"])
def test_a_slice_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        Slice.parse(text)


def test_a_seed_means_what_it_meant_before_seeds_were_made_by_the_block() -> None:
    made = schedule(seed=5, salt="s", prompt_tokens_mean=6, prompt_tokens_sigma=0.0)
    prompts = [made.prompt(Job(index, 0.0, made.shape(index))) for index in (0, 3, 2 * BLOCK + 7)]
    assert prompts == [
        "across gather fire come age both",
        "cover bring friend desert away fill",
        "good corner finish day along enter",
    ]
