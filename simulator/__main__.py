"""``python -m simulator``: one engine on a free port of loopback, for whoever starts it.

It says its port as one line of JSON, and ends with SIGTERM, with SIGINT or with its stdin, which
whoever started it holds: an engine never outlives the load test that it was started for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys

from simulator import profile as profiles
from simulator.server import EngineServer, ServerOptions


async def _serve(options: ServerOptions) -> None:
    async with EngineServer(options) as server:
        print(json.dumps({"port": server.port}), flush=True)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), _read, ended)
        await ended.wait()
        loop.remove_reader(sys.stdin.fileno())


def _read(ended: asyncio.Event) -> None:
    """What is written to us means nothing; the end of it means the end."""
    data = b""
    with contextlib.suppress(OSError):
        data = os.read(sys.stdin.fileno(), 4096)
    if not data:
        ended.set()


def main() -> None:
    """Serve until the end of stdin."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--profile", default=profiles.DEFAULT)
    parser.add_argument("--model", default="simulated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    limits = ("max_seqs", "max_queued_requests", "blocks", "max_model_len")
    for limit in limits:
        parser.add_argument(f"--{limit.replace('_', '-')}", type=int)
    args = parser.parse_args()
    given = {name: value for name in limits if (value := getattr(args, name)) is not None}
    config = profiles.load(args.profile).config(**given)
    options = ServerOptions(config, port=args.port, model=args.model, seed=args.seed)
    import uvloop  # noqa: PLC0415 - not to be had everywhere

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
