"""States as JSON: nested, optional and repeated parts come back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from schedulers.state import state_from_json, state_to_json


@dataclass(frozen=True)
class Part:
    low: float
    seen: int = 0


@dataclass(frozen=True)
class Whole:
    label: str
    on: bool
    part: Part
    spare: Part | None
    parts: tuple[Part, ...]
    pair: tuple[int, float | None]


@pytest.mark.parametrize("spare", [None, Part(0.25)])
def test_a_nested_state_survives_json(spare: Part | None) -> None:
    state = Whole("x", True, Part(1.0, 2), spare, (Part(2.0), Part(3.0, 1)), (4, None))
    restored = state_from_json(Whole, json.loads(json.dumps(state_to_json(state))))
    assert restored == state
    assert isinstance(restored.pair[0], int)


def test_a_whole_number_written_for_a_float_comes_back_as_a_float() -> None:
    assert isinstance(state_from_json(Part, {"low": 1, "seen": 0}).low, float)


def test_a_state_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="no JSON number"):
        state_to_json(Part(math.inf))
    with pytest.raises(TypeError, match="can't hold a list"):
        state_to_json([1])
