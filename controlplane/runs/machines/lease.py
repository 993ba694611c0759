"""The lead's sign of life in the broker: while it is renewed, the machines send."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from controlplane.runs.machines.wire import FIRST_LEASE_S, LEASE_S, RENEW_S, Keys

log = logging.getLogger(__name__)


def connected(url: str) -> Redis:
    """A connection that gives up after seconds, not minutes; ValueError where it is no Redis."""
    retry = Retry(ConstantBackoff(0.1), 3)
    return Redis.from_url(url, socket_timeout=3.0, socket_connect_timeout=2.0, retry=retry)


def take(client: Redis, keys: Keys) -> None:
    """Before the machines are asked: it holds until the lead's process renews it."""
    client.set(keys.lease, "1", px=int(1e3 * FIRST_LEASE_S))


@contextlib.contextmanager
def held(client: Redis, keys: Keys, size: int) -> Iterator[None]:
    """Renewed by a thread, however busy this process is; given up with all keys at the end."""
    over = threading.Event()

    def renew() -> None:
        while True:
            try:
                client.set(keys.lease, "1", px=int(1e3 * LEASE_S))
            except RedisError as error:
                log.warning("the lease was not renewed: %s", error)
            if over.wait(RENEW_S):
                return

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        with contextlib.suppress(RedisError):
            client.delete(*keys.every(size))
