"""The process that leads a run by several machines: ``python -m controlplane.runs.machines.lead``.

It is to its supervisor what ``loadtest.worker`` is: the same messages, files, signals and
deadlines. It sends no request and holds no key. The machines were asked before it started;
REDIS_URL says where they are met.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from controlplane.runs.machines import lease
from controlplane.runs.machines.lead_link import LeadLink
from controlplane.runs.machines.member import MachineMember
from controlplane.runs.machines.wire import Keys
from loadtest.crew import Crew, lead
from loadtest.crew_member import Heard, Member
from loadtest.schedule import Slice
from loadtest.worker import Lines, Telling, arguments, order_of, run_told, until_stopped

log = logging.getLogger(__name__)

READY_WITHIN = 20.0
"""Seconds for every machine to take its slice and compute the schedule. With the clocks it is less
than the supervisor waits for a first word."""
LEAD = 1.0
"""Seconds from the last one's being ready to the start: what the broker may take to tell it."""
AGAIN_AFTER = 0.2
"""Seconds until a broker that was away is asked again."""


def main(argv: Sequence[str] | None = None) -> int:
    """Lead the run and say how it goes."""
    parser = arguments()
    parser.add_argument("--token", required=True, help="names this attempt in the broker")
    parser.add_argument("--node", action="append", required=True, help="a worker that was asked")
    args = parser.parse_args(argv)
    lines = Lines(sys.stdout.fileno())
    return run_told(_run(args, lines), lines)


async def _run(args: argparse.Namespace, lines: Lines) -> int:
    url, keys = os.environ["REDIS_URL"], Keys(args.token)
    order, stop = order_of(args), asyncio.Event()
    with lease.held(lease.connected(url), keys, len(args.node)):
        async with listening(url, keys, args.node) as crew:

            async def status() -> str:
                return (await lead(order, crew, Telling(lines), stop)).status

            return await until_stopped(status(), stop)


@asynccontextmanager
async def listening(url: str, keys: Keys, nodes: Sequence[str]) -> AsyncIterator[Crew]:
    """A crew of these workers, whose words come in as long as this lasts."""
    client = redis_asyncio.Redis.from_url(url, socket_connect_timeout=2.0)
    link = LeadLink(client, keys, len(nodes))
    members: dict[int, MachineMember] = {}

    def make(part: Slice, heard: Heard) -> Member:
        number = part.number
        members[number] = MachineMember(
            part, nodes[number], lambda message: link.say(number, message), heard
        )
        return members[number]

    pump = asyncio.ensure_future(_hear(link, members))
    try:
        yield Crew(len(nodes), make, machines=len(nodes), ready_within=READY_WITHIN, lead=LEAD)
    finally:
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)
        for member in members.values():
            await member.said()
        await client.aclose()


async def _hear(link: LeadLink, members: dict[int, MachineMember]) -> None:
    """Hand each message to the member that it is from; a broker that is away is asked again."""
    while True:
        try:
            heard = await link.hear()
        except (RedisError, OSError) as error:
            log.warning("the machines were not heard: %s", error)
            await asyncio.sleep(AGAIN_AFTER)
            continue
        at = time.monotonic()
        for number, raw in heard:
            if number in members:
                members[number].hear(raw, at)


if __name__ == "__main__":
    sys.exit(main())
