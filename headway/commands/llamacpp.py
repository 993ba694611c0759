"""`headway llamacpp`: serve a small real model on CPU with llama.cpp."""

from __future__ import annotations

import argparse
import sys

NAME = "llamacpp"
HELP = "serve a small real model on CPU with llama.cpp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The port; the model and its settings are fixed, so that results compare."""
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from headway.embedded import llamacpp, ports

    if not ports.is_free("127.0.0.1", args.port):
        print(f"headway llamacpp: port {args.port} is taken; give another", file=sys.stderr)
        return 30
    try:
        llamacpp.serve(port=args.port, folder=llamacpp.model_folder())
    except llamacpp.NotInstalled as error:
        print(f"headway llamacpp: {error}", file=sys.stderr)
        return 30
    return 0
