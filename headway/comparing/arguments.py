"""Words of the command line become a draft; its parser then checks all of it."""

from __future__ import annotations

import argparse
from typing import Any

from documents.problem import DocumentError, Problem
from headway.running.arguments import (
    arrivals_document,
    named_document,
    policy_document,
    with_changes,
    workload_document,
)
from loadtest import builtin

RATE = 8.0
_AS_GIVEN = ("profile", "blocks", "block_s", "washout_s", "seed", "stages")


def share(text: str) -> tuple[str, float]:
    """``attainment=0.01``, or ``attainment=1%``."""
    name, _, value = text.partition("=")
    try:
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        message = f"{text!r} is no CRITERION=SHARE; write attainment=0.01 or attainment=1%"
        raise argparse.ArgumentTypeError(message) from None
    return name.strip(), number


def document(args: argparse.Namespace) -> dict[str, Any]:
    """The draft that the arguments ask for; endpoints' models may still be open."""
    missing = [
        Problem(name, None, f"is required; give --{side} NAME or FILE")
        for side, name in (("a", "baseline"), ("b", "candidate"))
        if not getattr(args, side)
    ]
    if missing:
        raise DocumentError(missing)
    given = {name: getattr(args, name) for name in _AS_GIVEN if getattr(args, name) is not None}
    args.concurrency = args.think = None  # an open loop has neither
    rate = {"process": "poisson", "rate": RATE} if args.arrivals is None else None
    return {
        **given,
        "baseline": with_changes(policy_document(args.a), args.a_set),
        "candidate": with_changes(policy_document(args.b), args.b_set),
        "where": args.where or _where(args.endpoint),
        "endpoints": [_endpoint(args, url) for url in args.endpoint],
        "workload": workload_document(args, None),
        "arrivals": arrivals_document(args, rate),
        "slo": dict(named_document(args.slo or "chat-interactive", builtin.SLOS, "slo")),
        "margins": dict(args.margin),
        "bases": dict(args.base),
    }


def _where(endpoints: list[str]) -> str:
    """As many endpoints as are named say it."""
    return {0: "model", 1: "switchback"}.get(len(endpoints), "endpoints")


def _endpoint(args: argparse.Namespace, url: str) -> dict[str, Any]:
    endpoint = {"base_url": url, "model": args.model or "", "kind": args.kind or ""}
    return {name: value for name, value in endpoint.items() if value}
