"""Celery's door: take the experiment and see it to its end. None is ever taken twice."""

from __future__ import annotations

import logging

from celery import shared_task

from controlplane.experiments import execution, services

log = logging.getLogger(__name__)


@shared_task(name=services.TASK, acks_late=False, ignore_result=True)
def execute(pk: str) -> None:
    experiment = services.claim(pk)
    if experiment is None:
        return
    try:
        execution.execute(experiment)
    except Exception as error:
        log.exception("experiment %s: the supervisor failed", pk)
        execution.give_up(experiment, error)
        raise
