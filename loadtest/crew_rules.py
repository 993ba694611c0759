"""Which scenarios several workers may share, and what each one's part says."""

from __future__ import annotations

from dataclasses import replace

from documents.problem import DocumentError, Problem
from loadtest.scenario import Scenario
from loadtest.schedule import Slice

MOST = 16
"""Workers of one run on one machine."""
FIXED = "fixed"


def problems(scenario: Scenario, workers: object) -> list[Problem]:
    """Why so many workers can't share this scenario; none where they can.

    A law that learns must see every answer, and workers share no memory; a fixed limit is cut into
    shares that add up to it.
    """
    path = "workers"
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST:
        return [Problem(path, workers, f"must be a whole number from 1 to {MOST}")]
    law = scenario.policy.law("concurrency") if scenario.policy else None
    if workers == 1 or law is None:
        return []
    if law.name != FIXED:
        message = (
            f"must be 1 with the concurrency law {law.name}, which has to see every answer; "
            f"several workers can share a {FIXED} limit, or none"
        )
        return [Problem(path, workers, message)]
    if scenario.shadow is not None:
        return [Problem(path, workers, "must be 1 with a shadow, which has to see every answer")]
    limit, _ = law.bounds()
    if limit < workers:
        message = f"must be at most {limit}, the policy's limit: each worker holds a share of it"
        return [Problem(path, workers, message)]
    return []


def check(scenario: Scenario, workers: int) -> None:
    """DocumentError where so many workers can't share it."""
    if found := problems(scenario, workers):
        raise DocumentError(found)


def share(scenario: Scenario, part: Slice, *, salt: str) -> Scenario:
    """What one worker runs: the prompts' words fixed for all, and its share of the limit."""
    policy = scenario.policy
    law = policy.law("concurrency") if policy else None
    if policy is not None and law is not None:
        limit, _ = law.bounds()
        mine = len(range(part.number, limit, part.of))
        policy = policy.with_parameter("concurrency.limit", mine)
    return replace(scenario, policy=policy, prompt_salt=salt)


def note(scenario: Scenario, workers: int) -> str:
    """What a reader must know of a limit that was shared; nothing where there was none."""
    law = scenario.policy.law("concurrency") if scenario.policy else None
    if workers == 1 or law is None:
        return ""
    return (
        f"The limit of {law.bounds()[0]:,} was cut into {workers} shares, one a worker: a request "
        "can wait at one while another has room."
    )
