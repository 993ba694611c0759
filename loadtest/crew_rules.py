"""Which scenarios several workers may share, and what each one's part says."""

from __future__ import annotations

from dataclasses import replace

from documents.problem import DocumentError, Problem
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from schedulers.decision import DecisionPoint
from schedulers.document import Policy

MOST = 16
"""Workers of one run on one machine, and machines of one run."""
WORKERS, MACHINES = "workers", "machines"
"""The fields that ask for several."""
FIXED = "fixed"
SEES_ALL = {
    DecisionPoint.ADMISSION: "always",
    DecisionPoint.ORDERING: "fcfs",
    DecisionPoint.RETRY: "none",
}
"""Decision points whose laws have to see every request, but for the one that asks nothing."""


def problems(scenario: Scenario, workers: object, path: str = WORKERS) -> list[Problem]:
    """Why so many workers, or machines, can't share this scenario; none where they can.

    A law that learns must see every answer, and workers share no memory; a fixed limit is cut into
    shares that add up to it.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST:
        return [Problem(path, workers, f"must be a whole number from 1 to {MOST}")]
    if workers == 1 or scenario.policy is None:
        return []
    message = _alone(scenario.policy) or _unshared(scenario, workers)
    return [Problem(path, workers, message)] if message else []


def _alone(policy: Policy) -> str:
    """Which law has to see every request; nothing where none has."""
    for point, simple in SEES_ALL.items():
        law = policy.laws.get(point)
        if law is not None and law.name != simple:
            return f"must be 1 with the {point} law {law.name}, which has to see every request"
    return ""


def _unshared(scenario: Scenario, workers: int) -> str:
    """Why the limit can't be cut into so many shares; nothing where it can, or there is none."""
    law = scenario.policy.law("concurrency") if scenario.policy else None
    if law is None:
        return ""
    if law.name != FIXED:
        return (
            f"must be 1 with the concurrency law {law.name}, which has to see every answer; "
            f"several workers can share a {FIXED} limit, or none"
        )
    if scenario.shadow is not None:
        return "must be 1 with a shadow, which has to see every answer"
    limit, _ = law.bounds()
    if limit < workers:
        return f"must be at most {limit}, the policy's limit: each worker holds a share of it"
    return ""


def check(scenario: Scenario, workers: int, path: str = WORKERS) -> None:
    """DocumentError where so many workers can't share it."""
    if found := problems(scenario, workers, path):
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
