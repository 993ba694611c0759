"""Finished runs with a report and rows to draw, from made-up samples whose load is known."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone

from controlplane.runs import services
from controlplane.runs.launch import Launch
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor
from measurement.column_builder import columns_of
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.summary import summarise
from measurement.verdict import judge_samples
from measurement.window import WindowFold

CAPACITY = 40.0
"""Requests/s that the made-up engine follows."""


def samples(rate: float, seconds: float, *, scale: float = 1.0, seed: int = 1) -> list[Sample]:
    """TTFT and step grow towards capacity; past it they queue."""
    rng = np.random.default_rng(seed)
    instants = np.cumsum(rng.exponential(1 / rate, int(2 * rate * seconds + 50)))
    late = max(0.0, rate - CAPACITY) / rate
    load = min(0.95, rate / CAPACITY)
    found = []
    for index, at in enumerate(instants[instants < seconds].tolist()):
        output = int(rng.integers(20, 80))
        first = at + scale * 0.1 * float(rng.lognormal(0, 0.3)) / (1 - 0.8 * load) + late * at
        last = first + scale * 0.01 / (1 - load) * (output - 1)
        found.append(
            Sample(
                index,
                "acme" if index % 3 else "globex",
                at,
                Outcome.OK,
                handed_at=at,
                admitted_at=at,
                sent_at=at,
                first_token_at=first,
                first_answer_at=first,
                last_token_at=last,
                done_at=last,
                prompt_tokens=int(rng.integers(20, 600)),
                output_tokens=output,
                first_chunk_tokens=1,
                chunks=output,
            )
        )
    return found


def finish(actor: Actor, launch: Launch, out: Path, **load: Any) -> Run:
    """A run of that launch, done: ``rate``, ``seconds``, ``scale``, ``seed``, ``days_ago``."""
    rate, seconds = load.get("rate", 10.0), load.get("seconds", 40)
    rest = {
        **launch.rest,
        "arrivals": {"process": "poisson", "rate": rate},
        "duration_s": seconds,
        "seed": load.get("seed", 1),
    }
    run = services.start(actor=actor, launch=dataclasses.replace(launch, rest=rest))
    taken = services.claim(run.pk)
    assert taken is not None
    slo = Slo.parse(run.scenario["slo"]) if run.scenario["slo"] else None
    rows = samples(rate, seconds, scale=load.get("scale", 1.0), seed=load.get("seed", 1))
    ledger = Ledger(taken, out, publish=lambda _run, _frame: None)
    ledger.started({"at_unix": 0.0, "offered": len(rows)})
    windows = _windows(rows, slo, seconds)
    ledger.hear_windows({"windows": [window.to_json() for window in windows]})
    summary = summarise(columns_of(rows), slo=slo, duration=seconds).to_json()
    verdict = judge_samples(columns_of(rows), slo)
    judged = {"verdict": verdict.outcome, "judgement": verdict.to_json()}
    more = {"status": "finished", "exit_code": verdict.exit_code, "notes": []}
    ledger.finish(Status.DONE, summary=summary | judged | more)
    ended = timezone.now() - timedelta(days=load.get("days_ago", 0.0))
    Run.objects.filter(pk=run.pk).update(created_at=ended, ended_at=ended)
    return Run.objects.get(pk=run.pk)


def _windows(rows: list[Sample], slo: Slo | None, seconds: float) -> list[Any]:
    fold = WindowFold(slo=slo)
    changes = []
    for row in rows:
        fold.offered(row.index, row.tenant, row.intended_at)
        fold.sent(row.intended_at)
        changes += [(row.intended_at, 1), (row.done_at or 0.0, -1)]
        fold.resolved(row)
    flying = 0
    for at, change in sorted(changes):
        flying += change
        fold.in_flight(at, flying)
    end = max([seconds, *(row.done_at or 0.0 for row in rows)])
    return fold.finish(end + 1)
