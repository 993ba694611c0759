"""``headway engine``: the engine model as an OpenAI-compatible server, without a GPU."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import Any

NAME = "engine"
HELP = "serve the simulated engine: OpenAI-compatible, vLLM's metrics, no GPU"

EXIT_BAD_CONFIGURATION = 20
EXIT_INFRASTRUCTURE = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default 8000)")
    parser.add_argument(
        "--host", "--bind", default="127.0.0.1", help="address to listen on (default 127.0.0.1)"
    )
    parser.add_argument("--profile", default=None, help="a shipped profile, or a YAML file")
    parser.add_argument("--list-profiles", action="store_true", help="print the profiles and end")
    parser.add_argument("--model", default="simulated", help="model name that it answers to")
    parser.add_argument("--seed", type=int, default=0, help="of texts, lengths and ingest delays")
    parser.add_argument(
        "--blocks", type=int, default=None, help="KV blocks, instead of the profile's"
    )
    parser.add_argument("--max-seqs", type=int, default=None, help="sequences in one batch")
    parser.add_argument("--token-budget", type=int, default=None, help="tokens in one step")
    parser.add_argument(
        "--max-model-len", type=int, default=None, help="longest prompt plus answer"
    )
    parser.add_argument(
        "--max-queued-requests", type=int, default=None, help="in the engine; more get 503"
    )
    parser.add_argument(
        "--max-queued-tokens", type=int, default=None, help="prompt tokens in prefill; then 503"
    )
    parser.add_argument(
        "--style",
        choices=("continuous", "prefill_first", "reserve_max", "slots"),
        default=None,
        help="whose loop: vLLM's (default), SGLang's, TensorRT-LLM's or llama.cpp's",
    )
    parser.add_argument(
        "--no-prefix-cache",
        dest="prefix_cache",
        action="store_const",
        const=False,
        default=None,
        help="compute every prompt whole",
    )
    parser.add_argument(
        "--long-prefill-threshold",
        type=int,
        default=None,
        help="most prompt tokens of one request in one step beside others",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="rate_limit=0.1, stall=0.05, stall_s=3, metrics=frozen …; also POST /faults",
    )


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError
    from simulator import profile as profiles

    if args.list_profiles:
        for name in profiles.names():
            listed = profiles.load(name)
            print(f"{name:32} {listed.model} on {listed.gpu} ×{listed.tensor_parallel}")
        return 0
    try:
        return _serve(args)
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway engine: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION
    except OSError as error:
        print(f"headway engine: {error}", file=sys.stderr)
        return EXIT_INFRASTRUCTURE


def _serve(args: argparse.Namespace) -> int:
    from simulator import profile as profiles
    from simulator.server import ServerOptions, serve

    logging.basicConfig(level=logging.WARNING, format="headway engine: %(message)s")
    name = args.profile or profiles.DEFAULT
    overrides = ("blocks", "max_seqs", "token_budget", "max_model_len")
    limits = ("max_queued_requests", "max_queued_tokens")
    options = ("style", "prefix_cache", "long_prefill_threshold")
    given = {key: getattr(args, key) for key in (*overrides, *limits, *options)}
    config = profiles.load(name).config(
        **{key: value for key, value in given.items() if value is not None}
    )
    server = ServerOptions(
        config=config,
        host=args.host,
        port=args.port,
        model=args.model,
        seed=args.seed,
        faults=_faults(args.fault),
    )

    def ready(port: int) -> None:
        print(f"headway engine: http://{args.host}:{port} serves {args.model} ({name})", flush=True)

    _run(serve(server, ready=ready))
    return 0


def _faults(given: list[str]) -> Any:
    import yaml

    from documents.parse import build
    from documents.problem import DocumentError, Problem
    from simulator.faults import Faults

    document = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals:
            raise DocumentError([Problem("fault", item, "must be NAME=VALUE")])
        document[name] = yaml.safe_load(value)
    return build(Faults, document, path="fault")


def _run(main: Coroutine[Any, Any, None]) -> None:
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)
