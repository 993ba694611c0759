"""One engine behind the gateway: its connections, its key, whether it can be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np

from engines.egress import EgressRules
from engines.target import Target
from gateway.config_parts import EndpointConfig
from gateway.http.message import RawHeaders, Request, end_to_end, written
from gateway.upstream.pool import Pool

FIRST_REST = 0.5
LONGEST_REST = 8.0

_OURS = frozenset((b"host", b"authorization", b"content-length", b"accept-encoding", b"expect"))
"""Request headers that are never passed on: they are the gateway's to say."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every lane and engine works with, all handed in."""

    clock: Callable[[], float]
    rules: EgressRules
    rng: np.random.Generator
    environment: Mapping[str, str]


class Engine:
    """An endpoint at work. After a failed connect it rests, each time twice as long."""

    def __init__(self, config: EndpointConfig, means: Means) -> None:
        key = means.environment.get(config.api_key_env, "") if config.api_key_env else ""
        self.config = config
        self.target = Target(config.base_url, config.model, config.kind, key)
        self._clock = means.clock
        self.pool = Pool(self.target.root, means.rules, means.clock)
        parts = urlsplit(self.target.root)
        self._prefix = parts.path.rstrip("/").encode()
        host: RawHeaders = [(b"host", parts.netloc.encode())]
        host += [(n.lower().encode(), v.encode()) for n, v in self.target.headers()]
        self._head = written([*host, (b"accept-encoding", b"identity")])
        self.in_flight = 0
        self.failures = 0
        self._down_until = 0.0

    @property
    def up(self) -> bool:
        """Whether it may be tried."""
        return self._down_until <= self._clock()

    def reached(self) -> None:
        """It answered."""
        self.failures = 0

    def unreachable(self) -> None:
        """It could not be connected to."""
        rest = min(LONGEST_REST, FIRST_REST * 2**self.failures)
        self.failures = min(self.failures + 1, 16)
        self._down_until = self._clock() + rest

    def request(self, asked: Request) -> bytes:
        """The bytes to send: what the client asked, less what is between it and us."""
        headers = written(end_to_end(asked.headers, but=_OURS))
        line = b"%b %b%b HTTP/1.1\r\n" % (asked.method, self._prefix, asked.target)
        length = b"content-length: %d\r\n\r\n" % len(asked.body)
        return b"".join((line, self._head, headers, length, asked.body))
