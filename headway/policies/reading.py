"""A policy from a file, from standard input, or by its built-in name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from schedulers.builtin import builtin, builtin_names
from schedulers.decision import DecisionPoint
from schedulers.document import Policy
from schedulers.enforcement import Host, enforcement
from schedulers.law import Standing


def read(where: str) -> Policy:
    """DocumentError with every fault of the document."""
    if where in builtin_names():
        return builtin(where)
    return Policy.parse(parse_yaml(_text(where)))


def _text(where: str) -> str:
    try:
        return sys.stdin.read() if where == "-" else Path(where).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = f"no file that can be read ({error}), nor built in: {', '.join(builtin_names())}"
        raise DocumentError([Problem("policy", where, f"is {known}")]) from None


def remarks(policy: Policy) -> Iterator[str]:
    """What is valid and worth a second look."""
    for point, law in policy.laws.items():
        if law.standing is Standing.REFERENCE:
            fault = law.faults[0].text if law.faults else ""
            yield f"spec.{point}.law: {law.name} is kept for comparison. {fault}"
        hosts = [host for host in Host if enforcement(point, host).acts]
        if not hosts:
            yield f"spec.{point}: nothing enforces it yet"
        elif hosts == [Host.ENGINE_MODEL, Host.REAL_ENGINE]:
            yield (
                f"spec.{point}: acts in simulations, and else only as an engine's configuration: "
                "headway policy render"
            )
        elif hosts == [Host.REAL_ENGINE]:
            yield f"spec.{point}: acts only as an engine's configuration: headway policy render"
    if policy.law(DecisionPoint.PREEMPTION) is not None:
        mode = getattr(policy.law(DecisionPoint.PREEMPTION), "mode", "")
        if mode == "swap":
            yield "spec.preemption.mode: vLLM V1 has no swap; only the engine model could"
