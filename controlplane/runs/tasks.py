"""Celery's door: take the run and see it to its end. A run is never taken twice."""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task

from controlplane.runs import execution, services, slices

log = logging.getLogger(__name__)


@shared_task(name="runs.execute", bind=True, acks_late=False, ignore_result=True)
def execute(self: Any, run_id: str) -> None:
    run = services.claim(run_id)
    if run is None:
        return
    try:
        execution.execute(run, node=self.request.hostname or "")
    except Exception as error:
        log.exception("run %s: the supervisor failed", run_id)
        execution.give_up(run, error)
        raise


@shared_task(name="runs.carry_slice", bind=True, acks_late=False, ignore_result=True)
def carry_slice(self: Any, run_id: str, token: str, number: int, of: int) -> None:
    """One slice of a run by several machines. Delivered twice, it is carried once."""
    try:
        slices.carry(run_id, token, number, of, node=self.request.hostname or "")
    except Exception:
        log.exception("run %s: slice %s/%s was not carried", run_id, number, of)
        raise
