"""``headway gateway``: an OpenAI-compatible proxy where a policy meets live traffic."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

NAME = "gateway"
HELP = "proxy requests to engines under the active policy; keeps serving without its control plane"

EXIT_BAD_CONFIGURATION = 20
EXIT_INFRASTRUCTURE = 30
TOKEN = "HEADWAY_GATEWAY_TOKEN"  # noqa: S105 - a variable's name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, default=None, help="instead of the configuration's; 0 takes a free one"
    )
    parser.add_argument(
        "--host",
        "--bind",
        default=None,
        help="address to listen on, instead of the configuration's",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--config", type=Path, help="a configuration file (YAML or JSON)")
    source.add_argument("--control-plane", metavar="URL", help=f"poll it; {TOKEN} holds the token")
    parser.add_argument("--name", metavar="SLUG", help="this gateway's name in the control plane")
    parser.add_argument(
        "--state-dir", type=Path, default=None, help="kept configuration and telemetry"
    )
    parser.add_argument(
        "--egress",
        choices=("open", "loopback", "public"),
        default="open",
        help="what may be called: any address, this machine and public ones, or public ones only",
    )
    parser.add_argument(
        "--drain-s", type=float, default=30.0, help="seconds that requests get at the end (30)"
    )


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError

    logging.basicConfig(level=logging.INFO, format="headway gateway: %(message)s")
    try:
        return _attached(args) if args.control_plane else _alone(args)
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway gateway: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION
    except OSError as error:
        print(f"headway gateway: {error}", file=sys.stderr)
        return EXIT_INFRASTRUCTURE


def _alone(args: argparse.Namespace) -> int:
    from documents.yaml_text import parse_yaml
    from gateway.config_reader import parse
    from gateway.server import GatewayServer, until_told

    config = parse(parse_yaml(args.config.read_text("utf-8")))

    async def serve() -> None:
        ended = await until_told()
        server = GatewayServer(config, _options(args))
        async with server:
            _ready(server)
            await ended.wait()
            await server.drain()

    _run(serve())
    return 0


def _attached(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError, Problem
    from gateway.attached import AttachedGateway, Attachment
    from gateway.clock import SteadyClock
    from gateway.server import until_told

    token = os.environ.get(TOKEN, "")
    missing = [] if token else [Problem(TOKEN, "", "must hold the gateway's token")]
    if not args.name:
        missing.append(Problem("--name", args.name, "is required with --control-plane"))
    if missing:
        raise DocumentError(missing)
    folder = args.state_dir or Path.home() / ".local/state/headway/gateway" / args.name
    attachment = Attachment(args.control_plane, args.name, token, folder)

    async def serve() -> None:
        ended = await until_told()
        gateway = AttachedGateway(attachment, _options(args), SteadyClock())
        starting = asyncio.ensure_future(gateway.start())
        waiting = asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                server = starting.result()
                _ready(server)
                await waiting
                await server.drain()
        finally:
            starting.cancel()
            waiting.cancel()
            await gateway.stop()

    _run(serve())
    return 0


def _options(args: argparse.Namespace) -> Any:
    from engines.egress import EgressRules
    from gateway.server import ServerOptions

    rules = {"open": EgressRules.open, "loopback": EgressRules.loopback, "public": EgressRules}
    return ServerOptions(
        host=args.host, port=args.port, rules=rules[args.egress](), drain_s=args.drain_s
    )


def _ready(server: Any) -> None:
    config = server.config
    host = server.options.host or config.listen.host
    print(
        f"headway gateway: http://{host}:{server.port} serves {config.gateway} "
        f"revision {config.revision} under {config.policy.name}@{config.active[:12]}",
        flush=True,
    )


def _run(main: Coroutine[Any, Any, None]) -> None:
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)
