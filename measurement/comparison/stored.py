"""A stored verdict with everything that it was made from, and the same verdict made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import ComparisonVerdict, Evidence, judge

VERSION = 3
"""Rises when the same evidence gives other bytes: 2 tells why blocks count for nothing; 3 takes the
last look of a budget where blocks were lost, and passes nothing by a few good requests."""


def store(plan: ComparisonPlan, evidence: Evidence) -> dict[str, Any]:
    """Plan, evidence and verdict, as plain JSON."""
    return {
        "version": VERSION,
        "plan": plan.to_document(),
        "evidence": evidence.to_json(),
        "verdict": judge(plan, evidence).to_json(),
    }


def recompute(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The same document, made anew from the plan and the evidence in it.

    Its canonical bytes equal the stored one's, or somebody changed one of them.
    """
    plan = ComparisonPlan.parse(stored["plan"])
    return store(plan, Evidence.from_json(stored["evidence"]))


def verdict_of(stored: Mapping[str, Any]) -> ComparisonVerdict:
    """The verdict itself, made anew."""
    return judge(ComparisonPlan.parse(stored["plan"]), Evidence.from_json(stored["evidence"]))
