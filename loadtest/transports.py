"""Which transport carries a run: asked for by name, or the one that measures best here."""

from __future__ import annotations

from urllib.parse import urlsplit

from documents.problem import Problem
from engines.egress import EgressRules
from engines.transport import kernel_clock
from engines.transport.base import MeasuringTransport
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import KernelClock

AUTO, KERNEL, PROTOCOL, AIOHTTP = "auto", "kernel", "protocol", "aiohttp"
CHOICES = (AUTO, KERNEL, PROTOCOL, AIOHTTP)


def problems(asked: str, base_url: str) -> list[Problem]:
    """Why this transport can't carry a run to that address; none where it can."""
    if asked != KERNEL:
        return []
    if not kernel_clock.available():
        message = "needs the receive stamps of 64-bit Linux; use auto or protocol"
        return [Problem("transport", asked, message)]
    if urlsplit(base_url).scheme != "http":
        message = "needs an http address: the kernel sees TLS records and not events; use auto"
        return [Problem("transport", asked, message)]
    return []


def chosen(asked: str, base_url: str) -> str:
    """The transport that carries the run, by name."""
    if asked != AUTO:
        return asked
    return PROTOCOL if problems(KERNEL, base_url) else KERNEL


def make(name: str, rules: EgressRules) -> MeasuringTransport:
    """A chosen transport."""
    if name == AIOHTTP:
        # aiohttp takes a quarter of a second to import: only who asks for it waits for it.
        from engines.transport.aiohttp_stream import AiohttpTransport  # noqa: PLC0415

        return AiohttpTransport(rules)
    return HttptoolsTransport(rules, kernel_clock=KernelClock() if name == KERNEL else None)
