"""A trickle of chat through the demo gateway, so that its page has something to show.

``python -m headway.embedded.trickle --url URL --key-file FILE``. Requests come as a Poisson process
of four a second, lengths and gaps from a seed: the same ones at each start. What fails is passed
over; the gateway counts it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from engines.egress import EgressDenied, EgressRules
from engines.http_get import GetFailed, fetch
from engines.transport.base import HttpRequest
from engines.transport.httptools_stream import HttptoolsTransport

RATE = 4.0
SEED = 20417
WITHIN = 60.0
AT_ONCE = 64
"""Requests that may be out; more are not sent, so that a gateway that hangs costs no memory."""
WORDS = ("request", "latency", "queue", "token", "batch", "policy", "answer", "engine")

Send = Callable[[dict[str, Any]], Awaitable[None]]


def body(rng: np.random.Generator) -> dict[str, Any]:
    """A short chat: 20 to 400 words asked, 8 to 96 tokens wanted."""
    words = rng.choice(WORDS, size=int(rng.integers(20, 400)))
    return {
        "model": "simulated",
        "stream": True,
        "max_tokens": int(rng.integers(8, 96)),
        "messages": [{"role": "user", "content": " ".join(words)}],
    }


async def trickle(
    send: Send,
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Send for ever, each request in a task of its own; the gaps are exponential."""
    out: set[asyncio.Task[None]] = set()
    while True:
        await sleep(float(rng.exponential(1.0 / rate)))
        asked = body(rng)
        if len(out) >= AT_ONCE:
            continue
        task = asyncio.ensure_future(send(asked))
        out.add(task)
        task.add_done_callback(out.discard)


async def main(url: str, key: str) -> None:
    """Until a signal."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    transport = HttptoolsTransport(EgressRules.loopback())
    headers = (("Authorization", f"Bearer {key}"), ("Content-Type", "application/json"))

    async def send(asked: dict[str, Any]) -> None:
        content = json.dumps(asked).encode()
        request = HttpRequest("POST", f"{url}/v1/chat/completions", headers, content)
        try:
            await fetch(request, transport, within=WITHIN)
        except (GetFailed, EgressDenied):
            return

    sending = asyncio.ensure_future(trickle(send, np.random.default_rng(SEED)))
    await ended.wait()
    sending.cancel()
    await transport.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key-file", type=Path, required=True)
    args = parser.parse_args()
    asyncio.run(main(args.url.rstrip("/"), args.key_file.read_text().strip()))
