"""A stored verdict is made again, byte for byte."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from documents.canonical import canonical
from measurement.comparison.stored import recompute, store, verdict_of
from measurement.comparison.verdict import Evidence
from tests.measurement.comparison.builders import blocks, plan

bad = st.integers(0, 60)
pairs = st.lists(st.tuples(bad, bad), max_size=45)
margins = st.sampled_from([0.01, 0.1, 0.5])
budgets = st.sampled_from(["sequential", "fixed"])


@given(pairs, margins, budgets, st.integers(0, 2**63 - 1), st.floats(0, 1e6))
def test_whatever_was_stored_comes_out_again_from_its_bytes(
    bads: list[tuple[int, int]], margin: float, budget: str, seed: int, elapsed: float
) -> None:
    of = plan({"kind": "attainment", "pass_margin": margin}, budget=budget, seed=seed, blocks=40)
    found = blocks(of, [a for a, _ in bads], [b for _, b in bads])
    stored = store(of, Evidence(found, elapsed, ("candidate",) if elapsed > 9e5 else ()))
    raw = canonical(stored)
    assert canonical(recompute(json.loads(raw))) == raw
    assert canonical(verdict_of(json.loads(raw)).to_json()) == canonical(stored["verdict"])


def test_a_verdict_that_somebody_changed_is_not_what_comes_out() -> None:
    of = plan()
    stored = store(of, Evidence(blocks(of, [2] * 30, [3] * 30)))
    changed: list[dict[str, Any]] = [
        {**stored, "verdict": {**stored["verdict"], "outcome": "pass"}},
        {**stored, "plan": plan(seed=8).to_document()},
        {**stored, "evidence": {**stored["evidence"], "blocks": stored["evidence"]["blocks"][1:]}},
    ]
    assert canonical(recompute(stored)) == canonical(stored)
    for other in changed:
        assert canonical(recompute(other)) != canonical(other)
