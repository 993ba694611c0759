"""Decisions: one line of a trace each, with a reason that people can read."""

from __future__ import annotations

import json
import math

from schedulers.decision import MEANINGS, Decision, DecisionPoint, Reason


def test_a_trace_line_reads_back_and_knows_no_number_that_json_lacks() -> None:
    inputs = {"median": 0.5, "least": None, "ratio": math.inf, "noise": math.nan}
    decision = Decision(1.5, DecisionPoint.CONCURRENCY, "aimd", 10, 9, Reason.RTT_INFLATED, inputs)
    line = json.loads(json.dumps(decision.to_json(), allow_nan=False))
    assert line == {
        "at": 1.5,
        "point": "concurrency",
        "law": "aimd",
        "before": 10,
        "after": 9,
        "reason": "rtt_inflated",
        "inputs": {"median": 0.5, "least": None, "ratio": None, "noise": None},
    }
    assert Decision.from_json(line).to_json() == line


def test_every_reason_has_a_sentence_of_its_own() -> None:
    assert set(MEANINGS) == set(Reason)
    assert len({reason.meaning for reason in Reason}) == len(Reason)
    assert [r for r in Reason if not r.meaning.endswith(".")] == []
