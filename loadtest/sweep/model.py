"""One rung on the engine model: the scenario's own schedule, replayed in virtual time."""

from __future__ import annotations

from documents.problem import DocumentError, Problem
from loadtest.conclusion import FINISHED, Conclusion, Seen, conclude
from loadtest.facts import Facts, make_schedule
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE, Job
from loadtest.version import version
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from simulator.profile import Profile
from simulator.virtual import Arrival, Served, replay

EPOCH = 0.0
"""Virtual runs begin at no time of day."""


def run(scenario: Scenario, profile: Profile) -> Conclusion:
    """What the scenario comes to on an engine of that profile; the same numbers each time."""
    if scenario.policy is not None:
        message = "a sweep on the model runs the bare engine; leave it out, or give an endpoint"
        raise DocumentError([Problem("policy", scenario.policy.name, message)])
    salt = scenario.prompt_salt or "model"
    schedule = make_schedule(scenario, salt=salt, part=WHOLE)
    jobs = list(schedule.jobs())
    deadline = scenario.duration_s + scenario.drain_s
    asked = [
        Arrival(job.intended_at, job.shape.prompt_tokens, job.shape.output_tokens, deadline)
        for job in jobs
    ]
    served = replay(asked, profile, seed=scenario.seed)
    samples = [_sample(job, row, deadline) for job, row in zip(jobs, served, strict=True)]
    facts = Facts(EPOCH, version(), schedule.offered, salt)
    seen = Seen(windows=(), stopped_at=deadline)
    return conclude(samples, scenario, facts, seen, FINISHED)


def _sample(job: Job, served: Served, deadline: float) -> Sample:
    at = job.intended_at
    streamed = served.first_token_at is not None
    return Sample(
        index=job.index,
        tenant=job.shape.tenant,
        intended_at=at,
        outcome=_outcome(served),
        handed_at=at,
        admitted_at=at,
        sent_at=at,
        first_token_at=served.first_token_at,
        first_answer_at=served.first_token_at,
        last_token_at=served.last_token_at,
        done_at=at if served.refused else (served.last_token_at or deadline),
        prompt_tokens=job.shape.prompt_tokens,
        output_tokens=served.output_tokens if streamed else None,
        token_source=TokenSource.USAGE if streamed else None,
        first_chunk_tokens=1 if streamed else None,
        chunks=served.output_tokens,
    )


def _outcome(served: Served) -> Outcome:
    if served.refused:
        return Outcome.REJECTED_503
    return Outcome.TRUNCATED if served.finished else Outcome.UNFINISHED
