"""Celery's door: take the run and see it to its end. A run is never taken twice."""

from __future__ import annotations

import logging

from celery import shared_task

from controlplane.runs import execution, services

log = logging.getLogger(__name__)


@shared_task(name="runs.execute", acks_late=False, ignore_result=True)
def execute(run_id: str) -> None:
    run = services.claim(run_id)
    if run is None:
        return
    try:
        execution.execute(run)
    except Exception as error:
        log.exception("run %s: the supervisor failed", run_id)
        execution.give_up(run, error)
        raise
