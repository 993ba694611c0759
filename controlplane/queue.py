"""The way from a service to a worker: by task name, after the row is really there."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from controlplane.celery import app


def enqueue(task: str, *args: int | str) -> None:
    """Send the task once the transaction in hand has committed."""
    transaction.on_commit(partial(app.send_task, task, args=args))
