"""The way from a service to a worker: by task name, after the row is really there."""

from __future__ import annotations

from celery.utils.nodenames import worker_direct
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


def hand(task: str, *args: int | str, node: str) -> None:
    """Send the task to one worker, now. It has to find out by itself whether it comes too late.

    An expiry is not for that: it is a moment of the sender's wall clock, and a worker whose own is
    ahead would throw the task away without a word. OperationalError of kombu where the broker does
    not take it.
    """
    app.send_task(task, args=args, queue=worker_direct(node))


def answering(within: float) -> list[str]:
    """The names of the workers that answer within so many seconds."""
    answers = app.control.ping(timeout=within)
    return [name for answer in answers for name in answer]
