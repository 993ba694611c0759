"""Which scenarios several workers may share, and what each one's part says."""

from __future__ import annotations

from dataclasses import replace

from documents.problem import DocumentError, Problem
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from schedulers.decision import DecisionPoint

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
    if found := _alone(scenario):
        why, remedy = found
        return [Problem(path, workers, f"must be 1 with {why}; set it to 1, or {remedy}")]
    law = scenario.policy.law("concurrency")
    limit = workers if law is None else law.bounds()[0]
    if limit >= workers:
        return []
    message = f"must be at most {limit}, the policy's limit: each worker holds a share of it"
    return [Problem(path, workers, message)]


def hint(scenario: Scenario) -> str:
    """What to know before anybody asks for several; empty where they can share it."""
    if scenario.policy is None or (found := _alone(scenario)) is None:
        return ""
    why, remedy = found
    return f"Takes one worker on one machine, because of {why}. For more, {remedy}."


def _alone(scenario: Scenario) -> tuple[str, str] | None:
    """What has to see every request or answer, and what to do about it; None where nothing has."""
    policy = scenario.policy
    if policy is None:
        return None
    for point, simple in SEES_ALL.items():
        law = policy.laws.get(point)
        if law is not None and law.name != simple:
            why = f"the {point} law {law.name}, which has to see every request"
            return why, f"choose a policy with the {point} law {simple}"
    law = policy.law("concurrency")
    if law is None:
        return None
    if law.name != FIXED:
        why = f"the concurrency law {law.name}, which has to see every answer"
        return why, f"choose a policy with a {FIXED} limit, which is shared, or none"
    if scenario.shadow is not None:
        return "a shadow, which has to see every answer", "leave the shadow out"
    return None


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
