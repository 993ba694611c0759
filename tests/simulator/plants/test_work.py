"""Work: every distribution has the plant's mean, and its own spread."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from simulator.plants.work import TOKEN_WORK_MEAN, Work


def drawn(work: Work, mean: float = 2.0, count: int = 40_000) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.array([task.seconds for task in islice(work.tasks(mean, rng), count)])


@pytest.mark.parametrize(
    ("work", "variation"),
    [
        (Work(dist="constant"), 0.0),
        (Work(dist="lognormal", sigma=0.3), 0.307),
        (Work(dist="gamma", shape=4.0), 0.5),
        (Work(dist="gamma", shape=1.0), 1.0),
        (Work(dist="bimodal", share=0.2, ratio=5.0), 0.889),
    ],
)
def test_the_mean_is_the_plants_and_the_variation_the_distributions(
    work: Work, variation: float
) -> None:
    values = drawn(work)
    assert values.mean() == pytest.approx(2.0, rel=0.02)
    assert values.std() / values.mean() == pytest.approx(variation, abs=0.02)
    assert values.min() > 0.0


def test_token_work_has_tokens_and_the_mean_that_is_written_down() -> None:
    tasks = list(islice(Work(dist="tokens").tasks(1.0, np.random.default_rng(1)), 60_000))
    mean = sum(task.seconds for task in tasks) / len(tasks)
    assert mean == pytest.approx(TOKEN_WORK_MEAN, rel=0.02)
    assert all(task.prompt_tokens and 16 <= task.prompt_tokens <= 16_000 for task in tasks)
    assert all(task.output_tokens and 4 <= task.output_tokens <= 4096 for task in tasks)
