"""Celery's door: take the comparison and see it to its end. None is ever taken twice."""

from __future__ import annotations

import logging

from celery import shared_task

from controlplane.comparisons import execution, services

log = logging.getLogger(__name__)


@shared_task(name=services.TASK, acks_late=False, ignore_result=True)
def execute(pk: str) -> None:
    comparison = services.claim(pk)
    if comparison is None:
        return
    try:
        execution.execute(comparison)
    except Exception as error:
        log.exception("comparison %s: the supervisor failed", pk)
        execution.give_up(comparison, error)
        raise
