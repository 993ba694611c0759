"""The way from a service to a worker: by task name, after the row is really there."""

from __future__ import annotations

from django.db import transaction

from controlplane.celery import app


def enqueue(task: str, *args: int | str) -> None:
    """Send the task once the transaction in hand has committed.

    The row stands by then, so a broker that is away is logged and not told as a failure of the
    write; whoever watches over the rows sends what was never taken again.
    """

    def send() -> None:
        app.send_task(task, args=args)

    transaction.on_commit(send, robust=True)
